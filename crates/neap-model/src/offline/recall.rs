//! Questions about the past: answered from what is here, by bringing a log back, or by searching.

use serde_json::{Value, json};

use super::answer;
use super::decide::{Next, call, stay, with_id};
use super::intent::{Intent, intent};
use super::name::{is_mentioned, named, salient};
use super::phrases::{DETAIL, any, plain};
use super::quote::{coverage, log_coverage, topic};
use super::read::{LogPart, Round, Situation};
use crate::summarize::term_set;

/// A summary that has this share of what is asked answers it.
const ANSWERS: f64 = 0.6;
/// What has this share is about it.
const ABOUT: f64 = 0.5;

/// A question: about something shown, or for nobody here to answer.
pub(super) fn ask(situation: &Situation, said: &str) -> Next {
    let topic = topic(said);
    let log = situation.active_log().map_or(0.0, |log| log_coverage(&topic, log));
    let shared = |id: &str, text: &str| (coverage(&topic, &format!("{id} {text}")) * topic.len() as f64).round();
    let close = situation.summaries.iter().any(|(id, text)| {
        let shared = shared(id, text);
        (shared >= 2.0 && shared > log * topic.len() as f64) || (shared >= 1.0 && is_mentioned(id, said))
    });
    if !close {
        return stay(situation);
    }
    let detail = any(&plain(said), DETAIL);
    recall(situation, said, detail, false)
}

/// A question about the past: from what is here, by bringing a log back, or by searching.
pub(super) fn recall(situation: &Situation, said: &str, detail: bool, explicit: bool) -> Next {
    let topic = topic(said);
    if topic.is_empty() {
        return match &situation.active {
            Some(id) if situation.active_log().is_some() => Next::Say(answer::from_log(situation, id)),
            Some(_) | None => call("effort_status", json!({})),
        };
    }
    let in_log = |part: &&LogPart| part.id.is_some() && log_coverage(&topic, part) >= ANSWERS;
    let best_log = situation
        .logs
        .iter()
        .filter(in_log)
        .max_by(|a, b| log_coverage(&topic, a).total_cmp(&log_coverage(&topic, b)));
    let summed = |(id, text): &(String, String)| coverage(&topic, &format!("{id} {text}"));
    let mut best: Option<(f64, &str)> = None;
    for summary in &situation.summaries {
        let share = summed(summary);
        if share >= ABOUT && best.is_none_or(|(before, _)| share >= before) {
            best = Some((share, &summary.0));
        }
    }
    let by_log = best_log.map_or(0.0, |part| log_coverage(&topic, part));
    match (best, best_log.and_then(|part| part.id.as_deref())) {
        (Some((share, id)), _) if share > by_log || situation.log(id).is_some() => {
            if situation.log(id).is_some() {
                Next::Say(answer::from_log(situation, id))
            } else if detail || share < ANSWERS {
                with_id("expand_effort", id)
            } else {
                Next::Say(answer::from_summary(situation, id))
            }
        }
        (_, Some(id)) => Next::Say(answer::from_log(situation, id)),
        (_, None) => match answer::from_memory(situation).or_else(|| answer::from_chat(situation)) {
            Some(text) => Next::Say(text),
            None if explicit => search(said, false),
            None => stay(situation),
        },
    }
}

pub(super) fn search(said: &str, logs: bool) -> Next {
    let topic = topic(said);
    // As the words were said, so that a reader of the record sees what was looked for.
    let plain = plain(said);
    let words: Vec<String> =
        salient(&plain).into_iter().filter(|word| term_set(word).iter().any(|t| topic.contains(t))).collect();
    let query = if words.is_empty() { plain } else { words.join(" ") };
    let arguments = if logs { json!({"query": query, "logs": true}) } else { json!({"query": query}) };
    call("search_efforts", arguments)
}

/// The best match: gone on with, expanded, or quoted as it is.
pub(super) fn found(situation: &Situation, round: &Round) -> Next {
    let results = round.result.get("results").and_then(Value::as_array);
    let Some(best) = results.and_then(|all| best_result(situation, all)) else {
        let searched_logs = round.arguments.get("logs").and_then(Value::as_bool) == Some(true);
        let again = !searched_logs && situation.rounds.len() < super::CALLS_MAX;
        return if again { search(&situation.said, true) } else { Next::Say(answer::nothing()) };
    };
    let text = |key: &str| best.get(key).and_then(Value::as_str);
    let (id, summary) = (text("id").unwrap_or_default(), text("summary").unwrap_or_default());
    let concluded = text("status") == Some("concluded");
    match intent(&situation.said) {
        Intent::GoTo { target, .. } if named(&target, std::iter::once(id)).is_some() => {
            return with_id(if concluded { "reopen_effort" } else { "switch_effort" }, id);
        }
        Intent::GoTo { .. } => return Next::Say(answer::from_result(best, false)),
        Intent::Expand { target } if concluded && named(&target, std::iter::once(id)).is_some() => {
            return with_id("expand_effort", id);
        }
        Intent::Status
        | Intent::Recall { .. }
        | Intent::Close { .. }
        | Intent::Expand { .. }
        | Intent::Collapse { .. }
        | Intent::Begin(_)
        | Intent::Pause
        | Intent::Courtesy
        | Intent::Ask
        | Intent::Tell => {}
    }
    let topic = topic(&situation.said);
    let share = coverage(&topic, &format!("{id} {summary} {}", text("quote").unwrap_or_default()));
    let detail = any(&plain(&situation.said), DETAIL);
    let answered = coverage(&topic, &format!("{id} {summary}")) >= ANSWERS && !detail;
    if share >= ABOUT && concluded && !answered && situation.rounds.len() < super::CALLS_MAX {
        return with_id("expand_effort", id);
    }
    Next::Say(answer::from_result(best, share >= ABOUT))
}

/// The result with most of what is asked; the search's own order decides between equals.
fn best_result<'a>(situation: &Situation, results: &'a [Value]) -> Option<&'a Value> {
    let topic = topic(&situation.said);
    let share = |result: &Value| {
        let text = |key: &str| result.get(key).and_then(Value::as_str).unwrap_or_default();
        coverage(&topic, &format!("{} {} {}", text("id"), text("summary"), text("quote")))
    };
    let mut best: Option<(f64, &Value)> = None;
    for result in results {
        // Questions, this very one among them, come back from chat; they answer nothing.
        let quote = result.get("quote").and_then(Value::as_str).unwrap_or_default();
        if result.get("id").is_none() && (quote.ends_with('?') || quote.ends_with(situation.said.trim())) {
            continue;
        }
        let share = share(result);
        if best.is_none_or(|(before, _)| share > before) {
            best = Some((share, result));
        }
    }
    best.map(|(_, result)| result)
}
