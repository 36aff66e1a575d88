//! Decides what a draft becomes: a new record, a known one, a confirmation, a replacement or a contested fact.
//!
//! The verdict uses no model and is deterministic. `judge` compares facts; the other kinds follow simpler rules.
//! Nothing is ever deleted.

mod fact;
mod judge;
mod other_kinds;

pub(super) use fact::truncate_to_newest;

use super::amend::check_pin_limit;
use super::validation::validate_draft;
use super::writes::memory_write;
use super::{
    AgentHead, Author, Body, CENSORS_MAX, Change, Memory, MemoryDraft, MemoryId, MemoryKind, MemoryWrite, Outcome,
    Provenance, RecallRequest, RenderedMemory, Status,
};
use crate::base::ids::Stamp;
use crate::base::refusal::Refusal;
use crate::base::tokens::TokenCounter;
use crate::memory::censor::cap_action;
use crate::recall::ProjectFilter;
use crate::text::reference::folded_words;
use crate::text::terms::query_terms;

const SIMILAR_FACTS_MAX: usize = 30;
const SIMILAR_OTHERS_MAX: usize = 20;
/// Decisions returned that rest on one fact.
pub const DEPENDANTS_MAX: usize = 256;
const TERMS_MAX: usize = 48;
/// Characters of a draft used for the lookup query.
const QUERY_CHARS_MAX: usize = 4_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RememberPlan {
    /// The record that now holds the statement.
    pub id: MemoryId,
    pub outcome: DraftOutcome,
    /// In write order; empty if nothing changes.
    pub writes: Vec<MemoryWrite>,
    /// Facts it replaced; [`dependants_request`] finds the decisions that rest on them.
    pub superseded: Vec<MemoryId>,
    /// Message for the author.
    pub note: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DraftOutcome {
    /// A new record beside the others.
    New,
    /// An existing record was confirmed or extended.
    Confirmed,
    Superseded,
    /// A new record contradicts others, with no clear winner.
    Contested,
    /// Already recorded; nothing changed.
    Known,
}

impl DraftOutcome {
    pub fn as_str(self) -> &'static str {
        match self {
            DraftOutcome::New => "new",
            DraftOutcome::Confirmed => "confirmed",
            DraftOutcome::Superseded => "superseded",
            DraftOutcome::Contested => "contested",
            DraftOutcome::Known => "known",
        }
    }
}

/// The lookup to run before a draft is written; `None` for censors, which the agent's head holds.
pub fn lookup_request(draft: &MemoryDraft) -> Option<RecallRequest> {
    let (text, max) = match &draft.body {
        Body::Decision(decision) => (decision.description.clone(), SIMILAR_OTHERS_MAX),
        Body::Fact(fact) => (format!("{}\n{}", fact.subject, fact.content), SIMILAR_FACTS_MAX),
        Body::Procedure(procedure) => (procedure.name.clone(), SIMILAR_OTHERS_MAX),
        Body::Episode(episode) => {
            let effort = episode.effort.as_ref().map_or("", |effort| effort.as_str());
            let session = episode.session.as_ref().map_or("", |session| session.as_str());
            (format!("{effort}\n{session}\n{}", episode.summary), SIMILAR_OTHERS_MAX)
        }
        Body::Censor(_) => return None,
    };
    let text: String = text.chars().take(QUERY_CHARS_MAX).collect();
    let mut terms = query_terms(&text);
    terms.truncate(TERMS_MAX);
    let kind = draft.body.kind();
    // A resent draft may match a fact that has been superseded since.
    let superseded = kind == MemoryKind::Fact;
    if terms.is_empty() {
        return None;
    }
    // Those of other projects are found as well, and left out afterwards.
    let scope = draft.project.clone().map(ProjectFilter::Only);
    let request = RecallRequest { superseded, ..RecallRequest::new(terms, vec![(kind, max)]) };
    Some(request.asked_in(scope.as_ref()))
}

/// Validates a draft, masks its secrets, and plans the writes, given similar records.
pub fn remember(
    agent: &AgentHead,
    similar: &[Memory],
    draft: MemoryDraft,
    counter: &dyn TokenCounter,
    now: Stamp,
) -> Result<RememberPlan, Refusal> {
    if let Some((id, is_same)) = draft.sent.and_then(|sent| sent.find(&agent.used_keys)) {
        return match is_same {
            true => Ok(RememberPlan::already_known(id, "it was sent before")),
            false => Err(Refusal::new(format!("This key was used for another memory, {id}."))
                .hint("Nothing was stored; use a new key for a new memory.")
                .conflict()),
        };
    }
    let sent = draft.sent;
    let (draft, masked) = validate_draft(draft)?;
    let context = RememberContext { agent, counter, now, masked };
    let is_comparable =
        |memory: &&Memory| memory.kind() == draft.body.kind() && memory.shares_scope(draft.project.as_ref());
    let mut similar: Vec<&Memory> = similar.iter().filter(is_comparable).collect();
    similar.sort_by_key(|memory| memory.id);
    similar.dedup_by_key(|memory| memory.id);
    if let Some(known) = similar.iter().find(|memory| is_resend(memory, &draft)) {
        return Ok(RememberPlan::already_known(known.id, "it was sent before"));
    }
    let mut plan = match &draft.body {
        Body::Fact(_) => context.plan_fact(&similar, draft),
        Body::Decision(_) => context.plan_decision(&similar, draft),
        Body::Procedure(_) => context.plan_procedure(&similar, draft),
        Body::Episode(_) => context.plan_episode(&similar, draft),
        Body::Censor(_) => context.plan_censor(draft),
    }?;
    for write in plan.writes.iter_mut().filter(|write| write.memory.id == plan.id) {
        write.sent = sent;
    }
    let waits = plan.writes.iter().any(|write| write.memory.id == plan.id && write.memory.is_proposal());
    if waits {
        let id = plan.id;
        plan.note.push_str(&format!(" It takes effect when a person accepts it: neap memory confirm {id}."));
    }
    if masked > 0 {
        plan.note.push_str(&format!(" Secrets masked before it was stored: {masked}."));
    }
    Ok(plan)
}

pub fn dependants_request(fact: MemoryId) -> RecallRequest {
    RecallRequest::new(vec![fact.to_string()], vec![(MemoryKind::Decision, DEPENDANTS_MAX)])
}

/// Marks a decision that rests on a superseded fact; `None` if it does not, or is marked already.
pub fn mark_shaken(
    decision: &Memory,
    by: MemoryId,
    counter: &dyn TokenCounter,
    now: Stamp,
) -> Option<MemoryWrite> {
    let Body::Decision(body) = &decision.body else { return None };
    if !body.rests_on.contains(&by) || decision.shaken_by.contains(&by) {
        return None;
    }
    let mut after = decision.clone();
    after.shaken_by.push(by);
    Some(memory_write(Change::Shaken { by }, decision, after, counter, now))
}

/// Proposals and approved censors have separate limits, so neither can crowd out the other.
pub(super) fn check_censor_limit(agent: &AgentHead, by: Author) -> Result<(), Refusal> {
    let peers = agent.censors.values().filter(|memory| memory.is_person_approved() == by.may_pin());
    if peers.count() < CENSORS_MAX {
        return Ok(());
    }
    Err(Refusal::new(format!("{CENSORS_MAX} censors are in force already, and no more can be."))
        .hint("Retire one that is no longer needed."))
}

impl RememberPlan {
    fn already_known(id: MemoryId, why: &str) -> Self {
        let note = format!("{id} says it already: {why}.");
        Self { id, outcome: DraftOutcome::Known, writes: Vec::new(), superseded: Vec::new(), note }
    }
}

struct RememberContext<'a> {
    agent: &'a AgentHead,
    counter: &'a dyn TokenCounter,
    now: Stamp,
    masked: u32,
}

impl RememberContext<'_> {
    fn plan_new(&self, draft: MemoryDraft) -> Result<RememberPlan, Refusal> {
        let memory = self.build_record(draft)?;
        let (id, note) = (memory.id, format!("Remembered as {}.", memory.id));
        Ok(RememberPlan {
            id,
            outcome: DraftOutcome::New,
            writes: vec![MemoryWrite::new(memory)],
            superseded: Vec::new(),
            note,
        })
    }

    fn build_record(&self, draft: MemoryDraft) -> Result<Memory, Refusal> {
        let kind = draft.body.kind();
        let id = self.agent.next_id(kind).ok_or_else(|| {
            Refusal::new(format!("There can be no more records of the kind {kind}.")).hint("Use another agent.")
        })?;
        let pinned = draft.pinned && draft.provenance.author.may_pin();
        if pinned {
            check_pin_limit(self.agent, id)?;
        }
        let mut body = draft.body;
        let mut status = Status::initial(kind);
        match &mut body {
            Body::Decision(decision) if decision.outcome != Outcome::Pending => {
                status = Status::Reviewed;
                decision.reviewed_by = Some(draft.provenance.author);
            }
            Body::Censor(censor) => {
                check_censor_limit(self.agent, draft.provenance.author)?;
                censor.action = cap_action(draft.provenance.author, censor.action);
            }
            Body::Decision(_) | Body::Fact(_) | Body::Procedure(_) | Body::Episode(_) => {}
        }
        let mut memory = Memory {
            id,
            body,
            status,
            provenance: draft.provenance,
            tags: draft.tags,
            project: draft.project,
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
            lines: RenderedMemory::default(),
        };
        memory.lines = RenderedMemory::render(self.counter, &memory);
        Ok(memory)
    }

    fn memory_write(&self, change: Change, before: &Memory, after: Memory) -> MemoryWrite {
        memory_write(change, before, after, self.counter, self.now)
    }
}

/// Whether the draft repeats an earlier write: same call or source file, same words.
fn is_resend(memory: &Memory, draft: &MemoryDraft) -> bool {
    let origin = |by: &Provenance| (by.author, by.session.clone(), by.turn, by.source.clone());
    memory.provenance.source.is_some()
        && origin(&memory.provenance) == origin(&draft.provenance)
        && has_same_text(memory, draft)
}

fn has_same_text(memory: &Memory, draft: &MemoryDraft) -> bool {
    let drafted = Memory { body: draft.body.clone(), tags: Vec::new(), domain: None, ..memory.clone() };
    let recorded = Memory { tags: Vec::new(), domain: None, ..memory.clone() };
    folded_words(&drafted.search_text()) == folded_words(&recorded.search_text())
}

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod sequences;
#[cfg(test)]
pub(super) mod tests;
