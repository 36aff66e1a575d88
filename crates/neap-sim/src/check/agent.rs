//! Checks an agent's memories against its stream: nothing lost, doubled or changed, each record as its last event
//! has it (I3), and each write made once.

use std::collections::{BTreeMap, BTreeSet};

use neap_core::base::ids::StreamId;
use neap_core::memory::{
    AgentHead, Author, Body, CensorAction, CensorPattern, CensorSide, Change, CountedState, Memory, MemoryEvent,
    MemoryId, MemoryKind, Status, Trust,
};
use neap_core::session::event::{Event, RecordedEvent};
use neap_core::session::state::SessionState;
use neap_store::{Store, StoreError};

use super::stream::StreamWatch;
use super::{Violations, view};
use crate::trace::Trace;
use crate::words::UNTRUSTED;

#[derive(Debug)]
pub struct AgentWatch {
    pub id: StreamId,
    /// A word that only this agent's memories contain.
    pub canary: String,
    /// The stream replayed here, for comparison.
    pub replayed: SessionState,
    watch: StreamWatch,
    records: BTreeMap<MemoryId, Memory>,
    /// Writes by source and text, to find repeated ones.
    written: BTreeSet<String>,
}

impl AgentWatch {
    pub fn new(id: StreamId, canary: String) -> Self {
        let (replayed, watch) = (SessionState::default(), StreamWatch::default());
        Self { id, canary, replayed, watch, records: BTreeMap::new(), written: BTreeSet::new() }
    }

    pub fn records(&self) -> u64 {
        self.records.len() as u64
    }

    pub async fn follow(
        &mut self,
        store: &dyn Store,
        trace: &Trace,
        out: &mut Violations,
    ) -> Result<Vec<RecordedEvent>, StoreError> {
        let new = self.watch.follow(store, &self.id, trace, out).await?;
        for recorded in &new {
            if recorded.seq == self.replayed.seq().next() {
                self.replayed.apply(recorded);
            }
            if let Event::Memory(MemoryEvent::Changed { change, memory, was, sent: _ }) = &recorded.event {
                self.check_change(change, memory, was.as_ref(), out);
            }
        }
        Ok(new)
    }

    fn check_change(
        &mut self,
        change: &Change,
        memory: &Memory,
        was: Option<&CountedState>,
        out: &mut Violations,
    ) {
        let before = self.records.insert(memory.id, memory.clone());
        let counted_before = before.as_ref().map(CountedState::of);
        out.check("I3", counted_before.as_ref() == was, || {
            format!("{} counted as {counted_before:?}, its change says {was:?}", memory.id)
        });
        out.check("writes", (*change == Change::Remembered) == before.is_none(), || {
            format!("{} of {} with {before:?} there", change_name(change), memory.id)
        });
        self.check_trust(change, before.as_ref(), memory, out);
        if *change == Change::Remembered {
            let first_free = self.records.keys().filter(|id| id.kind() == memory.kind()).count();
            out.check("writes", memory.id.number() as usize == first_free, || {
                format!("{} is the record number {first_free} of its kind", memory.id)
            });
            let provenance = &memory.provenance;
            let key = format!(
                "{:?} {:?} {:?} {}",
                provenance.session,
                provenance.turn,
                provenance.source,
                memory.search_text()
            );
            let is_first = provenance.source.is_none() || self.written.insert(key.clone());
            out.check("writes", is_first, || format!("{} was written twice: {key}", memory.id));
        }
    }

    /// docs/decisions/0006-trust.md: a memory that nobody vouches for is pinned, trusted or in force only once a person
    /// says so.
    fn check_trust(&self, change: &Change, before: Option<&Memory>, memory: &Memory, out: &mut Violations) {
        let (pinned, trusted) = (memory.pinned, memory.provenance.trust == Trust::High);
        let untrusted = UNTRUSTED.iter().find(|word| memory.full_text().contains(**word));
        let is_a_persons = memory.provenance.author == Author::Person;
        if let (Some(word), true) = (untrusted, is_a_persons) {
            // A person who repeats a statement does not become its author.
            out.add("trust", format!("{} says {word}, and is said to be a person's", memory.id));
        }
        out.check("trust", !pinned || trusted, || {
            format!("{} is pinned, and no person stands behind it", memory.id)
        });
        let was_trusted = before.is_some_and(|before| before.provenance.trust == Trust::High);
        if is_a_persons || was_trusted || !(trusted || pinned) {
            return;
        }
        let by_person = match (change, &memory.body) {
            (Change::Confirmed, Body::Fact(fact)) => {
                fact.last_confirmed_by.as_ref().is_some_and(|by| by.author == Author::Person)
            }
            // A person marks it, edits it, or undoes a change of it.
            (Change::Confirmed | Change::Edited | Change::Undone { .. } | Change::Moved { .. }, _) => true,
            _ => false,
        };
        out.check("trust", by_person, || format!("{} came to be trusted by {}", memory.id, change_name(change)));
    }

    pub async fn check_rows(&self, store: &dyn Store, out: &mut Violations) -> Result<(), StoreError> {
        let rows = store.load(&self.id).await?.unwrap_or_default();
        out.check("I3", rows == self.replayed, || {
            format!("{}: rows say {:?}, the stream says {:?}", self.id, rows.head(), self.replayed.head())
        });
        let ids: Vec<MemoryId> = self.records.keys().copied().collect();
        let mut found = store.memories(&self.id, &ids).await?;
        found.sort_by_key(|memory| memory.id);
        out.check("I3", found.iter().eq(self.records.values()), || {
            let differs = found.iter().zip(self.records.values()).find(|(is, must)| is != must);
            format!(
                "{} has {} records of {}; the first that differs: {differs:?}",
                self.id,
                found.len(),
                ids.len()
            )
        });
        let empty = AgentHead::default();
        let head = self.replayed.head().agent.as_deref().unwrap_or(&empty);
        for kind in MemoryKind::ALL {
            let all = self.records.values().filter(|memory| memory.kind() == kind);
            let current = all.filter(|memory| memory.status.is_searchable()).count() as u64;
            out.check("I3", head.kind_count(kind).current == current, || {
                format!("{} counts {:?} of {kind}, there are {current}", self.id, head.kind_count(kind))
            });
        }
        let in_force = |memory: &&Memory| memory.kind() == MemoryKind::Censor && memory.status.is_current();
        out.check("I3", head.censors.values().eq(self.records.values().filter(in_force)), || {
            format!("{}: censors in force are not at hand", self.id)
        });
        Ok(())
    }

    pub async fn check_from_start(
        &self,
        store: &dyn Store,
        trace: &Trace,
        out: &mut Violations,
    ) -> Result<(), StoreError> {
        let all = self.watch.compare_all(store, &self.id, trace, out).await?;
        out.check("I3", SessionState::replay(&all) == self.replayed, || {
            format!("{}: a replay gives another state", self.id)
        });
        self.check_rows(store, out).await?;
        view::check_examination(store, &self.id, out).await
    }

    /// Words that no reply may contain: one-word output censors of people that refuse or abort, in force now.
    pub fn forbidden_words(&self) -> Vec<(MemoryId, String)> {
        let mut words = Vec::new();
        for memory in self.records.values() {
            if let Body::Censor(censor) = &memory.body
                && let CensorPattern::Words(word) = &censor.pattern
                && censor.side == CensorSide::Output
                && censor.action > CensorAction::Steer
                && memory.provenance.author == Author::Person
                && memory.status != Status::Retired
            {
                words.push((memory.id, word.to_lowercase()));
            }
        }
        words
    }
}

fn change_name(change: &Change) -> String {
    serde_json::to_value(change).map_or_else(|_| String::new(), |value| value["change"].to_string())
}
