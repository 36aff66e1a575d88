//! Memory tool calls of a turn: stamps each command with its provenance and renders its outcome.

use std::sync::Arc;

use super::context::TurnContext;
use super::tool_execution::{CallOrigin, ToolOutcome};
use crate::base::ids::{EffortId, Seq, TurnNo};
use crate::base::message::{Role, Scope, ToolCall};
use crate::base::refusal::Refusal;
use crate::context::Selection;
use crate::memory::censor::{compile, dry_run};
use crate::memory::learn::{MemoryCommand, MemoryResponse};
use crate::memory::{Author, Body, CensorSide, DraftOutcome, MemoryDraft, Provenance};
use crate::recall::ProjectFilter;
use crate::session::effort::Effort;
use crate::turn::tools::{Banner, MemoryCall};

/// Most messages that a new censor is tried against.
const RECENT_MESSAGES_MAX: usize = 50;

/// Adds author, session, turn and call id to a command. An episode of an effort takes that effort's summary.
pub(super) fn stamp_command(
    cx: &TurnContext<'_>,
    turn: TurnNo,
    caller: &CallOrigin,
    call: &ToolCall,
    memory_call: MemoryCall,
) -> Result<MemoryCommand, Refusal> {
    let MemoryCall { mut command, effort } = memory_call;
    let provenance = provenance(cx, turn, caller, call);
    let draft = match &mut command {
        MemoryCommand::Remember(draft) => draft,
        MemoryCommand::Amend { by, .. } => {
            *by = provenance;
            return Ok(command);
        }
        MemoryCommand::Recall { project, .. } => {
            let own = cx.state.head().project.clone();
            *project = project.take().or(own.map(ProjectFilter::First));
            return Ok(command);
        }
        MemoryCommand::CountUses(_)
        | MemoryCommand::Expand { .. }
        | MemoryCommand::Status
        | MemoryCommand::Sweep => return Ok(command),
    };
    draft.provenance = provenance;
    if let Body::Censor(censor) = &draft.body {
        let recent = recent_messages(cx, censor.side);
        let texts: Vec<&str> = recent.iter().map(|text| &**text).collect();
        dry_run(&compile(&censor.pattern)?, &texts).check(Author::Model, false)?;
    }
    if let Some(given) = effort {
        fill_episode(draft, require_concluded(cx, &given)?);
    }
    **draft = (**draft).clone().recorded_in(cx.state.head().project.as_ref());
    Ok(command)
}

/// Outside turns each call is its own source, because a host may give all its calls the same id.
fn provenance(cx: &TurnContext<'_>, turn: TurnNo, caller: &CallOrigin, call: &ToolCall) -> Provenance {
    let (turn, source) = match caller {
        CallOrigin::InTurn { .. } => (Some(turn), call.id.clone()),
        CallOrigin::Outside { .. } => {
            let seq = cx.agent.as_ref().map_or(Seq(0), |agent| agent.agent.seq());
            (None, format!("call after event {seq}"))
        }
    };
    let session = cx.state.head().session();
    Provenance { session, turn, source: Some(source), ..Provenance::from_author(Author::Model) }
}

/// Recent messages of one side, as far as they are loaded.
fn recent_messages(cx: &TurnContext<'_>, side: CensorSide) -> Vec<Arc<str>> {
    let role = match side {
        CensorSide::Input => Role::User,
        CensorSide::Output => Role::Assistant,
        CensorSide::ToolCall => return Vec::new(),
    };
    let scopes: Vec<Scope> = Selection::of(cx.state).scopes().collect();
    let exchanges = scopes.iter().filter_map(|scope| cx.logs.get(scope)).flat_map(|log| log.exchanges().rev());
    let messages =
        exchanges.flat_map(|exchange| &exchange.messages).filter(|counted| counted.message.role == role);
    messages.map(|counted| counted.message.content.clone()).take(RECENT_MESSAGES_MAX).collect()
}

fn require_concluded<'d>(cx: &'d TurnContext<'_>, given: &str) -> Result<&'d Effort, Refusal> {
    let id = EffortId::from_name(given).ok();
    let effort = id.and_then(|id| cx.state.effort(&id)).filter(|effort| effort.is_concluded());
    effort.ok_or_else(|| {
        let given: String = given.chars().filter(|c| !c.is_control()).take(80).collect();
        Refusal::new(format!("No concluded effort with id '{given}'."))
            .hint("an episode tells of work that is over")
    })
}

fn fill_episode(draft: &mut MemoryDraft, effort: &Effort) {
    let session = draft.provenance.session.clone();
    if let Body::Episode(episode) = &mut draft.body {
        if episode.summary.trim().is_empty() {
            episode.summary = effort.summary.as_ref().map_or_else(String::new, |summary| summary.text.clone());
        }
        (episode.session, episode.effort) = (session, Some(effort.id.clone()));
    }
}

pub(super) fn memory_outcome(response: &MemoryResponse) -> ToolOutcome {
    let text = response.to_json();
    let changed = |banner| ToolOutcome { banner, has_side_effects: true, ..ToolOutcome::from_text(text.clone()) };
    match response {
        MemoryResponse::Refused(refusal) => ToolOutcome::refused(refusal),
        MemoryResponse::Remembered { id, outcome, micro, awaits_approval, .. } => changed(Some(Banner::Learnt {
            did: if *awaits_approval { PROPOSED.to_owned() } else { change_verb(*outcome).to_owned() },
            id: *id,
            text: banner_text(micro, &id.to_string()),
        })),
        MemoryResponse::Changed { memory, how, note: _ } => changed(Some(Banner::Learnt {
            did: capitalize(how),
            id: memory.id,
            text: banner_text(&memory.lines.micro, &memory.id.to_string()),
        })),
        MemoryResponse::Counted | MemoryResponse::Swept { .. } => changed(None),
        MemoryResponse::Found { hits } => ToolOutcome { hits: hits.clone(), ..ToolOutcome::from_text(text) },
        MemoryResponse::Full { .. } | MemoryResponse::Status(_) => ToolOutcome::from_text(text),
    }
}

/// For a memory that only a person can put into force.
const PROPOSED: &str = "Proposed, until a person accepts it,";

fn change_verb(outcome: DraftOutcome) -> &'static str {
    match outcome {
        DraftOutcome::New => "Remembered",
        DraftOutcome::Confirmed => "Confirmed",
        DraftOutcome::Superseded => "Remembered, in the place of an earlier one,",
        DraftOutcome::Contested => "Remembered, though contested,",
        DraftOutcome::Known => "Already known as",
    }
}

/// A record's line without its id and date, which the banner omits or already shows.
fn banner_text(line: &str, id: &str) -> String {
    let text = line.trim().trim_start_matches("- ");
    let is_day = |day: &str| day.len() == 10 && day.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let undated = text.strip_suffix(')').and_then(|text| text.rsplit_once(", ")).filter(|(_, day)| is_day(day));
    let text = undated.map_or_else(|| text.to_owned(), |(text, _)| format!("{text})"));
    text.strip_prefix(id).unwrap_or(&text).trim().to_owned()
}

fn capitalize(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
