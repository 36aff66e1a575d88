//! Questions about the past: answered from the context, by expanding a log, or by searching.

use std::collections::BTreeSet;

use neap_core::text::opening::salient_words;
use neap_core::text::phrases::normalize;
use serde_json::{Value, json};

use super::answer;
use super::decide::{NextStep, call, call_with_id, stay_in_effort};
use super::intent::{Intent, parse_intent};
use super::name::{is_mentioned, match_effort};
use super::phrases::{DETAIL, SAID};
use super::prompt_view::{CallResult, PromptView};
use super::quote::{coverage, fixes_in, log_coverage, topic_terms};
use crate::summarize::term_set;

/// Least topic coverage of a text that answers a question.
const ANSWER_COVERAGE_MIN: f64 = 0.6;
/// Least topic coverage of a text that is about it.
pub(super) const TOPIC_COVERAGE_MIN: f64 = 0.5;

/// Answers a question about something in the context; others are only acknowledged.
pub(super) fn answer_question(situation: &PromptView) -> NextStep {
    let message = &situation.user_message;
    let topic = topic_terms(message);
    let log = situation.active_log().map_or(0.0, |log| log_coverage(&topic, log));
    let shared = |id: &str, text: &str| (coverage(&topic, &format!("{id} {text}")) * topic.len() as f64).round();
    let close = situation.summaries.iter().any(|(id, text)| {
        let shared = shared(id, text);
        (shared >= 2.0 && shared > log * topic.len() as f64) || (shared >= 1.0 && is_mentioned(id, message))
    });
    if close { answer_recall(situation, false) } else { stay_in_effort(situation) }
}

/// `explicit` if the user asks about the past in so many words: then it is worth a search.
pub(super) fn answer_recall(situation: &PromptView, explicit: bool) -> NextStep {
    let topic = topic_terms(&situation.user_message);
    if topic.is_empty() && SAID.occurs_in(&normalize(&situation.user_message)) {
        return NextStep::Say(answer::said_before(situation));
    }
    if topic.is_empty() {
        return match &situation.active {
            Some(id) if situation.active_log().is_some() => NextStep::Say(answer::from_log(situation, id)),
            Some(_) | None => call("effort_status", json!({})),
        };
    }
    let best_log = best_log(situation, &topic, ANSWER_COVERAGE_MIN);
    let by_log = best_log.map_or(0.0, |(share, _)| share);
    match (best_summary(situation, &topic), best_log) {
        (Some((share, id)), _) if share > by_log || situation.log(id).is_some() => {
            if situation.log(id).is_some() {
                NextStep::Say(answer::from_log(situation, id))
            } else if asks_for_detail(situation)
                || asks_for_missing_fix(situation, id)
                || share < ANSWER_COVERAGE_MIN
            {
                call_with_id("expand_effort", id)
            } else {
                NextStep::Say(answer::from_summary(situation, id))
            }
        }
        (_, Some((_, id))) => NextStep::Say(answer::from_log(situation, id)),
        (_, None) => match answer::from_memory(situation).or_else(|| answer::from_chat(situation)) {
            Some(text) => NextStep::Say(text),
            None if explicit => search_call(&situation.user_message, false),
            None => stay_in_effort(situation),
        },
    }
}

/// Whether a summary does not say how the work was solved, and that is asked for.
fn asks_for_missing_fix(situation: &PromptView, id: &str) -> bool {
    answer::asks_for_fix(situation) && situation.summary(id).is_none_or(|text| fixes_in(text).is_empty())
}

fn asks_for_detail(situation: &PromptView) -> bool {
    DETAIL.occurs_in(&normalize(&situation.user_message))
}

/// The effort whose log covers the topic best, if well enough; of several, the last.
pub(super) fn best_log<'a>(
    situation: &'a PromptView,
    topic: &BTreeSet<String>,
    least: f64,
) -> Option<(f64, &'a str)> {
    let logs = situation.logs.iter().filter_map(|log| Some((log_coverage(topic, log), log.id.as_deref()?)));
    best(logs, least)
}

/// The same for summaries.
pub(super) fn best_summary<'a>(situation: &'a PromptView, topic: &BTreeSet<String>) -> Option<(f64, &'a str)> {
    let summaries = situation.summaries.iter();
    let covered = summaries.map(|(id, text)| (coverage(topic, &format!("{id} {text}")), id.as_str()));
    best(covered, TOPIC_COVERAGE_MIN)
}

fn best<'a>(covered: impl Iterator<Item = (f64, &'a str)>, least: f64) -> Option<(f64, &'a str)> {
    covered.filter(|(share, _)| *share >= least).max_by(|a, b| a.0.total_cmp(&b.0))
}

pub(super) fn search_call(message: &str, logs: bool) -> NextStep {
    let topic = topic_terms(message);
    // The user's own words, so that a reader of the log sees what was searched.
    let plain = normalize(message);
    let words: Vec<String> = salient_words(&plain)
        .into_iter()
        .filter(|word| term_set(word).iter().any(|t| topic.contains(t)))
        .collect();
    let query = if words.is_empty() { plain } else { words.join(" ") };
    let arguments = if logs { json!({"query": query, "logs": true}) } else { json!({"query": query}) };
    call("search_efforts", arguments)
}

/// Acts on the best result: switches to it, expands it, or quotes it.
pub(super) fn use_search_result(situation: &PromptView, round: &CallResult) -> NextStep {
    let results = round.result.get("results").and_then(Value::as_array);
    let Some(best) = results.and_then(|all| best_result(situation, all)) else {
        let searched_logs = round.arguments.get("logs").and_then(Value::as_bool) == Some(true);
        let again = !searched_logs && situation.calls.len() < super::CALLS_MAX;
        return if again {
            search_call(&situation.user_message, true)
        } else {
            NextStep::Say(answer::nothing_found())
        };
    };
    let text = |key: &str| best.get(key).and_then(Value::as_str);
    let (id, summary) = (text("id").unwrap_or_default(), text("summary").unwrap_or_default());
    let concluded = text("status") == Some("concluded");
    let is_named = |target: &str| match_effort(target, std::iter::once(id)).is_some();
    let intent = parse_intent(&situation.user_message);
    if let Intent::GoTo { target, .. } = &intent {
        return if is_named(target) {
            call_with_id(if concluded { "reopen_effort" } else { "switch_effort" }, id)
        } else {
            NextStep::Say(answer::from_result(best, false))
        };
    }
    if let Intent::Expand { target } = &intent
        && concluded
        && is_named(target)
    {
        return call_with_id("expand_effort", id);
    }
    let topic = topic_terms(&situation.user_message);
    let share = coverage(&topic, &format!("{id} {summary} {}", text("quote").unwrap_or_default()));
    let is_summary_enough = coverage(&topic, &format!("{id} {summary}")) >= ANSWER_COVERAGE_MIN;
    let answered = is_summary_enough && !asks_for_detail(situation);
    if share >= TOPIC_COVERAGE_MIN && concluded && !answered && situation.calls.len() < super::CALLS_MAX {
        return call_with_id("expand_effort", id);
    }
    NextStep::Say(answer::from_result(best, share >= TOPIC_COVERAGE_MIN))
}

/// The result with the highest coverage; the search's order breaks ties.
fn best_result<'a>(situation: &PromptView, results: &'a [Value]) -> Option<&'a Value> {
    let topic = topic_terms(&situation.user_message);
    let share = |result: &Value| {
        let text = |key: &str| result.get(key).and_then(Value::as_str).unwrap_or_default();
        coverage(&topic, &format!("{} {} {}", text("id"), text("summary"), text("quote")))
    };
    let mut best: Option<(f64, &Value)> = None;
    for result in results {
        // Search also finds questions in the chat, this one included; they answer nothing.
        let quote = result.get("quote").and_then(Value::as_str).unwrap_or_default();
        if result.get("id").is_none() && (quote.ends_with('?') || quote.ends_with(situation.user_message.trim())) {
            continue;
        }
        let share = share(result);
        if best.is_none_or(|(before, _)| share > before) {
            best = Some((share, result));
        }
    }
    best.map(|(_, result)| result)
}
