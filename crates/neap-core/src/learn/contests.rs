//! What a change of one fact does to others: to those that it contradicts, and to decisions that rest on it.

use std::collections::{BTreeMap, BTreeSet};

use super::{AgentDesk, Answer};
use crate::memory::amend::{contests, gives_way, settles};
use crate::memory::{DEPENDANTS_MAX, Memory, MemoryId, MemoryKind, MemoryWrite, shaken};

/// Decisions that may rest on one fact and are flagged with it.
const FLAGGED_MAX: usize = 64;

/// Changes on their way to a commit.
#[derive(Debug)]
pub(super) struct Settling {
    writes: Vec<MemoryWrite>,
    answer: Box<Answer>,
    /// A fact of which a person said that it holds: what contradicts it gives way.
    holds: Option<MemoryId>,
    /// Records that are touched by what is written, as they are in the store.
    known: BTreeMap<MemoryId, Memory>,
    asked: BTreeSet<MemoryId>,
    /// Facts that fell (true) or hold again, whose dependants are still to be looked up.
    resting: Option<Vec<(MemoryId, bool)>>,
    note: String,
}

/// What is needed next.
pub(super) enum Needed {
    /// These records.
    Records(Vec<MemoryId>),
    /// Decisions that rest on this fact.
    Dependants(MemoryId),
    /// A commit.
    Commit(Vec<MemoryWrite>, Box<Answer>),
}

impl Settling {
    pub(super) fn new(writes: Vec<MemoryWrite>, answer: Box<Answer>, holds: Option<MemoryId>) -> Self {
        let (known, asked, note) = (BTreeMap::new(), BTreeSet::new(), String::new());
        Self { writes, answer, holds, known, asked, resting: None, note }
    }

    /// What came: records that were asked for, or decisions that rest on a fact.
    pub(super) fn take(&mut self, desk: &AgentDesk<'_>, found: Vec<Memory>) {
        match &mut self.resting {
            None => self.known.extend(found.into_iter().map(|memory| (memory.id, memory))),
            Some(resting) => {
                if let Some((fact, fell)) = resting.pop() {
                    self.rest(desk, fact, fell, &found);
                }
            }
        }
    }

    /// Goes on as far as it can.
    pub(super) fn next(mut self, desk: &AgentDesk<'_>) -> (Option<Self>, Needed) {
        if self.resting.is_none() {
            let missing = self.missing();
            if !missing.is_empty() {
                self.asked.extend(missing.iter().copied());
                return (Some(self), Needed::Records(missing));
            }
            if let Some(holds) = self.holds.take() {
                self.give_way(desk, holds);
                return self.next(desk);
            }
            self.resting = Some(self.agree(desk));
        }
        if let Some((fact, _)) = self.resting.as_ref().and_then(|resting| resting.last()) {
            let fact = *fact;
            return (Some(self), Needed::Dependants(fact));
        }
        if let Answer::Changed { memory, .. } = &mut *self.answer
            && let Some(last) = self.writes.iter().rev().find(|write| write.memory.id == memory.id)
        {
            **memory = last.memory.clone();
        }
        self.answer.add_note(&self.note);
        (None, Needed::Commit(self.writes, self.answer))
    }

    fn latest(&self, id: MemoryId) -> Option<&Memory> {
        let written = self.writes.iter().rev().map(|write| &write.memory).find(|memory| memory.id == id);
        written.or_else(|| self.known.get(&id))
    }

    /// The facts among the changes: whether each held before, and whether it does now.
    fn facts(&self) -> BTreeMap<MemoryId, (bool, bool)> {
        let mut facts = BTreeMap::new();
        for write in self.writes.iter().filter(|write| write.memory.kind() == MemoryKind::Fact) {
            let is = write.memory.status.is_current();
            let was = write.was.as_ref().map_or(is, |was| was.status.is_current());
            facts.entry(write.memory.id).and_modify(|(_, now)| *now = is).or_insert((was, is));
        }
        facts
    }

    /// Records that what is written names as contradicting it, and that are not at hand.
    fn missing(&self) -> Vec<MemoryId> {
        let turned = self.facts().into_iter().filter(|(_, (was, is))| was != is).map(|(id, _)| id);
        let named: BTreeSet<MemoryId> = turned
            .chain(self.holds)
            .filter_map(|id| self.latest(id))
            .flat_map(|memory| memory.contested_with.iter().copied())
            .collect();
        named.into_iter().filter(|id| !self.asked.contains(id) && self.latest(*id).is_none()).collect()
    }

    /// A person said which of the contradicting facts holds.
    fn give_way(&mut self, desk: &AgentDesk<'_>, to: MemoryId) {
        let named = self.latest(to).map_or_else(Vec::new, |memory| memory.contested_with.clone());
        for id in named {
            let other = self.latest(id).filter(|other| other.status.is_current());
            if let Some(write) = other.and_then(|other| gives_way(other, to, desk.counter, desk.now)) {
                self.note.push_str(&format!(" {id} gave way to it."));
                self.answer.add_superseded(id);
                self.writes.push(write);
            }
        }
    }

    /// Each of two facts names the other as long as both hold, and no longer. Gives the facts that fell or rose.
    fn agree(&mut self, desk: &AgentDesk<'_>) -> Vec<(MemoryId, bool)> {
        let facts = self.facts();
        let fell: Vec<MemoryId> =
            facts.iter().filter(|(_, turn)| **turn == (true, false)).map(|(id, _)| *id).collect();
        let rose: Vec<MemoryId> =
            facts.iter().filter(|(_, turn)| **turn == (false, true)).map(|(id, _)| *id).collect();
        for id in &fell {
            for other in self.latest(*id).map_or_else(Vec::new, |memory| memory.contested_with.clone()) {
                let write = self.latest(other).and_then(|other| settles(other, *id, desk.counter, desk.now));
                self.writes.extend(write);
            }
        }
        for id in &rose {
            for other in self.latest(*id).map_or_else(Vec::new, |memory| memory.contested_with.clone()) {
                let write = match self.latest(other).filter(|other| other.status.is_current()) {
                    Some(other) => contests(other, *id, desk.counter, desk.now),
                    None => self.latest(*id).and_then(|mine| settles(mine, other, desk.counter, desk.now)),
                };
                self.writes.extend(write);
            }
        }
        fell.into_iter().map(|id| (id, true)).chain(rose.into_iter().map(|id| (id, false))).collect()
    }

    /// Decisions are flagged as resting on what fell, or no longer so.
    fn rest(&mut self, desk: &AgentDesk<'_>, fact: MemoryId, fell: bool, found: &[Memory]) {
        let change = if fell { shaken } else { settles };
        let touched: Vec<MemoryWrite> = found
            .iter()
            .map(|decision| self.latest(decision.id).unwrap_or(decision))
            .filter_map(|decision| change(decision, fact, desk.counter, desk.now))
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
