//! Questions of what was done in a time, such as "What did I work on last week?": answered by time, from all
//! conversations, if the program offers the tool for it.

use neap_core::base::ids::Stamp;
use neap_core::memory::knowledge::question_time_range;
use serde_json::{Value, json};

use super::decide::{NextStep, call};
use super::prompt_view::PromptView;
use super::quote::topic_terms;

/// A host's tool that lists work by time.
pub(super) const TOOL: &str = "past_work";
/// Whether a question names a time does not depend on the day.
const ANY_DAY: Stamp = Stamp(1_700_000_000_000);
/// Stems of words that name a time, or doing as such: a question of nothing else asks for a list.
const TIME_AND_DOING: &str = "week|month|day|todai|today|yesterdai|yesterday|morn|night|tonight|late|recent|past|one|two|three|four|five|six|\
    seven|eight|nine|ten|project|session|convers|happen|done|did|do|get|got|catch|speed|miss|new|recap|accomplish|finish|\
    complet|up|bring|so|far|thi|these|code|codex|claud|agent|summari|summar|list|show|was|were|been|we|all";

/// The call that answers a question of what was done in a time and of nothing else.
pub(super) fn past_work_call(situation: &PromptView) -> Option<NextStep> {
    let message = situation.user_message.as_str();
    if !situation.can_call(TOOL) || question_time_range(message, ANY_DAY).is_none() {
        return None;
    }
    let is_common = |term: &String| {
        TIME_AND_DOING.split('|').any(|common| common == term) || term.chars().all(|c| c.is_ascii_digit())
    };
    topic_terms(message).iter().all(is_common).then(|| call(TOOL, json!({"when": message})))
}

/// The listed work, a line each.
pub(super) fn past_work_text(result: &Value) -> String {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let time = match (text(result, "first_day"), text(result, "last_day")) {
        (first, last) if first == last => format!("on {first}"),
        (first, last) => format!("from {first} to {last}"),
    };
    let work = result.get("work").and_then(Value::as_array).cloned().unwrap_or_default();
    if work.is_empty() {
        let latest = match text(result, "latest_day") {
            day if day.is_empty() => String::new(),
            day => format!(" The latest before that is of {day}."),
        };
        return format!("No work {time} is stored.{latest}");
    }
    let mut out = format!("Done {time}, the latest first:");
    for entry in &work {
        let name = match text(entry, "effort") {
            effort if effort.is_empty() => text(entry, "session"),
            effort => format!("{effort} ({}, in {})", text(entry, "status"), text(entry, "session")),
        };
        out.push_str(&format!("\n> {}  {name}: {}", text(entry, "day"), text(entry, "text")));
    }
    let more = result.get("more").and_then(Value::as_u64).unwrap_or(0);
    if more > 0 {
        out.push_str(&format!("\n{more} more; `neap search WORDS` finds them."));
    }
    out
}
