//! Questions about the past: answered from the context, by expanding a log, or by searching.

use neap_core::text::phrases::normalize;
use serde_json::{Value, json};

use super::answer;
use super::decide::{NextStep, call, call_with_id, stay_in_effort};
use super::intent::{Intent, parse_intent};
use super::name::{is_mentioned, match_effort, salient_words};
use super::phrases::DETAIL;
use super::prompt_view::{CallResult, LogView, PromptView};
use super::quote::{coverage, log_coverage, topic_terms};
use crate::summarize::term_set;

/// Least topic coverage of a text that answers a question.
const ANSWER_COVERAGE_MIN: f64 = 0.6;
/// Least topic coverage of a text that is about it.
const TOPIC_COVERAGE_MIN: f64 = 0.5;

/// Answers a question about something in the context; others are only acknowledged.
pub(super) fn answer_question(situation: &PromptView, message: &str) -> NextStep {
    let topic = topic_terms(message);
    let log = situation.active_log().map_or(0.0, |log| log_coverage(&topic, log));
    let shared = |id: &str, text: &str| (coverage(&topic, &format!("{id} {text}")) * topic.len() as f64).round();
    let close = situation.summaries.iter().any(|(id, text)| {
        let shared = shared(id, text);
        (shared >= 2.0 && shared > log * topic.len() as f64) || (shared >= 1.0 && is_mentioned(id, message))
    });
    if !close {
        return stay_in_effort(situation);
    }
    let detail = DETAIL.is_in(&normalize(message));
    answer_recall(situation, message, detail, false)
}

pub(super) fn answer_recall(situation: &PromptView, message: &str, detail: bool, explicit: bool) -> NextStep {
    let topic = topic_terms(message);
    if topic.is_empty() {
        return match &situation.active {
            Some(id) if situation.active_log().is_some() => NextStep::Say(answer::from_log(situation, id)),
            Some(_) | None => call("effort_status", json!({})),
        };
    }
    let in_log = |part: &&LogView| part.id.is_some() && log_coverage(&topic, part) >= ANSWER_COVERAGE_MIN;
    let best_log = situation
        .logs
        .iter()
        .filter(in_log)
        .max_by(|a, b| log_coverage(&topic, a).total_cmp(&log_coverage(&topic, b)));
    let summary_coverage = |(id, text): &(String, String)| coverage(&topic, &format!("{id} {text}"));
    let mut best: Option<(f64, &str)> = None;
    for summary in &situation.summaries {
        let share = summary_coverage(summary);
        if share >= TOPIC_COVERAGE_MIN && best.is_none_or(|(before, _)| share >= before) {
            best = Some((share, &summary.0));
        }
    }
    let by_log = best_log.map_or(0.0, |part| log_coverage(&topic, part));
    match (best, best_log.and_then(|part| part.id.as_deref())) {
        (Some((share, id)), _) if share > by_log || situation.log(id).is_some() => {
            if situation.log(id).is_some() {
                NextStep::Say(answer::from_log(situation, id))
            } else if detail || share < ANSWER_COVERAGE_MIN {
                call_with_id("expand_effort", id)
            } else {
                NextStep::Say(answer::from_summary(situation, id))
            }
        }
        (_, Some(id)) => NextStep::Say(answer::from_log(situation, id)),
        (_, None) => match answer::from_memory(situation).or_else(|| answer::from_chat(situation)) {
            Some(text) => NextStep::Say(text),
            None if explicit => search_call(message, false),
            None => stay_in_effort(situation),
        },
    }
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
    match parse_intent(&situation.user_message) {
        Intent::GoTo { target, .. } if match_effort(&target, std::iter::once(id)).is_some() => {
            return call_with_id(if concluded { "reopen_effort" } else { "switch_effort" }, id);
        }
        Intent::GoTo { .. } => return NextStep::Say(answer::from_result(best, false)),
        Intent::Expand { target } if concluded && match_effort(&target, std::iter::once(id)).is_some() => {
            return call_with_id("expand_effort", id);
        }
        Intent::Status
        | Intent::Recall { .. }
        | Intent::Close(_)
        | Intent::Expand { .. }
        | Intent::Collapse { .. }
        | Intent::Begin(_)
        | Intent::Courtesy
        | Intent::Ask
        | Intent::Tell => {}
    }
    let topic = topic_terms(&situation.user_message);
    let share = coverage(&topic, &format!("{id} {summary} {}", text("quote").unwrap_or_default()));
    let detail = DETAIL.is_in(&normalize(&situation.user_message));
    let answered = coverage(&topic, &format!("{id} {summary}")) >= ANSWER_COVERAGE_MIN && !detail;
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
