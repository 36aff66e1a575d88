//! Propagates changes of facts to the facts that contradict them and the decisions that rest on them.

use std::collections::{BTreeMap, BTreeSet};

use super::{LearnContext, MemoryResponse};
use crate::memory::amend::{contest, settle, supersede_by};
use crate::memory::{DEPENDANTS_MAX, Memory, MemoryId, MemoryKind, MemoryWrite, mark_shaken};

/// Decisions flagged per fact.
const FLAGGED_MAX: usize = 64;

/// Writes that are completed before they are committed.
#[derive(Debug)]
pub(super) struct Propagation {
    writes: Vec<MemoryWrite>,
    answer: Box<MemoryResponse>,
    /// A fact that a person confirmed: facts that contradict it give way.
    upheld: Option<MemoryId>,
    /// Affected records, as stored.
    loaded: BTreeMap<MemoryId, Memory>,
    requested: BTreeSet<MemoryId>,
    /// Facts no longer current (true) or current again (false), with dependants still to be looked up.
    pending_dependants: Option<Vec<(MemoryId, bool)>>,
    note: String,
}

pub(super) enum PropagationStep {
    Records(Vec<MemoryId>),
    Dependants(MemoryId),
    Commit(Vec<MemoryWrite>, Box<MemoryResponse>),
}

impl Propagation {
    pub(super) fn new(writes: Vec<MemoryWrite>, answer: Box<MemoryResponse>, upheld: Option<MemoryId>) -> Self {
        let (loaded, requested, note) = (BTreeMap::new(), BTreeSet::new(), String::new());
        Self { writes, answer, upheld, loaded, requested, pending_dependants: None, note }
    }

    /// Takes the records requested, or the dependants of a fact.
    pub(super) fn receive(&mut self, context: &LearnContext<'_>, found: Vec<Memory>) {
        match &mut self.pending_dependants {
            None => self.loaded.extend(found.into_iter().map(|memory| (memory.id, memory))),
            Some(pending) => {
                if let Some((fact, fell)) = pending.pop() {
                    self.flag_dependants(context, fact, fell, &found);
                }
            }
        }
    }

    pub(super) fn next(mut self, context: &LearnContext<'_>) -> (Option<Self>, PropagationStep) {
        if self.pending_dependants.is_none() {
            let missing = self.missing_records();
            if !missing.is_empty() {
                self.requested.extend(missing.iter().copied());
                return (Some(self), PropagationStep::Records(missing));
            }
            if let Some(upheld) = self.upheld.take() {
                self.supersede_contested(context, upheld);
                return self.next(context);
            }
            self.pending_dependants = Some(self.sync_contested(context));
        }
        if let Some((fact, _)) = self.pending_dependants.as_ref().and_then(|pending| pending.last()) {
            let fact = *fact;
            return (Some(self), PropagationStep::Dependants(fact));
        }
        if let MemoryResponse::Changed { memory, .. } = &mut *self.answer
            && let Some(last) = self.writes.iter().rev().find(|write| write.memory.id == memory.id)
        {
            **memory = last.memory.clone();
        }
        self.answer.add_note(&self.note);
        (None, PropagationStep::Commit(self.writes, self.answer))
    }

    fn latest(&self, id: MemoryId) -> Option<&Memory> {
        let written = self.writes.iter().rev().map(|write| &write.memory).find(|memory| memory.id == id);
        written.or_else(|| self.loaded.get(&id))
    }

    /// The changed facts: whether each was current before, and whether it is now.
    fn fact_changes(&self) -> BTreeMap<MemoryId, (bool, bool)> {
        let mut facts = BTreeMap::new();
        for write in self.writes.iter().filter(|write| write.memory.kind() == MemoryKind::Fact) {
            let is = write.memory.status.is_current();
            let was = write.previous.as_ref().map_or(is, |was| was.status.is_current());
            facts.entry(write.memory.id).and_modify(|(_, now)| *now = is).or_insert((was, is));
        }
        facts
    }

    /// Records that contradict the changed facts and are not loaded yet.
    fn missing_records(&self) -> Vec<MemoryId> {
        let changed = self.fact_changes().into_iter().filter(|(_, (was, is))| was != is).map(|(id, _)| id);
        let contested: BTreeSet<MemoryId> = changed
            .chain(self.upheld)
            .filter_map(|id| self.latest(id))
            .flat_map(|memory| memory.contested_with.iter().copied())
            .collect();
        contested.into_iter().filter(|id| !self.requested.contains(id) && self.latest(*id).is_none()).collect()
    }

    /// Supersedes the facts that contradict the one a person confirmed.
    fn supersede_contested(&mut self, context: &LearnContext<'_>, upheld: MemoryId) {
        let contested = self.latest(upheld).map_or_else(Vec::new, |memory| memory.contested_with.clone());
        for id in contested {
            let other = self.latest(id).filter(|other| other.status.is_current());
            if let Some(write) = other.and_then(|other| supersede_by(other, upheld, context.counter, context.now))
            {
                self.note.push_str(&format!(" {id} gave way to it."));
                self.answer.add_superseded(id);
                self.writes.push(write);
            }
        }
    }

    /// Makes contradicting facts list each other only while both are current; returns the facts that changed.
    fn sync_contested(&mut self, context: &LearnContext<'_>) -> Vec<(MemoryId, bool)> {
        let facts = self.fact_changes();
        let fell: Vec<MemoryId> =
            facts.iter().filter(|(_, turn)| **turn == (true, false)).map(|(id, _)| *id).collect();
        let rose: Vec<MemoryId> =
            facts.iter().filter(|(_, turn)| **turn == (false, true)).map(|(id, _)| *id).collect();
        for id in &fell {
            for other in self.latest(*id).map_or_else(Vec::new, |memory| memory.contested_with.clone()) {
                let write = self.latest(other).and_then(|other| settle(other, *id, context.counter, context.now));
                self.writes.extend(write);
            }
        }
        for id in &rose {
            for other in self.latest(*id).map_or_else(Vec::new, |memory| memory.contested_with.clone()) {
                let write = match self.latest(other).filter(|other| other.status.is_current()) {
                    Some(other) => contest(other, *id, context.counter, context.now),
                    None => self.latest(*id).and_then(|mine| settle(mine, other, context.counter, context.now)),
                };
                self.writes.extend(write);
            }
        }
        fell.into_iter().map(|id| (id, true)).chain(rose.into_iter().map(|id| (id, false))).collect()
    }

    /// Flags decisions that rest on a fact no longer current, or clears the flag.
    fn flag_dependants(&mut self, context: &LearnContext<'_>, fact: MemoryId, fell: bool, found: &[Memory]) {
        let change = if fell { mark_shaken } else { settle };
        let touched: Vec<MemoryWrite> = found
            .iter()
            .map(|decision| self.latest(decision.id).unwrap_or(decision))
            .filter_map(|decision| change(decision, fact, context.counter, context.now))
            .collect();
        let more = touched.len().saturating_sub(FLAGGED_MAX);
        if more > 0 {
            let at_least = if found.len() >= DEPENDANTS_MAX { "At least " } else { "" };
            let flag = if fell { "are not flagged" } else { "stay flagged" };
            self.note.push_str(&format!(" {at_least}{more} more decisions that rest on {fact} {flag}."));
        }
        self.writes.extend(touched.into_iter().take(FLAGGED_MAX));
    }
}
