//! Writes the corpus to a store through the memory rules, many drafts per commit.

use std::collections::BTreeMap;

use neap_core::base::ids::{AgentId, Seq, Stamp, StreamId};
use neap_core::base::policy::Policy;
use neap_core::base::tokens::TokenCounter;
use neap_core::memory::{
    AgentHead, Body, DraftOutcome, Memory, MemoryId, MemoryKind, MemoryWrite, RecallRequest, RememberPlan, amend,
    dependants_request, lookup_request, mark_shaken, remember,
};
use neap_core::session::event::{RecordedEvent, SessionEvent};
use neap_core::session::project::{TurnsInFlight, project};
use neap_core::session::state::SessionState;
use neap_store::{Commit, Store, StoreError};

use super::rng::CorpusRng;
use super::templates;
use super::{About, Corpus, DAY_MS, NOW, PlannedRecord, Planner, Size, sentence, topics};

/// Approximate.
const EVENTS_PER_COMMIT: usize = 200;

pub(crate) async fn write(
    store: &dyn Store,
    agent: &AgentId,
    size: Size,
    counter: &dyn TokenCounter,
) -> Result<Corpus, StoreError> {
    let topics = topics();
    let (planned, mut planner) = Planner::new(&topics).plan(size);
    let mut writer = Writer::new(store, agent.stream(), counter);
    for (turn, planned) in planned.iter().enumerate() {
        writer.learn(&topics, planned, turn as u64, size).await?;
    }
    // Confirmations add no memory, so more are drawn until the counts are met.
    let mut turn = planned.len() as u64;
    loop {
        if writer.count(MemoryKind::Fact) < size.facts {
            planner.fact(NOW.0 - 2 * DAY_MS);
        } else if writer.count(MemoryKind::Decision) < size.decisions {
            planner.plan_any(templates::decision);
        } else if writer.count(MemoryKind::Episode) < size.episodes {
            planner.plan_any(templates::episode);
        } else {
            break;
        }
        for planned in std::mem::take(&mut planner.planned) {
            turn += 1;
            writer.learn(&topics, &planned, turn, size).await?;
        }
    }
    writer.flush().await?;
    let Writer { about, refused, confirmed, superseded, contested, .. } = writer;
    Ok(Corpus { topics, about, refused, confirmed, superseded, contested })
}

struct Writer<'a> {
    store: &'a dyn Store,
    id: StreamId,
    counter: &'a dyn TokenCounter,
    draw: CorpusRng,
    state: SessionState,
    committed: Seq,
    in_flight: TurnsInFlight,
    events: Vec<RecordedEvent>,
    /// Uncommitted memories in their current state.
    batch: BTreeMap<MemoryId, Memory>,
    about: BTreeMap<MemoryId, About>,
    /// The latest fact of each topic, for decisions to rest on.
    last_fact: BTreeMap<usize, MemoryId>,
    refused: u64,
    confirmed: u64,
    superseded: u64,
    contested: u64,
}

impl<'a> Writer<'a> {
    fn new(store: &'a dyn Store, id: StreamId, counter: &'a dyn TokenCounter) -> Self {
        let mut state = SessionState::default();
        let in_flight = TurnsInFlight::of(&state);
        let created = SessionEvent::Created {
            session: id.clone(),
            encoding: counter.encoding().to_owned(),
            policy: Policy::default(),
            imported_from: None,
        };
        let committed = state.seq();
        let events = vec![state.record(Stamp(0), created)];
        Self {
            store,
            id,
            counter,
            draw: CorpusRng::new(7),
            state,
            committed,
            in_flight,
            events,
            batch: BTreeMap::new(),
            about: BTreeMap::new(),
            last_fact: BTreeMap::new(),
            refused: 0,
            confirmed: 0,
            superseded: 0,
            contested: 0,
        }
    }

    fn count(&self, kind: MemoryKind) -> u32 {
        self.state.head().agent.as_deref().map_or(0, |head| head.kind_count(kind).last)
    }

    async fn learn(
        &mut self,
        topics: &[super::Topic],
        planned: &PlannedRecord,
        turn: u64,
        size: Size,
    ) -> Result<(), StoreError> {
        let kind = planned.said.body.kind();
        if kind == MemoryKind::Fact && self.count(kind) >= size.facts {
            return Ok(());
        }
        let field = planned.topic.map_or("", |topic| topics[topic].field);
        let tagged = planned.topic.is_some() && self.draw.chance(30);
        let mut draft = planned.draft(turn, field, tagged);
        if let (Body::Decision(decision), Some(fact)) =
            (&mut draft.body, planned.topic.and_then(|topic| self.last_fact.get(&topic)))
            && self.draw.chance(25)
        {
            decision.rests_on = vec![*fact];
        }
        let similar = match lookup_request(&draft) {
            Some(request) => self.similar_records(&request, planned.topic).await?,
            None => Vec::new(),
        };
        let empty = AgentHead::default();
        let head = self.state.head().agent.as_deref().unwrap_or(&empty);
        let Ok(RememberPlan { id, outcome, mut writes, superseded, .. }) =
            remember(head, &similar, draft, self.counter, planned.at)
        else {
            self.refused += 1;
            return Ok(());
        };
        match outcome {
            DraftOutcome::Confirmed => self.confirmed += 1,
            DraftOutcome::Superseded => self.superseded += 1,
            DraftOutcome::Contested => self.contested += 1,
            DraftOutcome::New | DraftOutcome::Known => {}
        }
        for fact in superseded {
            let resting = self.similar_records(&dependants_request(fact), planned.topic).await?;
            writes
                .extend(resting.iter().filter_map(|resting| mark_shaken(resting, fact, self.counter, planned.at)));
        }
        let new = writes.iter().find(|write| write.previous.is_none()).map(|write| write.memory.clone());
        self.apply(writes, planned.at);
        if let Some(new) = new {
            let said = sentence(&planned.said.body).to_owned();
            self.about.insert(id, About { topic: planned.topic, slots: planned.said.slots.clone(), said });
            if let (MemoryKind::Fact, Some(topic)) = (kind, planned.topic) {
                self.last_fact.insert(topic, id);
            }
            self.record_usage(new, planned.at);
        }
        if self.events.len() >= EVENTS_PER_COMMIT { self.flush().await } else { Ok(()) }
    }

    /// Uses procedures, with or without success, and triggers censors.
    fn record_usage(&mut self, mut memory: Memory, at: Stamp) {
        let times = match memory.kind() {
            MemoryKind::Procedure => self.draw.between(0, 9),
            MemoryKind::Censor => self.draw.between(0, 2),
            MemoryKind::Decision | MemoryKind::Fact | MemoryKind::Episode => 0,
        };
        for _ in 0..times {
            let writes = if memory.kind() == MemoryKind::Procedure {
                amend::record_use(&memory, Some(self.draw.chance(75)), self.counter, at)
            } else {
                amend::record_trigger(&memory, self.counter, at)
            };
            let Ok(writes) = writes else { return };
            let after = writes.last().map(|write| write.memory.clone());
            self.apply(writes, at);
            memory = after.unwrap_or(memory);
        }
    }

    /// Matches in the store and uncommitted ones of the same topic, in their current state.
    async fn similar_records(
        &self,
        request: &RecallRequest,
        topic: Option<usize>,
    ) -> Result<Vec<Memory>, StoreError> {
        let found = self.store.recall(&self.id, request).await?.memories;
        let mut similar: BTreeMap<MemoryId, Memory> =
            found.into_iter().map(|memory| (memory.id, memory)).collect();
        for (id, memory) in &self.batch {
            if similar.contains_key(id) || self.about.get(id).is_some_and(|about| about.topic == topic) {
                similar.insert(*id, memory.clone());
            }
        }
        Ok(similar.into_values().collect())
    }

    fn apply(&mut self, writes: Vec<MemoryWrite>, at: Stamp) {
        for write in writes {
            self.batch.insert(write.memory.id, write.memory.clone());
            let recorded = self.state.record(at, write);
            self.events.push(recorded);
        }
    }

    async fn flush(&mut self) -> Result<(), StoreError> {
        let events = std::mem::take(&mut self.events);
        if events.is_empty() {
            return Ok(());
        }
        let projection = project(&self.in_flight, &self.state, &events);
        let commit = Commit { stream: self.id.clone(), expected: self.committed, events, projection };
        self.store.commit(commit).await?;
        self.committed = self.state.seq();
        self.in_flight = TurnsInFlight::of(&self.state);
        self.batch.clear();
        Ok(())
    }
}
