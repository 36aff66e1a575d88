//! The agents of a run: whose conversations the sessions are, and what people teach them.

use neap_core::ids::AgentId;
use neap_core::knowledge::{Outlook, Placement};
use neap_core::learn::{Amendment, Wish};
use neap_core::memory::{
    Action, Author, Body, Censor, Confidence, Decision, Fact, MemoryDraft, MemoryId, MemoryKind, Outcome, Pattern,
    Procedure, Provenance, Side, Stakes,
};
use neap_engine::{Engine, EngineError};

use crate::rng::Rng;
use crate::words::{FILLER, FORGED, NASTY, TOPICS};

/// Whose conversations the sessions of a run are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Agents {
    /// Nobody's: nothing is known beyond each of them.
    None,
    /// One agent's.
    Shared,
    /// Each of them another agent's.
    Own,
}

/// An agent as its sessions, and those who teach it, have it.
#[derive(Debug, Clone)]
pub struct SimAgent {
    /// Its id.
    pub id: AgentId,
    /// A word that only this agent's memories have.
    pub canary: String,
    /// Whether only one session is its conversation: then what was said there may be remembered.
    pub is_own: bool,
    /// How it sees things.
    pub outlook: Outlook,
}

impl Agents {
    /// By seed; two in seven have none.
    pub(crate) fn of(seed: u64, rng: &Rng) -> Self {
        match seed % 7 {
            3 | 5 => Agents::None,
            _ if rng.fork("agents").chance(650) => Agents::Shared,
            _ => Agents::Own,
        }
    }

    /// The agent of a session.
    pub(crate) fn of_session(self, session: &str, rng: &Rng) -> Option<SimAgent> {
        let name = match self {
            Agents::None => return None,
            Agents::Shared => "newton".to_owned(),
            Agents::Own => format!("agent of {session}"),
        };
        let id = AgentId::from_name(&name).ok()?;
        let mut rng = rng.fork("outlook");
        let identity = if rng.chance(500) { "You are Newton, who keeps things in order." } else { "" };
        let placement = if rng.chance(750) { Placement::System } else { Placement::Tail };
        let outlook = Outlook { identity: identity.to_owned(), placement, ..Outlook::default() };
        let canary = format!("yw{}wy", id.as_str().replace('-', ""));
        Some(SimAgent { id, canary, is_own: self == Agents::Own, outlook })
    }
}

/// A person asks something of an agent's memory, outside any conversation.
pub(crate) async fn person(engine: &Engine, rng: &mut Rng, canary: &str) -> Result<(), EngineError> {
    let Some(mut agent) = engine.memory().await? else { return Ok(()) };
    agent.ask(wish(rng, canary)).await?;
    Ok(())
}

fn wish(rng: &mut Rng, canary: &str) -> Wish {
    let kinds = MemoryKind::ALL;
    let kind = rng.pick(&kinds).copied().unwrap_or(MemoryKind::Fact);
    match rng.below(12) {
        0..=6 => Wish::Remember(Box::new(draft(rng, canary))),
        7 => Wish::Sweep,
        8 => {
            let (query, superseded) = (about(rng, canary), rng.chance(500));
            Wish::Recall { query, kinds: Vec::new(), time: None, superseded, max: 12 }
        }
        _ => {
            let how = match rng.below(9) {
                0 => Amendment::Confirm,
                1 | 2 => Amendment::Review { outcome: outcome(rng), notes: rng.word(NASTY).to_owned() },
                3 => Amendment::Undo,
                4 => Amendment::Deactivate,
                5 => Amendment::Retire,
                6 => Amendment::MarkCore,
                7 => Amendment::FalsePositive,
                _ => Amendment::Activate { succeeded: Some(rng.chance(500)) },
            };
            // A person here accepts no rule that a model proposes: so none of them is ever in force.
            let kind = if how == Amendment::Confirm { MemoryKind::Fact } else { kind };
            Wish::Amend { id: any_id(rng, kind), how, by: Provenance::of(Author::Person) }
        }
    }
}

fn draft(rng: &mut Rng, canary: &str) -> MemoryDraft {
    let text = about(rng, canary);
    let confidence = Confidence::try_from(rng.below(101) as f64 / 100.0).expect("between 0 and 1");
    let body = match rng.below(10) {
        0..=4 => Body::Fact(Fact::new(rng.pick(TOPICS).map_or("", |topic| topic.name), text, confidence)),
        5 | 6 => Body::Decision(Decision {
            stakes: Stakes::High,
            rests_on: vec![any_id(rng, MemoryKind::Fact)],
            ..Decision::new(text, confidence)
        }),
        7 => Body::Procedure(Procedure {
            core_patterns: vec![rng.word(FORGED).to_owned(), about(rng, canary)],
            ..Procedure::new(text)
        }),
        _ => {
            let sides = [Side::Output, Side::Output, Side::Input, Side::ToolCall];
            let actions = [Action::Refuse, Action::Refuse, Action::Steer, Action::Abort];
            let pattern = Pattern::Words(rng.word(&FILLER[20..]).to_owned());
            let side = rng.pick(&sides).copied().unwrap_or(Side::Output);
            let action = rng.pick(&actions).copied().unwrap_or(Action::Steer);
            let reason = format!("[agreed] {canary}] {}", rng.word(FORGED));
            Body::Censor(Censor::new(pattern, side, action, reason))
        }
    };
    let mut draft = MemoryDraft::new(body, Provenance::of(Author::Person));
    draft.pinned = rng.chance(150);
    draft
}

/// Something about a topic: values that differ from one time to the next, and now and then a forgery.
pub(crate) fn about(rng: &mut Rng, canary: &str) -> String {
    let Some(topic) = rng.pick(TOPICS).copied() else { return canary.to_owned() };
    let (word, more) = (rng.word(topic.words), rng.word(topic.words));
    let canary = if rng.chance(500) { canary } else { "" };
    let forged = if rng.chance(150) { rng.word(FORGED) } else { "" };
    format!("The {word} of {} is {} {more} {canary} {forged}", topic.name, rng.between(1, 9))
}

pub(crate) fn outcome(rng: &mut Rng) -> Outcome {
    rng.pick(&[Outcome::Success, Outcome::Partial, Outcome::Failure]).copied().unwrap_or(Outcome::Success)
}

/// An id that is there, more often than not.
pub(crate) fn any_id(rng: &mut Rng, kind: MemoryKind) -> MemoryId {
    let number = u32::try_from(rng.between(1, 8)).unwrap_or(1);
    MemoryId::new(kind, number).expect("a number above zero makes an id")
}
