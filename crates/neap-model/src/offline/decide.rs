//! What follows from a wish and the situation: one call, or words.

use serde_json::{Value, json};

use super::answer;
use super::intent::{Beginning, Going, Intent, intent, is_question};
use super::name::{is_mentioned, name_for, named, salient};
use super::phrases::{any, plain};
use super::quote::{coverage, log_coverage};
use super::read::{Round, Situation};
use super::recall::{ask, found, recall, search};
use crate::summarize::term_set;

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Next {
    /// Call a tool.
    Call { tool: &'static str, arguments: Value },
    /// Answer.
    Say(String),
}

/// Decides.
pub(super) fn next(situation: &Situation) -> Next {
    if !situation.has_tools() {
        return Next::Say(answer::without_calls(situation));
    }
    match situation.rounds.last() {
        None => first(situation, &situation.said),
        Some(round) => then(situation, round),
    }
}

pub(super) fn call(tool: &'static str, arguments: Value) -> Next {
    Next::Call { tool, arguments }
}

pub(super) fn with_id(tool: &'static str, id: &str) -> Next {
    call(tool, json!({"id": id}))
}

pub(super) fn stay(situation: &Situation) -> Next {
    Next::Say(answer::staying(situation))
}

/// The first move of a turn, or of what else a message said.
fn first(situation: &Situation, said: &str) -> Next {
    match intent(said) {
        Intent::Status => call("effort_status", json!({})),
        Intent::Close { object, rest: _ } => close(situation, said, &object),
        Intent::GoTo { target, how } => go_to(situation, said, &target, how),
        Intent::Expand { target } => match named(&target, situation.summaries.iter().map(|(id, _)| id.as_str())) {
            Some(id) => with_id("expand_effort", id),
            None => search(&target, false),
        },
        Intent::Collapse { target } => match named(&target, situation.expanded.iter().map(String::as_str)) {
            Some(id) => with_id("collapse_effort", id),
            None => stay(situation),
        },
        Intent::Recall { detail, explicit } => recall(situation, said, detail, explicit),
        Intent::Ask => ask(situation, said),
        Intent::Begin(beginning) => begin(situation, said, beginning),
        Intent::Pause | Intent::Courtesy | Intent::Tell => stay(situation),
    }
}

/// Closes what the sign is about; a sign about something else is none.
fn close(situation: &Situation, said: &str, object: &str) -> Next {
    let generic = "issue|problem|bug|task|work|effort|one|topic|project|plan|all|now|everything|case|job|great|perfect|thanks|resolved|done|closed|complete|finished|think";
    let objects: Vec<String> =
        salient(object).into_iter().filter(|word| !generic.split('|').any(|g| g == word)).collect();
    let Some(active) = situation.active.as_deref() else {
        return Next::Say("There is no open effort to close.".to_owned());
    };
    if objects.is_empty() {
        return call("close_effort", json!({}));
    }
    let object = objects.join(" ");
    if named(&object, std::iter::once(active)).is_some() {
        return call("close_effort", json!({}));
    }
    match named(&object, situation.open.iter().map(String::as_str)) {
        Some(id) => with_id("close_effort", id),
        None if is_question(&plain(said)) => ask(situation, said),
        None => stay(situation),
    }
}

fn go_to(situation: &Situation, said: &str, target: &str, how: Going) -> Next {
    if let Some(id) = named(target, situation.open.iter().map(String::as_str)) {
        return with_id("switch_effort", id);
    }
    let active = situation.active.as_deref();
    if named(target, active.into_iter()).is_some() {
        return stay(situation);
    }
    if let Some(id) = named(target, situation.concluded()) {
        return with_id("reopen_effort", id);
    }
    match how {
        Going::Back => search(target, false),
        Going::Instead if !is_related(situation, target) && !any(&plain(said), "let's do|use") => {
            open(situation, target)
        }
        Going::Loosely if active.is_none() => open(situation, target),
        Going::Instead | Going::Loosely => stay(situation),
    }
}

fn begin(situation: &Situation, said: &str, beginning: Beginning) -> Next {
    if situation.active.is_none() {
        let again = any(&plain(said), "again|back|still");
        let known = situation.concluded().find(|id| again && is_mentioned(id, said));
        return match known {
            Some(id) => with_id("reopen_effort", id),
            None => open(situation, said),
        };
    }
    // A question that was put is being answered.
    let prompted = situation.active_log().and_then(|log| log.messages.last());
    let prompted = prompted.is_some_and(|m| m.content.trim_end().ends_with(['?', '？']));
    match beginning {
        Beginning::Declared => open(situation, said),
        Beginning::Asked if !prompted && salient(&plain(said)).len() >= 2 && !is_related(situation, said) => {
            open(situation, said)
        }
        Beginning::Asked | Beginning::Implied => stay(situation),
    }
}

/// Whether a text shares a telling word with the active effort.
fn is_related(situation: &Situation, text: &str) -> bool {
    let words = term_set(&salient(&plain(text)).join(" "));
    let log = situation.active_log().map_or(0.0, |log| log_coverage(&words, log));
    let id = situation.active.as_deref().map_or(0.0, |id| coverage(&words, id));
    // The rest of a message may share a word by chance.
    log.max(id) * words.len() as f64 > if words.len() > 6 { 1.5 } else { 0.5 }
}

fn open(situation: &Situation, said: &str) -> Next {
    let Some(name) = name_for(said) else { return stay(situation) };
    if situation.active.as_deref() == Some(&name) {
        stay(situation)
    } else if situation.open.contains(&name) {
        with_id("switch_effort", &name)
    } else if situation.concluded().any(|id| id == name) {
        with_id("reopen_effort", &name)
    } else {
        call("open_effort", json!({"name": name}))
    }
}

/// What follows from the last call of this turn.
fn then(situation: &Situation, round: &Round) -> Next {
    let text = |key: &str| round.result.get(key).and_then(Value::as_str);
    if let Some(error) = text("error") {
        return refused(situation, round, error);
    }
    let id = text("effort_id").unwrap_or_default();
    match round.tool.as_str() {
        "open_effort" => Next::Say(answer::working(situation, "Noted under", id)),
        "switch_effort" => Next::Say(answer::working(situation, "Working on", id)),
        "reopen_effort" => Next::Say(answer::working(situation, "Going on with", id)),
        "collapse_effort" => Next::Say(format!("Put away {id}; its summary stands for it again.")),
        "close_effort" => closed(situation, id),
        "effort_status" => Next::Say(answer::status(&round.result)),
        "expand_effort" => Next::Say(answer::from_log(situation, id)),
        "search_efforts" => found(situation, round),
        _ => Next::Say(answer::staying(situation)),
    }
}

/// A refusal often names the way.
fn refused(situation: &Situation, round: &Round, error: &str) -> Next {
    let id = |key: &str| round.arguments.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let earlier = situation.rounds.len() > 1;
    match round.tool.as_str() {
        "open_effort" if error.contains("already open") && !earlier => with_id("switch_effort", &id("name")),
        "open_effort" if error.contains("is concluded") && !earlier => with_id("reopen_effort", &id("name")),
        "expand_effort" if situation.log(&id("id")).is_some() => Next::Say(answer::from_log(situation, &id("id"))),
        _ => Next::Say(answer::refused(error)),
    }
}

/// A message that closes one thing may begin another.
fn closed(situation: &Situation, id: &str) -> Next {
    if situation.rounds.len() == 1
        && let Intent::Close { rest, .. } = intent(&situation.said)
    {
        match intent(&rest) {
            Intent::Begin(Beginning::Declared | Beginning::Asked) => return open(situation, &rest),
            Intent::Begin(Beginning::Implied) if situation.active.is_none() => return open(situation, &rest),
            Intent::GoTo { target, how } => match go_to(situation, &rest, &target, how) {
                Next::Say(_) => {}
                call @ Next::Call { .. } => return call,
            },
            Intent::Begin(Beginning::Implied)
            | Intent::Status
            | Intent::Recall { .. }
            | Intent::Close { .. }
            | Intent::Expand { .. }
            | Intent::Collapse { .. }
            | Intent::Pause
            | Intent::Courtesy
            | Intent::Ask
            | Intent::Tell => {}
        }
    }
    Next::Say(answer::concluded(situation, id))
}
