//! Decides the next step from the user's intent and the prompt: one tool call, or a reply.

use neap_core::text::completion::Completion;
use neap_core::text::opening::{OpeningKind, salient_words};
use neap_core::text::phrases::{Phrases, normalize};
use serde_json::{Value, json};

use super::answer;
use super::intent::{Intent, SwitchKind, is_question, parse_intent};
use super::name::{effort_name, is_mentioned, match_effort};
use super::past_questions::{answer_question, answer_recall, search_call, use_search_result};
use super::past_work::{self, past_work_call, past_work_text};
use super::prompt_view::{CallResult, PromptView};
use super::quote::{coverage, log_coverage};
use crate::summarize::term_set;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum NextStep {
    Call { tool: &'static str, arguments: Value },
    Say(String),
}

pub(super) fn next_step(situation: &PromptView) -> NextStep {
    if !situation.has_tools() {
        return NextStep::Say(answer::without_calls(situation));
    }
    match situation.calls.last() {
        None => first_step(situation),
        Some(round) => step_after_call(situation, round),
    }
}

pub(super) fn call(tool: &'static str, arguments: Value) -> NextStep {
    NextStep::Call { tool, arguments }
}

pub(super) fn call_with_id(tool: &'static str, id: &str) -> NextStep {
    call(tool, json!({"id": id}))
}

pub(super) fn stay_in_effort(situation: &PromptView) -> NextStep {
    NextStep::Say(answer::acknowledge(situation))
}

fn first_step(situation: &PromptView) -> NextStep {
    if let Some(call) = past_work_call(situation) {
        return call;
    }
    match parse_intent(&situation.user_message) {
        Intent::Status => call("effort_status", json!({})),
        Intent::Close(completion) => close_effort(situation, &completion.object.join(" ")),
        Intent::GoTo { target, how } => go_to_effort(situation, &situation.user_message, &target, how),
        Intent::Expand { target } => {
            match match_effort(&target, situation.summaries.iter().map(|(id, _)| id.as_str())) {
                Some(id) => call_with_id("expand_effort", id),
                None => search_call(&target, false),
            }
        }
        Intent::Collapse { target } => {
            match match_effort(&target, situation.expanded.iter().map(String::as_str)) {
                Some(id) => call_with_id("collapse_effort", id),
                None => stay_in_effort(situation),
            }
        }
        Intent::Recall => answer_recall(situation, true),
        Intent::Ask => answer_question(situation),
        Intent::Begin(kind) => begin_effort(situation, kind),
        Intent::Courtesy => NextStep::Say(answer::courtesy(situation)),
        Intent::Tell => stay_in_effort(situation),
    }
}

/// Closes the effort that the message names; a message about something else closes none.
fn close_effort(situation: &PromptView, object: &str) -> NextStep {
    let Some(active) = situation.active.as_deref() else {
        return NextStep::Say("There is no open effort to close.".to_owned());
    };
    if object.is_empty() || match_effort(object, std::iter::once(active)).is_some() {
        return call("close_effort", json!({}));
    }
    match match_effort(object, situation.open.iter().map(String::as_str)) {
        Some(id) => call_with_id("close_effort", id),
        None if is_question(&normalize(&situation.user_message)) => answer_question(situation),
        None => stay_in_effort(situation),
    }
}

fn go_to_effort(situation: &PromptView, message: &str, target: &str, how: SwitchKind) -> NextStep {
    if let Some(id) = match_effort(target, situation.open.iter().map(String::as_str)) {
        return call_with_id("switch_effort", id);
    }
    let active = situation.active.as_deref();
    if match_effort(target, active.into_iter()).is_some() {
        return stay_in_effort(situation);
    }
    if let Some(id) = match_effort(target, situation.concluded()) {
        return call_with_id("reopen_effort", id);
    }
    match how {
        SwitchKind::Back => search_call(target, false),
        SwitchKind::Instead
            if !is_related(situation, target) && !Phrases("let's do|use").occurs_in(&normalize(message)) =>
        {
            open_effort(situation, target)
        }
        SwitchKind::Loosely if active.is_none() => open_effort(situation, target),
        SwitchKind::Instead | SwitchKind::Loosely => stay_in_effort(situation),
    }
}

fn begin_effort(situation: &PromptView, kind: OpeningKind) -> NextStep {
    let message = &situation.user_message;
    if situation.active.is_none() {
        let again = Phrases("again|back|still").occurs_in(&normalize(message));
        let known = situation.concluded().find(|id| again && is_mentioned(id, message));
        return match known {
            Some(id) => call_with_id("reopen_effort", id),
            None => open_effort(situation, message),
        };
    }
    // The message may answer a question that the assistant asked.
    let prompted = situation.active_log().and_then(|log| log.messages.last());
    let prompted = prompted.is_some_and(|m| m.content.trim_end().ends_with('?'));
    match kind {
        OpeningKind::Declared => open_effort(situation, message),
        OpeningKind::Asked
            if !prompted && salient_words(&normalize(message)).len() >= 2 && !is_related(situation, message) =>
        {
            open_effort(situation, message)
        }
        OpeningKind::Asked | OpeningKind::Stated => stay_in_effort(situation),
    }
}

/// Whether a text shares a salient word with the active effort.
fn is_related(situation: &PromptView, text: &str) -> bool {
    let words = term_set(&salient_words(&normalize(text)).join(" "));
    let log = situation.active_log().map_or(0.0, |log| log_coverage(&words, log));
    let id = situation.active.as_deref().map_or(0.0, |id| coverage(&words, id));
    // A long message may share a word by chance.
    log.max(id) * words.len() as f64 > if words.len() > 6 { 1.5 } else { 0.5 }
}

fn open_effort(situation: &PromptView, message: &str) -> NextStep {
    let Some(name) = effort_name(message) else { return stay_in_effort(situation) };
    if situation.active.as_deref() == Some(&name) {
        stay_in_effort(situation)
    } else if situation.open.contains(&name) {
        call_with_id("switch_effort", &name)
    } else if situation.concluded().any(|id| id == name) {
        call_with_id("reopen_effort", &name)
    } else {
        call("open_effort", json!({"name": name}))
    }
}

fn step_after_call(situation: &PromptView, round: &CallResult) -> NextStep {
    let text = |key: &str| round.result.get(key).and_then(Value::as_str);
    if let Some(error) = text("error") {
        return step_after_refusal(situation, round, error);
    }
    let id = text("effort_id").unwrap_or_default();
    match round.tool.as_str() {
        "open_effort" => NextStep::Say(answer::effort_entered(situation, "Noted under", id)),
        "switch_effort" => NextStep::Say(answer::effort_entered(situation, "Working on", id)),
        "reopen_effort" => NextStep::Say(answer::effort_entered(situation, "Going on with", id)),
        "collapse_effort" => NextStep::Say(format!("Put away {id}; its summary stands for it again.")),
        "close_effort" => step_after_close(situation, id),
        "effort_status" => NextStep::Say(answer::status_text(&round.result)),
        "expand_effort" => NextStep::Say(answer::from_log(situation, id)),
        "search_efforts" => use_search_result(situation, round),
        past_work::TOOL => NextStep::Say(past_work_text(&round.result)),
        _ => NextStep::Say(answer::acknowledge(situation)),
    }
}

/// Follows the hint of a refusal if there is one.
fn step_after_refusal(situation: &PromptView, round: &CallResult, error: &str) -> NextStep {
    let id = |key: &str| round.arguments.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let earlier = situation.calls.len() > 1;
    match round.tool.as_str() {
        "open_effort" if error.contains("already open") && !earlier => call_with_id("switch_effort", &id("name")),
        "open_effort" if error.contains("is concluded") && !earlier => call_with_id("reopen_effort", &id("name")),
        "expand_effort" if situation.log(&id("id")).is_some() => {
            NextStep::Say(answer::from_log(situation, &id("id")))
        }
        _ => NextStep::Say(answer::refusal_text(error)),
    }
}

/// A message that closes one effort may begin another.
fn step_after_close(situation: &PromptView, id: &str) -> NextStep {
    if situation.calls.len() == 1
        && let Intent::Close(Completion { rest, .. }) = parse_intent(&situation.user_message)
    {
        let intent = parse_intent(&rest);
        if let Intent::Begin(kind) = intent
            && (kind != OpeningKind::Stated || situation.active.is_none())
        {
            return open_effort(situation, &rest);
        }
        if let Intent::GoTo { target, how } = intent
            && let call @ NextStep::Call { .. } = go_to_effort(situation, &rest, &target, how)
        {
            return call;
        }
    }
    NextStep::Say(answer::effort_concluded(situation, id))
}
