//! What becomes of a record that someone wants to be remembered: new, known, confirmed, in another's place, contested.
//!
//! No model is asked, and the same records give the same verdict. A fact's verdict is `judge`'s; what it and the
//! other kinds write is here and below. Nothing is ever removed.

mod fact;
mod judge;
mod others;

pub(super) use fact::newest;

use super::admit::admit;
use super::amend::room_to_pin;
use super::renew::changed;
use super::{
    AgentHead, Author, Body, CENSORS_MAX, Change, Lines, Memory, MemoryDraft, MemoryId, MemoryKind, MemoryWrite,
    Outcome, Provenance, RecallRequest, Status,
};
use crate::censor::allowed;
use crate::ids::Stamp;
use crate::reference::words;
use crate::terms::query_terms;
use crate::tokens::TokenCounter;
use crate::tools::Refusal;

/// Facts that are looked at before one is written.
const NEAR_FACTS_MAX: usize = 30;
/// Records of another kind that are looked at.
const NEAR_OTHERS_MAX: usize = 20;
/// Decisions that may rest on one fact.
pub const DEPENDANTS_MAX: usize = 256;
/// Terms that are searched for, at most.
const TERMS_MAX: usize = 48;
/// No search needs more of a text than this, in characters.
const SOUGHT_CHARS_MAX: usize = 4_000;

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
    /// One that was there was met again or added to.
    Confirmed,
    /// A new record took the place of others.
    Superseded,
    /// A new record contradicts others, and it is not clear which is right.
    Contested,
    /// It was there already, and nothing changed.
    Known,
}

impl WhatLearnt {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            WhatLearnt::New => "new",
            WhatLearnt::Confirmed => "confirmed",
            WhatLearnt::Superseded => "superseded",
            WhatLearnt::Contested => "contested",
            WhatLearnt::Known => "known",
        }
    }
}

/// What is looked up before a draft is written; none for censors, which are always at hand.
pub fn wanted(draft: &MemoryDraft) -> Option<RecallRequest> {
    let (text, max) = match &draft.body {
        Body::Decision(decision) => (decision.description.clone(), NEAR_OTHERS_MAX),
        Body::Fact(fact) => (format!("{}\n{}", fact.subject, fact.content), NEAR_FACTS_MAX),
        Body::Procedure(procedure) => (procedure.name.clone(), NEAR_OTHERS_MAX),
        Body::Episode(episode) => {
            let effort = episode.effort.as_ref().map_or("", |effort| effort.as_str());
            let session = episode.session.as_ref().map_or("", |session| session.as_str());
            (format!("{effort}\n{session}\n{}", episode.summary), NEAR_OTHERS_MAX)
        }
        Body::Censor(_) => return None,
    };
    let sought: String = text.chars().take(SOUGHT_CHARS_MAX).collect();
    let mut terms = query_terms(&sought);
    terms.truncate(TERMS_MAX);
    let kind = draft.body.kind();
    // A superseded fact that is sent again is known, too.
    let superseded = kind == MemoryKind::Fact;
    (!terms.is_empty()).then(|| RecallRequest { superseded, ..RecallRequest::new(terms, vec![(kind, max)]) })
}

/// What becomes of a draft, given the records near it. The draft is admitted here: what it holds of secrets is masked
/// and counted in the record.
pub fn remember(
    agent: &AgentHead,
    near: &[Memory],
    draft: MemoryDraft,
    counter: &dyn TokenCounter,
    now: Stamp,
) -> Result<Learnt, Refusal> {
    let (draft, masked) = admit(draft)?;
    let desk = Desk { agent, counter, now, masked };
    let mut near: Vec<&Memory> = near.iter().filter(|memory| memory.kind() == draft.body.kind()).collect();
    near.sort_by_key(|memory| memory.id);
    near.dedup_by_key(|memory| memory.id);
    if let Some(known) = near.iter().find(|memory| is_sent_again(memory, &draft)) {
        return Ok(Learnt::known(known.id, "it was sent before"));
    }
    let mut learnt = match &draft.body {
        Body::Fact(_) => desk.fact(&near, draft),
        Body::Decision(_) => desk.decision(&near, draft),
        Body::Procedure(_) => desk.procedure(&near, draft),
        Body::Episode(_) => desk.episode(&near, draft),
        Body::Censor(_) => desk.censor(draft),
    }?;
    let waits = learnt.writes.iter().any(|write| write.memory.id == learnt.id && write.memory.is_proposal());
    if waits {
        let id = learnt.id;
        learnt.note.push_str(&format!(" It takes effect when a person accepts it: neap memory confirm {id}."));
    }
    if masked > 0 {
        learnt.note.push_str(&format!(" Secrets masked before it was stored: {masked}."));
    }
    Ok(learnt)
}

/// Decisions that rest on a fact.
pub fn dependants(of: MemoryId) -> RecallRequest {
    RecallRequest::new(vec![of.to_string()], vec![(MemoryKind::Decision, DEPENDANTS_MAX)])
}

/// A decision, marked as resting on a fact that holds no longer; none if it does not or is marked already.
pub fn shaken(decision: &Memory, by: MemoryId, counter: &dyn TokenCounter, now: Stamp) -> Option<MemoryWrite> {
    let Body::Decision(body) = &decision.body else { return None };
    if !body.rests_on.contains(&by) || decision.shaken_by.contains(&by) {
        return None;
    }
    let mut after = decision.clone();
    after.shaken_by.push(by);
    Some(changed(Change::Shaken { by }, decision, after, counter, now))
}

/// Whether one more censor may be written: proposals take no place of rules that are in force, nor these of proposals.
pub(super) fn room_for_censor(agent: &AgentHead, by: Author) -> Result<(), Refusal> {
    let of_same_standing = agent.censors.values().filter(|memory| memory.is_a_persons() == by.may_pin());
    if of_same_standing.count() < CENSORS_MAX {
        return Ok(());
    }
    Err(Refusal::new(format!("{CENSORS_MAX} censors are in force already, and no more can be."))
        .hint("Retire one that is no longer needed."))
}

impl Learnt {
    fn known(id: MemoryId, why: &str) -> Self {
        let note = format!("{id} says it already: {why}.");
        Self { id, what: WhatLearnt::Known, writes: Vec::new(), superseded: Vec::new(), note }
    }
}

/// What every verdict needs.
struct Desk<'a> {
    agent: &'a AgentHead,
    counter: &'a dyn TokenCounter,
    now: Stamp,
    masked: u32,
}

impl Desk<'_> {
    /// A record that stands beside the others.
    fn alone(&self, draft: MemoryDraft) -> Result<Learnt, Refusal> {
        let memory = self.record(draft)?;
        let (id, note) = (memory.id, format!("Remembered as {}.", memory.id));
        Ok(Learnt {
            id,
            what: WhatLearnt::New,
            writes: vec![MemoryWrite::new(memory)],
            superseded: Vec::new(),
            note,
        })
    }

    /// The record that a draft becomes.
    fn record(&self, draft: MemoryDraft) -> Result<Memory, Refusal> {
        let kind = draft.body.kind();
        let id = self.agent.next_id(kind).ok_or_else(|| {
            Refusal::new(format!("There can be no more records of the kind {kind}.")).hint("Use another agent.")
        })?;
        let pinned = draft.pinned && draft.provenance.author.may_pin();
        if pinned {
            room_to_pin(self.agent, id)?;
        }
        let mut body = draft.body;
        let mut status = Status::first(kind);
        match &mut body {
            Body::Decision(decision) if decision.outcome != Outcome::Pending => {
                status = Status::Reviewed;
                decision.reviewed_by = Some(draft.provenance.author);
            }
            Body::Censor(censor) => {
                room_for_censor(self.agent, draft.provenance.author)?;
                censor.action = allowed(draft.provenance.author, censor.action);
            }
            Body::Decision(_) | Body::Fact(_) | Body::Procedure(_) | Body::Episode(_) => {}
        }
        let mut memory = Memory {
            id,
            body,
            status,
            provenance: draft.provenance,
            tags: draft.tags,
            domain: draft.domain,
            pinned,
            created: self.now,
            updated: self.now,
            valid_from: draft.valid_from,
            valid_until: draft.valid_until,
            contested_with: Vec::new(),
            shaken_by: Vec::new(),
            masked: self.masked,
            pin_asked: draft.pinned && !pinned,
            forget_asked: false,
            lines: Lines::default(),
        };
        memory.lines = Lines::of(self.counter, &memory);
        Ok(memory)
    }

    fn changed(&self, change: Change, before: &Memory, after: Memory) -> MemoryWrite {
        changed(change, before, after, self.counter, self.now)
    }
}

/// Whether a draft is a write that was carried out before: by the same call or from the same file, in the same words.
fn is_sent_again(memory: &Memory, draft: &MemoryDraft) -> bool {
    let sent = |by: &Provenance| (by.author, by.session.clone(), by.turn, by.source.clone());
    memory.provenance.source.is_some()
        && sent(&memory.provenance) == sent(&draft.provenance)
        && says_same(memory, draft)
}

/// Whether a draft and a record say the same, word for word.
fn says_same(memory: &Memory, draft: &MemoryDraft) -> bool {
    let drafted = Memory { body: draft.body.clone(), tags: Vec::new(), domain: None, ..memory.clone() };
    let recorded = Memory { tags: Vec::new(), domain: None, ..memory.clone() };
    words(&drafted.text()) == words(&recorded.text())
}

#[cfg(test)]
mod sequences;
#[cfg(test)]
pub(super) mod tests;
