//! A change of a record's words and fields by hand.

use super::super::validation::validate_draft;
use super::super::writes::{memory_write, with_transitions};
use super::super::{
    AgentHead, Author, Body, Censor, Change, Decision, Episode, Fact, Memory, MemoryDraft, Procedure,
};
use super::{WriteResult, check_pin_limit, raise_trust};
use crate::base::ids::Stamp;
use crate::base::project_id::ProjectId;
use crate::base::refusal::Refusal;
use crate::base::tokens::TokenCounter;

/// Fields an edit changes; `None` leaves a field as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Nobody may edit a record of a more trusted author.
    pub author: Author,
    /// Counts, outcomes and supersession stay as they are.
    pub body: Option<Body>,
    pub tags: Option<Vec<String>>,
    /// `Some(None)` makes it the person's.
    pub project: Option<Option<ProjectId>>,
    /// `Some(None)` removes it.
    pub domain: Option<Option<String>>,
    pub pinned: Option<bool>,
    /// Replaces both ends of the validity.
    pub valid: Option<(Option<Stamp>, Option<Stamp>)>,
}

impl Edit {
    pub fn new(by: Author) -> Self {
        Self { author: by, body: None, tags: None, project: None, domain: None, pinned: None, valid: None }
    }
}

pub fn edit(
    agent: &AgentHead,
    memory: &Memory,
    edit: Edit,
    counter: &dyn TokenCounter,
    now: Stamp,
) -> WriteResult {
    if edit.author.trust() < memory.provenance.trust {
        return Err(Refusal::new(format!("{} was written by someone more trusted.", memory.id))
            .hint("Remember what you know beside it, or ask the person to edit it."));
    }
    let mut wanted = edit.body.unwrap_or_else(|| memory.body.clone());
    if let Body::Fact(fact) = &mut wanted {
        fact.superseded_by = None;
    }
    if wanted.kind() != memory.kind() {
        return Err(Refusal::new(format!("{} is a {} and stays one.", memory.id, memory.kind()))
            .hint(format!("Remember a new {} instead.", wanted.kind())));
    }
    let (valid_from, valid_until) = edit.valid.unwrap_or((memory.valid_from, memory.valid_until));
    let draft = MemoryDraft {
        body: wanted,
        tags: edit.tags.unwrap_or_else(|| memory.tags.clone()),
        project: edit.project.unwrap_or_else(|| memory.project.clone()),
        domain: edit.domain.unwrap_or_else(|| memory.domain.clone()),
        pinned: edit.pinned.unwrap_or(memory.pinned),
        valid_from,
        valid_until,
        provenance: memory.provenance.clone(),
        sent: None,
    };
    let (draft, masked) = validate_draft(draft)?;
    let mut after = memory.clone();
    if draft.pinned && !memory.pinned {
        let is_decided = edit.author.may_pin();
        if is_decided {
            check_pin_limit(agent, memory.id)?;
        }
        (after.pinned, after.pin_asked) = (is_decided, !is_decided);
    } else if edit.pinned == Some(false) {
        (after.pinned, after.pin_asked) = (false, false);
    }
    after.body = with_counts_of(&memory.body, draft.body);
    (after.tags, after.project, after.domain) = (draft.tags, draft.project, draft.domain);
    (after.valid_from, after.valid_until) = (draft.valid_from, draft.valid_until);
    after.masked = after.masked.saturating_add(masked);
    raise_trust(&mut after, edit.author);
    Ok(with_transitions(memory_write(Change::Edited, memory, after, counter, now), counter, now))
}

/// An edit cannot change counts.
fn with_counts_of(before: &Body, wanted: Body) -> Body {
    match (before, wanted) {
        (Body::Decision(old), Body::Decision(new)) => Body::Decision(Decision {
            outcome: old.outcome,
            outcome_notes: old.outcome_notes.clone(),
            reviewed_by: old.reviewed_by,
            ..new
        }),
        (Body::Fact(old), Body::Fact(new)) => Body::Fact(Fact {
            confirmations: old.confirmations,
            last_confirmed: old.last_confirmed,
            last_confirmed_by: old.last_confirmed_by.clone(),
            superseded_by: old.superseded_by,
            ..new
        }),
        (Body::Procedure(old), Body::Procedure(new)) => Body::Procedure(Procedure {
            activations: old.activations,
            successes: old.successes,
            failures: old.failures,
            ..new
        }),
        (Body::Episode(old), Body::Episode(new)) => Body::Episode(Episode {
            detail_at: old.detail_at,
            session: old.session.clone(),
            effort: old.effort.clone(),
            ..new
        }),
        (Body::Censor(old), Body::Censor(new)) => {
            Body::Censor(Censor { triggers: old.triggers, false_positives: old.false_positives, ..new })
        }
        (Body::Decision(_) | Body::Fact(_) | Body::Procedure(_) | Body::Episode(_) | Body::Censor(_), wanted) => {
            wanted
        }
    }
}
