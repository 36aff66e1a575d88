//! The agents of a run, and what people teach them.

use neap_core::base::ids::AgentId;
use neap_core::memory::knowledge::{AgentProfile, Placement};
use neap_core::memory::learn::{Amendment, MemoryCommand};
use neap_core::memory::{
    Author, Body, Censor, CensorAction, CensorPattern, CensorSide, Confidence, Decision, Fact, MemoryDraft,
    MemoryId, MemoryKind, Outcome, Procedure, Provenance, Stakes,
};
use neap_engine::{Engine, EngineError};

use crate::rng::Rng;
use crate::words::{FILLER, FORGED, NASTY, TOPICS};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentAssignment {
    None,
    Shared,
    Own,
}

#[derive(Debug, Clone)]
pub struct SimAgent {
    pub id: AgentId,
    /// A word that only this agent's memories contain.
    pub canary: String,
    /// Whether it has only one session: then it may remember what was said there.
    pub is_own: bool,
    pub profile: AgentProfile,
}

impl AgentAssignment {
    /// Chosen by seed; two in seven have no agent.
    pub(crate) fn of(seed: u64, rng: &Rng) -> Self {
        match seed % 7 {
            3 | 5 => AgentAssignment::None,
            _ if rng.fork("agents").chance(650) => AgentAssignment::Shared,
            _ => AgentAssignment::Own,
        }
    }

    pub(crate) fn of_session(self, session: &str, rng: &Rng) -> Option<SimAgent> {
        let name = match self {
            AgentAssignment::None => return None,
            AgentAssignment::Shared => "newton".to_owned(),
            AgentAssignment::Own => format!("agent of {session}"),
        };
        let id = AgentId::from_name(&name).ok()?;
        let mut rng = rng.fork("outlook");
        let identity = if rng.chance(500) { "You are Newton, who keeps things in order." } else { "" };
        let placement = if rng.chance(750) { Placement::System } else { Placement::Tail };
        let profile = AgentProfile { identity: identity.to_owned(), placement, ..AgentProfile::default() };
        let canary = format!("yw{}wy", id.as_str().replace('-', ""));
        Some(SimAgent { id, canary, is_own: self == AgentAssignment::Own, profile })
    }
}

/// A person changes or queries an agent's memory, outside any session.
pub(crate) async fn run_person_command(engine: &Engine, rng: &mut Rng, canary: &str) -> Result<(), EngineError> {
    let Some(mut agent) = engine.agent().await? else { return Ok(()) };
    agent.run_command(random_command(rng, canary)).await?;
    Ok(())
}

fn random_command(rng: &mut Rng, canary: &str) -> MemoryCommand {
    let kinds = MemoryKind::ALL;
    let kind = rng.pick(&kinds).copied().unwrap_or(MemoryKind::Fact);
    match rng.below(12) {
        0..=6 => MemoryCommand::Remember(Box::new(random_draft(rng, canary))),
        7 => MemoryCommand::Sweep,
        8 => {
            let (query, superseded) = (random_statement(rng, canary), rng.chance(500));
            MemoryCommand::Recall {
                query,
                kinds: Vec::new(),
                time: None,
                project: None,
                superseded,
                lists: rng.chance(500),
                max: 12,
            }
        }
        _ => {
            let how = match rng.below(9) {
                0 => Amendment::Confirm,
                1 | 2 => Amendment::Review { outcome: random_outcome(rng), notes: rng.word(NASTY).to_owned() },
                3 => Amendment::Undo,
                4 => Amendment::Deactivate,
                5 => Amendment::Retire,
                6 => Amendment::MarkCore,
                7 => Amendment::FalsePositive,
                _ => Amendment::Activate { succeeded: Some(rng.chance(500)) },
            };
            // Nobody confirms a censor that a model proposed, so none of them is ever in force.
            let kind = if how == Amendment::Confirm { MemoryKind::Fact } else { kind };
            MemoryCommand::Amend { id: random_id(rng, kind), how, by: Provenance::from_author(Author::Person) }
        }
    }
}

fn random_draft(rng: &mut Rng, canary: &str) -> MemoryDraft {
    let text = random_statement(rng, canary);
    let confidence = Confidence::try_from(rng.below(101) as f64 / 100.0).expect("between 0 and 1");
    let body = match rng.below(10) {
        0..=4 => Body::Fact(Fact::new(rng.pick(TOPICS).map_or("", |topic| topic.name), text, confidence)),
        5 | 6 => Body::Decision(Decision {
            stakes: Stakes::High,
            rests_on: vec![random_id(rng, MemoryKind::Fact)],
            ..Decision::new(text, confidence)
        }),
        7 => Body::Procedure(Procedure {
            core_patterns: vec![rng.word(FORGED).to_owned(), random_statement(rng, canary)],
            ..Procedure::new(text)
        }),
        _ => {
            let sides = [CensorSide::Output, CensorSide::Output, CensorSide::Input, CensorSide::ToolCall];
            let actions = [CensorAction::Refuse, CensorAction::Refuse, CensorAction::Steer, CensorAction::Abort];
            let pattern = CensorPattern::Words(rng.word(&FILLER[20..]).to_owned());
            let side = rng.pick(&sides).copied().unwrap_or(CensorSide::Output);
            let action = rng.pick(&actions).copied().unwrap_or(CensorAction::Steer);
            let reason = format!("[agreed] {canary}] {}", rng.word(FORGED));
            Body::Censor(Censor::new(pattern, side, action, reason))
        }
    };
    let mut draft = MemoryDraft::new(body, Provenance::from_author(Author::Person));
    draft.pinned = rng.chance(150);
    draft
}

/// A statement about a topic: its values vary, and now and then it contains a forgery.
pub(crate) fn random_statement(rng: &mut Rng, canary: &str) -> String {
    let Some(topic) = rng.pick(TOPICS).copied() else { return canary.to_owned() };
    let (word, more) = (rng.word(topic.words), rng.word(topic.words));
    let canary = if rng.chance(500) { canary } else { "" };
    let forged = if rng.chance(150) { rng.word(FORGED) } else { "" };
    format!("The {word} of {} is {} {more} {canary} {forged}", topic.name, rng.between(1, 9))
}

pub(crate) fn random_outcome(rng: &mut Rng) -> Outcome {
    rng.pick(&[Outcome::Success, Outcome::Partial, Outcome::Failure]).copied().unwrap_or(Outcome::Success)
}

/// An id that exists more often than not.
pub(crate) fn random_id(rng: &mut Rng, kind: MemoryKind) -> MemoryId {
    let number = u32::try_from(rng.between(1, 8)).unwrap_or(1);
    MemoryId::new(kind, number).expect("a number above zero makes an id")
}
