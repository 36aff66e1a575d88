//! Memory calls as a turn makes them: who asks is stamped here, and what came of it is told here.

use std::sync::Arc;

use super::desk::Desk;
use super::perform::{Caller, Performed};
use super::step::Input;
use crate::assemble::Selection;
use crate::censor::{compile, dry_run};
use crate::effort::Effort;
use crate::ids::{EffortId, Seq, TurnNo};
use crate::learn::{Answer, LearnInput, Wish};
use crate::memory::{Author, Body, MemoryDraft, Provenance, Side, WhatLearnt};
use crate::message::{Role, Scope, ToolCall};
use crate::tools::{Banner, MemoryCall, Refusal};

/// Messages that a new rule is tried against.
const RECENT_MAX: usize = 50;

/// The wish with who has it, where, and by which call; an episode of an effort says what its summary says.
pub(super) fn stamped(
    desk: &Desk<'_>,
    turn: TurnNo,
    caller: &Caller,
    call: &ToolCall,
    asked: MemoryCall,
) -> Result<Wish, Refusal> {
    let MemoryCall { mut wish, effort } = asked;
    let by = provenance(desk, turn, caller, call);
    let draft = match &mut wish {
        Wish::Remember(draft) => draft,
        Wish::Amend { by: wanted_by, .. } => {
            *wanted_by = by;
            return Ok(wish);
        }
        Wish::Use(_) | Wish::Recall { .. } | Wish::Expand { .. } | Wish::Status | Wish::Sweep => return Ok(wish),
    };
    draft.provenance = by;
    if let Body::Censor(censor) = &draft.body {
        let said = recent(desk, censor.side);
        let texts: Vec<&str> = said.iter().map(|text| &**text).collect();
        dry_run(&compile(&censor.pattern)?, &texts).judge(Author::Model, false)?;
    }
    if let Some(given) = effort {
        tell_of(draft, concluded(desk, &given)?);
    }
    Ok(wish)
}

/// Outside of turns, each call is an occasion of its own: a host may give all its calls one id.
fn provenance(desk: &Desk<'_>, turn: TurnNo, caller: &Caller, call: &ToolCall) -> Provenance {
    let (turn, source) = match caller {
        Caller::InTurn { .. } => (Some(turn), call.id.clone()),
        Caller::Outside => {
            let seq = desk.mind.as_ref().map_or(Seq(0), |mind| mind.agent.seq());
            (None, format!("call after event {seq}"))
        }
    };
    let session = desk.state.head().session.clone();
    Provenance { session, turn, source: Some(source), ..Provenance::of(Author::Model) }
}

/// What was said of late on a side, as far as it is at hand: a new rule is tried against it.
fn recent(desk: &Desk<'_>, side: Side) -> Vec<Arc<str>> {
    let role = match side {
        Side::Input => Role::User,
        Side::Output => Role::Assistant,
        Side::ToolCall => return Vec::new(),
    };
    let scopes: Vec<Scope> = Selection::of(desk.state).scopes().collect();
    let exchanges = scopes.iter().filter_map(|scope| desk.logs.get(scope)).flat_map(|log| log.exchanges().rev());
    let said = exchanges.flat_map(|exchange| &exchange.messages).filter(|said| said.message.role == role);
    said.map(|said| said.message.content.clone()).take(RECENT_MAX).collect()
}

fn concluded<'d>(desk: &'d Desk<'_>, given: &str) -> Result<&'d Effort, Refusal> {
    let id = EffortId::from_name(given).ok();
    let effort = id.and_then(|id| desk.state.effort(&id)).filter(|effort| effort.is_concluded());
    effort.ok_or_else(|| {
        let given: String = given.chars().filter(|c| !c.is_control()).take(80).collect();
        Refusal::new(format!("No concluded effort with id '{given}'."))
            .hint("an episode tells of work that is over")
    })
}

fn tell_of(draft: &mut MemoryDraft, effort: &Effort) {
    let session = draft.provenance.session.clone();
    if let Body::Episode(episode) = &mut draft.body {
        if episode.summary.trim().is_empty() {
            episode.summary = effort.summary.as_ref().map_or_else(String::new, |summary| summary.text.clone());
        }
        (episode.session, episode.effort) = (session, Some(effort.id.clone()));
    }
}

/// What the driver gave, as the memory's machine understands it.
pub(super) fn learn_input(input: Input) -> LearnInput {
    match input {
        Input::Given(given) => LearnInput::Given(given),
        Input::Learnt => LearnInput::Committed,
        Input::Outdated => LearnInput::Stale,
        other @ (Input::Begin
        | Input::NotLearnt
        | Input::Committed
        | Input::Stale
        | Input::Loaded(_)
        | Input::Fetched(_)
        | Input::Found(_)
        | Input::Replied(_)
        | Input::ModelFailed { .. }
        | Input::Interrupted { .. }
        | Input::Summarized(_)
        | Input::ToolAnswered { .. }) => panic!("the driver answered a wish with {other:?}"),
    }
}

/// A wish that was carried out.
pub(super) fn learned(answer: &Answer) -> Performed {
    let text = answer.to_json();
    let changed = |banner| Performed { banner, once: true, ..Performed::answer(text.clone()) };
    match answer {
        Answer::Refused(refusal) => Performed::refused(refusal),
        Answer::Learnt { id, what, micro, waits, .. } => changed(Some(Banner::Learnt {
            did: if *waits { PROPOSED.to_owned() } else { did(*what).to_owned() },
            id: *id,
            text: said(micro, &id.to_string()),
        })),
        Answer::Changed { memory, how, note: _ } => changed(Some(Banner::Learnt {
            did: capital(how),
            id: memory.id,
            text: said(&memory.lines.micro, &memory.id.to_string()),
        })),
        Answer::Counted | Answer::Swept { .. } => changed(None),
        Answer::Found { .. } | Answer::Full { .. } | Answer::Status(_) => Performed::answer(text),
    }
}

/// What was done with something that only a person can put in force.
const PROPOSED: &str = "Proposed, until a person accepts it,";

fn did(what: WhatLearnt) -> &'static str {
    match what {
        WhatLearnt::New => "Remembered",
        WhatLearnt::Confirmed => "Confirmed",
        WhatLearnt::Superseded => "Remembered, in the place of an earlier one,",
        WhatLearnt::Contested => "Remembered, though contested,",
        WhatLearnt::Known => "Already known as",
    }
}

/// A record's line without what the banner says already, and without its day.
fn said(line: &str, id: &str) -> String {
    let text = line.trim().trim_start_matches("- ");
    let is_day = |day: &str| day.len() == 10 && day.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let undated = text.strip_suffix(')').and_then(|text| text.rsplit_once(", ")).filter(|(_, day)| is_day(day));
    let text = undated.map_or_else(|| text.to_owned(), |(text, _)| format!("{text})"));
    text.strip_prefix(id).unwrap_or(&text).trim().to_owned()
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
