//! What becomes of a record that someone wants to be remembered: new, known, confirmed, in another's place, contested.

use super::admit::admit;
use super::{
    AgentHead, Body, CENSORS_MAX, Lines, Memory, MemoryDraft, MemoryId, MemoryKind, MemoryWrite, Outcome,
    RecallRequest, Status,
};
use crate::ids::Stamp;
use crate::tokens::TokenCounter;
use crate::tools::Refusal;

/// What was learnt, and what is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Learnt {
    /// The record that now says it.
    pub id: MemoryId,
    /// What became of it.
    pub what: WhatLearnt,
    /// In the order in which they are written; none if nothing changes.
    pub writes: Vec<MemoryWrite>,
    /// Facts whose place it took: decisions that rest on them are looked for with [`dependants`].
    pub superseded: Vec<MemoryId>,
    /// In words, for whoever wrote it.
    pub note: String,
}

/// What became of a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WhatLearnt {
    /// A new record stands beside the others.
    New,
    /// One that was there was met again.
    Confirmed,
    /// A new record took the place of others.
    Superseded,
    /// A new record contradicts others, and it is not clear which is right.
    Contested,
    /// It was there already, and nothing of note changed.
    Known,
}

/// What is looked up before a draft is written; none where nothing need be.
pub fn wanted(draft: &MemoryDraft) -> Option<RecallRequest> {
    let _ = draft;
    None
}

/// What becomes of an admitted draft, given the records near it.
pub fn remember(
    agent: &AgentHead,
    near: &[Memory],
    draft: MemoryDraft,
    counter: &dyn TokenCounter,
    now: Stamp,
) -> Result<Learnt, Refusal> {
    let _ = near;
    let memory = written(agent, draft, counter, now)?;
    let (id, note) = (memory.id, format!("{} is remembered.", memory.id));
    Ok(Learnt { id, what: WhatLearnt::New, writes: vec![MemoryWrite::new(memory)], superseded: Vec::new(), note })
}

/// The record that a draft becomes.
fn written(
    agent: &AgentHead,
    draft: MemoryDraft,
    counter: &dyn TokenCounter,
    now: Stamp,
) -> Result<Memory, Refusal> {
    let (draft, masked) = admit(draft)?;
    let kind = draft.body.kind();
    let id =
        agent.next_id(kind).ok_or_else(|| Refusal::new(format!("There can be no more of the kind {kind}.")))?;
    if kind == MemoryKind::Censor {
        room_for_censor(agent, None)?;
    }
    if draft.pinned {
        super::amend::room_to_pin(agent, id)?;
    }
    let status = match &draft.body {
        Body::Decision(decision) if decision.outcome != Outcome::Pending => Status::Reviewed,
        Body::Decision(_) | Body::Fact(_) | Body::Procedure(_) | Body::Episode(_) | Body::Censor(_) => {
            Status::first(kind)
        }
    };
    let mut memory = Memory {
        id,
        body: draft.body,
        status,
        provenance: draft.provenance,
        tags: draft.tags,
        domain: draft.domain,
        pinned: draft.pinned,
        created: now,
        updated: now,
        valid_from: draft.valid_from,
        valid_until: draft.valid_until,
        contested_with: Vec::new(),
        shaken_by: Vec::new(),
        masked,
        forget_asked: false,
        lines: Lines::default(),
    };
    memory.lines = Lines::of(counter, &memory);
    Ok(memory)
}

/// Whether one more censor may be in force.
pub(super) fn room_for_censor(agent: &AgentHead, id: Option<MemoryId>) -> Result<(), Refusal> {
    if id.is_some_and(|id| agent.censors.contains_key(&id)) || agent.censors.len() < CENSORS_MAX {
        return Ok(());
    }
    Err(Refusal::new(format!("{CENSORS_MAX} censors are in force already, and no more can be."))
        .hint("Retire one that is no longer needed."))
}

/// Decisions that rest on a fact.
pub fn dependants(of: MemoryId) -> RecallRequest {
    RecallRequest::new(vec![of.to_string()], vec![(MemoryKind::Decision, 256)])
}

/// A decision, marked as resting on a fact that holds no longer; none if it does not or is marked already.
pub fn shaken(decision: &Memory, by: MemoryId, counter: &dyn TokenCounter, now: Stamp) -> Option<MemoryWrite> {
    let super::Body::Decision(body) = &decision.body else { return None };
    if !body.rests_on.contains(&by) || decision.shaken_by.contains(&by) {
        return None;
    }
    let mut after = decision.clone();
    after.shaken_by.push(by);
    Some(super::renew::changed(super::Change::Shaken { by }, decision, after, counter, now))
}
