//! Replies: about the model's own actions, or quoted. No fact is stated in other words.

use neap_core::text::phrases::{Phrases, normalize};
use serde_json::Value;

use super::intent::{Intent, is_question, parse_intent};
use super::past_questions::{TOPIC_COVERAGE_MIN, best_log, best_summary};
use super::phrases::FIX;
use super::prompt_view::{LogView, PromptView};
use super::quote;

/// Added to the first reply of a conversation.
const INTRODUCTION: &str =
    "This is the built-in offline model: it keeps, finds and quotes what was said, and does not reason.";
const CANNOT_ANSWER: &str =
    "The built-in offline model cannot answer that; it only keeps, finds and quotes what was said.";

fn with_introduction(situation: &PromptView, text: &str) -> String {
    if situation.is_first_turn { format!("{text} {INTRODUCTION}") } else { text.to_owned() }
}

fn quote_lines(lines: &[String]) -> String {
    lines.iter().map(|line| format!("\n> {line}")).collect()
}

pub(super) fn effort_entered(situation: &PromptView, verb: &str, id: &str) -> String {
    with_introduction(situation, &format!("{verb} {id}."))
}

/// Answers thanks and greetings in kind; an assent is acknowledged like any message.
pub(super) fn courtesy(situation: &PromptView) -> String {
    let text = normalize(&situation.user_message);
    let reply = if Phrases("thanks|thank you|thank|thx|ty|cheers").occurs_in(&text) {
        "You are welcome."
    } else if Phrases("bye|goodbye|see you|good night").occurs_in(&text) {
        "Goodbye; everything is stored."
    } else if Phrases("hi|hello|hey|good morning|good afternoon|good evening").occurs_in(&text) {
        "Hello."
    } else if situation.active.is_some() {
        return acknowledge(situation);
    } else {
        "Noted."
    };
    with_introduction(situation, reply)
}

/// What the person said last, for a question that names nothing.
pub(super) fn said_before(situation: &PromptView) -> String {
    let lines = quote::latest_said(&situation.logs);
    if lines.is_empty() { "Nothing so far.".to_owned() } else { format!("You said:{}", quote_lines(&lines)) }
}

pub(super) fn acknowledge(situation: &PromptView) -> String {
    let asks = is_question(&normalize(&situation.user_message));
    let Some(id) = &situation.active else { return outside_efforts(situation, asks) };
    let mut out = with_introduction(situation, &format!("Noted under {id}."));
    if asks && let Some(log) = situation.active_log() {
        out.push_str(&quote_lines(&quote::answer_lines(&situation.user_message, &[log])));
    }
    if asks && let Some(memory) = from_memory(situation) {
        out.push('\n');
        out.push_str(&memory);
    }
    out
}

pub(super) fn from_memory(situation: &PromptView) -> Option<String> {
    let topic = quote::topic_terms(&situation.user_message);
    let mut relevant: Vec<(f64, &String)> =
        situation.memories.iter().map(|record| (quote::coverage(&topic, record), record)).collect();
    relevant.retain(|(share, _)| *share >= 0.6);
    relevant.sort_by(|a, b| b.0.total_cmp(&a.0));
    let records: Vec<String> = relevant.into_iter().take(3).map(|(_, record)| record.clone()).collect();
    (!records.is_empty()).then(|| format!("From memory:{}", quote_lines(&records)))
}

fn outside_efforts(situation: &PromptView, asks: bool) -> String {
    if !asks {
        return with_introduction(situation, "Noted.");
    }
    if let Some(memory) = from_memory(situation) {
        return memory;
    }
    from_logs(situation, |_| true).unwrap_or_else(|| CANNOT_ANSWER.to_owned())
}

/// Lines that answer the question, from the logs that are about it.
fn from_logs(situation: &PromptView, is_wanted: impl Fn(&LogView) -> bool) -> Option<String> {
    let topic = quote::topic_terms(&situation.user_message);
    let is_relevant = |log: &&LogView| is_wanted(log) && quote::log_coverage(&topic, log) >= 0.6;
    let logs: Vec<&LogView> = situation.logs.iter().filter(is_relevant).collect();
    let lines = quote::answer_lines(&situation.user_message, &logs);
    (!lines.is_empty()).then(|| format!("From the recent chat:{}", quote_lines(&lines)))
}

pub(super) fn effort_concluded(situation: &PromptView, id: &str) -> String {
    let next = situation.active.as_ref().map(|active| format!(" Active: {active}.")).unwrap_or_default();
    format!("Concluded {id}; its summary stands for it now.{next}")
}

/// Lines of a log that answer the question, or the latest ones if it names no topic.
pub(super) fn from_log(situation: &PromptView, id: &str) -> String {
    let Some(log) = situation.log(id) else { return from_summary(situation, id) };
    let fix = asks_for_fix(situation).then(|| quote::fix_lines(log)).filter(|lines| !lines.is_empty());
    let found = fix.unwrap_or_else(|| quote::answer_lines(&situation.user_message, &[log]));
    if found.is_empty() && quote::topic_terms(&situation.user_message).is_empty() {
        return format!("From the log of {id}, the latest:{}", quote_lines(&quote::latest_lines(log)));
    }
    if found.is_empty() {
        let summary = situation.summary(id).map(|text| quote_lines(&[text.to_owned()])).unwrap_or_default();
        return format!("Nothing in the log of {id} answers that in so many words.{summary}");
    }
    format!("From the log of {id}:{}", quote_lines(&found))
}

pub(super) fn from_summary(situation: &PromptView, id: &str) -> String {
    let Some(text) = situation.summary(id) else { return nothing_found() };
    let fix = if asks_for_fix(situation) { quote::fixes_in(text) } else { Vec::new() };
    let lines = if fix.is_empty() { vec![text.to_owned()] } else { fix };
    format!("From the summary of {id}:{}", quote_lines(&lines))
}

pub(super) fn asks_for_fix(situation: &PromptView) -> bool {
    FIX.occurs_in(&normalize(&situation.user_message))
}

pub(super) fn from_chat(situation: &PromptView) -> Option<String> {
    from_logs(situation, |log| log.id.is_none())
}

pub(super) fn from_result(result: &Value, is_relevant: bool) -> String {
    let text = |key: &str| result.get(key).and_then(Value::as_str);
    let source = text("id").unwrap_or("the chat outside efforts");
    let words: Vec<String> = ["summary", "quote"].iter().filter_map(|key| text(key)).map(str::to_owned).collect();
    let lead = if is_relevant {
        format!("From the record of {source}:")
    } else {
        format!("The nearest that is stored is {source}:")
    };
    format!("{lead}{}", quote_lines(&words))
}

pub(super) fn nothing_found() -> String {
    "Nothing about that is found here. `neap search` looks through all sessions.".to_owned()
}

/// The result of `effort_status` as text.
pub(super) fn status_text(result: &Value) -> String {
    let efforts = result.get("efforts").and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |effort: &Value, key: &str| effort.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let tokens = |effort: &Value| effort.get("raw_tokens").and_then(Value::as_u64).unwrap_or(0);
    let entry = |effort: &Value| format!("{} ({} tokens)", text(effort, "id"), tokens(effort));
    let is_active = |effort: &&Value| effort.get("active").and_then(Value::as_bool) == Some(true);
    let list =
        |keep: &dyn Fn(&&Value) -> bool| efforts.iter().filter(keep).map(entry).collect::<Vec<_>>().join(", ");
    let active = list(&|e| is_active(e));
    let open = list(&|e| text(e, "status") == "open" && !is_active(e));
    let concluded = list(&|e| text(e, "status") == "concluded");
    let more = result.get("more_listed_by_search").and_then(Value::as_u64).unwrap_or(0);
    let mut out = Vec::new();
    out.push(if active.is_empty() { "Nothing is active.".to_owned() } else { format!("Active: {active}.") });
    if !open.is_empty() {
        out.push(format!("Open in the background: {open}."));
    }
    if !concluded.is_empty() {
        out.push(format!("Concluded and shown: {concluded}."));
    }
    if more > 0 {
        out.push(format!("{more} more can be found by search."));
    }
    out.join("\n")
}

pub(super) fn refusal_text(error: &str) -> String {
    format!("That did not work: {error}")
}

/// For requests in which tools may not be called.
pub(super) fn without_calls(situation: &PromptView) -> String {
    if !matches!(parse_intent(&situation.user_message), Intent::Recall | Intent::Ask) {
        return acknowledge(situation);
    }
    let topic = quote::topic_terms(&situation.user_message);
    if let Some((_, id)) = best_log(situation, &topic, TOPIC_COVERAGE_MIN) {
        return from_log(situation, id);
    }
    match best_summary(situation, &topic) {
        Some((_, id)) => from_summary(situation, id),
        None => from_chat(situation).unwrap_or_else(nothing_found),
    }
}
