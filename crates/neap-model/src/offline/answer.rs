//! What is said: about our own doing, or quoted. Nothing factual is said in our own words.

use serde_json::Value;

use super::intent::{Intent, intent, is_question};
use super::phrases::{any, plain};
use super::quote;
use super::read::{LogPart, Situation};

/// Said once, at the beginning of a conversation.
const WHO: &str =
    "This is the built-in offline model: it keeps, finds and quotes what was said, and does not reason.";
const CANNOT: &str =
    "The built-in offline model cannot answer that; it only keeps, finds and quotes what was said.";

/// How our own sentences begin, so that they are never quoted as evidence.
pub(super) const OWN_WORDS: &[&str] = &[
    "Noted",
    "This is the built-in",
    "The built-in offline model",
    "From the ",
    "From memory",
    "Nothing ",
    "Concluded ",
    "Working on ",
    "Going on with ",
    "Active: ",
    "Open in the background: ",
    "Concluded and shown: ",
    "Put away ",
    "You are welcome",
    "Hello.",
    "That did not work: ",
    "There is no open",
    "The nearest",
    "> ",
];

/// With a word about who speaks where nothing was said before.
fn introduced(situation: &Situation, text: &str) -> String {
    if situation.is_first { format!("{text} {WHO}") } else { text.to_owned() }
}

/// Lines as quotations.
fn quoted(lines: &[String]) -> String {
    lines.iter().map(|line| format!("\n> {line}")).collect()
}

/// A new effort was opened, or another became active.
pub(super) fn working(situation: &Situation, verb: &str, id: &str) -> String {
    introduced(situation, &format!("{verb} {id}."))
}

/// The message belongs to the active effort, or to none.
pub(super) fn staying(situation: &Situation) -> String {
    let asks = is_question(&plain(&situation.said));
    let Some(id) = &situation.active else { return without_effort(situation, asks) };
    let mut out = introduced(situation, &format!("Noted under {id}."));
    if asks && let Some(log) = situation.active_log() {
        out.push_str(&quoted(&quote::lines(&situation.said, &[log])));
    }
    if asks && let Some(known) = from_memory(situation) {
        out.push('\n');
        out.push_str(&known);
    }
    out
}

/// What is known beyond this conversation about the question.
pub(super) fn from_memory(situation: &Situation) -> Option<String> {
    let topic = quote::topic(&situation.said);
    let mut close: Vec<(f64, &String)> =
        situation.known.iter().map(|record| (quote::coverage(&topic, record), record)).collect();
    close.retain(|(share, _)| *share >= 0.6);
    close.sort_by(|a, b| b.0.total_cmp(&a.0));
    let records: Vec<String> = close.into_iter().take(3).map(|(_, record)| record.clone()).collect();
    (!records.is_empty()).then(|| format!("From memory:{}", quoted(&records)))
}

fn without_effort(situation: &Situation, asks: bool) -> String {
    let text = plain(&situation.said);
    if matches!(intent(&situation.said), Intent::Courtesy) {
        let thanks = any(&text, "thanks|thank|thx|danke|谢谢");
        return introduced(situation, if thanks { "You are welcome." } else { "Hello." });
    }
    if !asks {
        return introduced(situation, "Noted.");
    }
    if let Some(known) = from_memory(situation) {
        return known;
    }
    let chat: Vec<&LogPart> = situation.logs.iter().collect();
    let topic = quote::topic(&situation.said);
    let close = |part: &&LogPart| quote::log_coverage(&topic, part) >= 0.6;
    let chat: Vec<&LogPart> = chat.into_iter().filter(close).collect();
    let lines = quote::lines(&situation.said, &chat);
    if lines.is_empty() {
        return CANNOT.to_owned();
    }
    format!("From the recent chat:{}", quoted(&lines))
}

/// An effort came to its end.
pub(super) fn concluded(situation: &Situation, id: &str) -> String {
    let next = situation.active.as_ref().map(|active| format!(" Active: {active}.")).unwrap_or_default();
    format!("Concluded {id}; its summary stands for it now.{next}")
}

/// What a log says about the question, or its latest words if the question names nothing.
pub(super) fn from_log(situation: &Situation, id: &str) -> String {
    let Some(log) = situation.log(id) else { return from_summary(situation, id) };
    let found = quote::lines(&situation.said, &[log]);
    if found.is_empty() && quote::topic(&situation.said).is_empty() {
        return format!("From the log of {id}, the latest:{}", quoted(&quote::latest(log)));
    }
    if found.is_empty() {
        let summary = situation.summary(id).map(|text| quoted(&[text.to_owned()])).unwrap_or_default();
        return format!("Nothing in the log of {id} answers that in so many words.{summary}");
    }
    format!("From the log of {id}:{}", quoted(&found))
}

/// A shown summary.
pub(super) fn from_summary(situation: &Situation, id: &str) -> String {
    match situation.summary(id) {
        Some(text) => format!("From the summary of {id}:\n> {text}"),
        None => nothing(),
    }
}

/// What is in the context about the question outside efforts.
pub(super) fn from_chat(situation: &Situation) -> Option<String> {
    let chat: Vec<&LogPart> = situation.logs.iter().filter(|part| part.id.is_none()).collect();
    let topic = quote::topic(&situation.said);
    let covered = chat.iter().any(|part| quote::log_coverage(&topic, part) >= 0.6);
    let lines = if covered { quote::lines(&situation.said, &chat) } else { Vec::new() };
    (!lines.is_empty()).then(|| format!("From the recent chat:{}", quoted(&lines)))
}

/// A search result as it is.
pub(super) fn from_result(result: &Value, is_close: bool) -> String {
    let text = |key: &str| result.get(key).and_then(Value::as_str);
    let place = text("id").unwrap_or("the chat outside efforts");
    let words: Vec<String> = ["summary", "quote"].iter().filter_map(|key| text(key)).map(str::to_owned).collect();
    let lead = if is_close {
        format!("From the record of {place}:")
    } else {
        format!("The nearest that is stored is {place}:")
    };
    format!("{lead}{}", quoted(&words))
}

/// Plainly, that there is none.
pub(super) fn nothing() -> String {
    "Nothing about that is stored under any name that was searched.".to_owned()
}

/// What `effort_status` says, in words.
pub(super) fn status(result: &Value) -> String {
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

/// A tool refused; its own words say why.
pub(super) fn refused(error: &str) -> String {
    format!("That did not work: {error}")
}

/// A call was wanted where none is carried out.
pub(super) fn without_calls(situation: &Situation) -> String {
    let wish = intent(&situation.said);
    if !matches!(wish, Intent::Recall { .. } | Intent::Ask) {
        return staying(situation);
    }
    let topic = quote::topic(&situation.said);
    let log = situation.logs.iter().filter(|part| quote::log_coverage(&topic, part) >= 0.5);
    let log = log.max_by(|a, b| quote::log_coverage(&topic, a).total_cmp(&quote::log_coverage(&topic, b)));
    if let Some(id) = log.and_then(|part| part.id.as_deref()) {
        return from_log(situation, id);
    }
    let summed =
        situation.summaries.iter().find(|(id, text)| quote::coverage(&topic, &format!("{id} {text}")) >= 0.5);
    match summed {
        Some((id, _)) => from_summary(situation, id),
        None => from_chat(situation).unwrap_or_else(nothing),
    }
}
