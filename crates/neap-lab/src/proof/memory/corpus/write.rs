//! Writes the corpus to a store through the memory rules, many drafts per commit.

use std::collections::BTreeMap;

use neap_core::base::ids::{AgentId, Seq, SessionId, Stamp, StreamId, TurnNo};
use neap_core::base::policy::Policy;
use neap_core::base::tokens::TokenCounter;
use neap_core::memory::{
    AgentHead, Author, Body, DraftOutcome, Memory, MemoryDraft, MemoryId, MemoryKind, MemoryWrite, Provenance,
    RecallRequest, RememberPlan, amend, dependants_request, lookup_request, mark_shaken, remember,
};
use neap_core::session::event::{RecordedEvent, SessionEvent};
use neap_core::session::project::{TurnsInFlight, project};
use neap_core::session::state::SessionState;
use neap_store::{Commit, Store, StoreError};

use super::{About, Corpus, DAY_MS, NOW, PlannedRecord, Planner, Size, Topic, sentence, templates, topics};
use crate::measure::Rng;

/// Approximate.
const EVENTS_PER_COMMIT: usize = 200;

pub(crate) async fn write(
    store: &dyn Store,
    agent: &AgentId,
    size: Size,
    counter: &dyn TokenCounter,
) -> Result<Corpus, StoreError> {
    let topics = topics();
    let mut planner = Planner::new(&topics);
    let mut writer = Writer::new(store, agent.stream(), counter);
    let mut turn = 0;
    let mut planned = planner.plan(size);
    loop {
        for planned in planned {
            writer.learn(&topics, &planned, turn, size).await?;
            turn += 1;
        }
        // Confirmations add no memory, so more are drawn until the counts are met.
        let is_short = |kind| writer.count(kind) < size.of(kind);
        if is_short(MemoryKind::Fact) {
            planner.fact(NOW.0 - 2 * DAY_MS);
        } else if is_short(MemoryKind::Decision) {
            planner.plan_any(templates::decision);
        } else if is_short(MemoryKind::Episode) {
            planner.plan_any(templates::episode);
        } else {
            break;
        }
        planned = std::mem::take(&mut planner.planned);
    }
    writer.flush().await?;
    let corpus = writer.corpus;
    Ok(Corpus { topics, ..corpus })
}

struct Writer<'a> {
    store: &'a dyn Store,
    id: StreamId,
    counter: &'a dyn TokenCounter,
    draw: Rng,
    state: SessionState,
    committed: Seq,
    in_flight: TurnsInFlight,
    events: Vec<RecordedEvent>,
    /// Uncommitted memories in their current state.
    batch: BTreeMap<MemoryId, Memory>,
    /// The latest fact of each topic, for decisions to rest on.
    last_fact: BTreeMap<usize, MemoryId>,
    corpus: Corpus,
}

impl<'a> Writer<'a> {
    fn new(store: &'a dyn Store, id: StreamId, counter: &'a dyn TokenCounter) -> Self {
        let mut state = SessionState::default();
        let (committed, in_flight) = (state.seq(), TurnsInFlight::of(&state));
        let created = SessionEvent::Created {
            session: id.clone(),
            encoding: counter.encoding().to_owned(),
            policy: Policy::default(),
            imported_from: None,
        };
        let (events, draw) = (vec![state.record(Stamp(0), created)], Rng::new(7));
        let (batch, last_fact, corpus) = (BTreeMap::new(), BTreeMap::new(), Corpus::default());
        Self { store, id, counter, draw, state, committed, in_flight, events, batch, last_fact, corpus }
    }

    fn count(&self, kind: MemoryKind) -> u32 {
        self.state.head().agent.as_deref().map_or(0, |head| head.kind_count(kind).last)
    }

    /// As a draft; those by a model get a turn of their own.
    fn draft(&mut self, topics: &[Topic], planned: &PlannedRecord, turn: u64) -> MemoryDraft {
        let mut provenance = Provenance::from_author(planned.author);
        if planned.author == Author::Model {
            provenance.session = SessionId::from_name("work").ok();
            provenance.turn = Some(TurnNo(turn));
        }
        let mut draft = MemoryDraft::new(planned.said.body.clone(), provenance);
        draft.pinned = planned.pinned;
        let Some(topic) = planned.topic else { return draft };
        if self.draw.chance(30) {
            draft.tags = vec![topics[topic].field.to_owned()];
        }
        if let (Body::Decision(decision), Some(fact)) = (&mut draft.body, self.last_fact.get(&topic))
            && self.draw.chance(25)
        {
            decision.rests_on = vec![*fact];
        }
        draft
    }

    async fn learn(
        &mut self,
        topics: &[Topic],
        planned: &PlannedRecord,
        turn: u64,
        size: Size,
    ) -> Result<(), StoreError> {
        let kind = planned.said.body.kind();
        if kind == MemoryKind::Fact && self.count(kind) >= size.of(kind) {
            return Ok(());
        }
        let draft = self.draft(topics, planned, turn);
        let similar = match lookup_request(&draft) {
            Some(request) => self.similar_records(&request, planned.topic).await?,
            None => Vec::new(),
        };
        let empty = AgentHead::default();
        let head = self.state.head().agent.as_deref().unwrap_or(&empty);
        let Ok(RememberPlan { id, outcome, mut writes, superseded, .. }) =
            remember(head, &similar, draft, self.counter, planned.at)
        else {
            self.corpus.refused += 1;
            return Ok(());
        };
        match outcome {
            DraftOutcome::Confirmed => self.corpus.confirmed += 1,
            DraftOutcome::Superseded => self.corpus.superseded += 1,
            DraftOutcome::Contested => self.corpus.contested += 1,
            DraftOutcome::New | DraftOutcome::Known => {}
        }
        for fact in superseded {
            let resting = self.similar_records(&dependants_request(fact), planned.topic).await?;
            writes.extend(resting.iter().filter_map(|memory| mark_shaken(memory, fact, self.counter, planned.at)));
        }
        let new = writes.iter().find(|write| write.previous.is_none()).map(|write| write.memory.clone());
        self.apply(writes, planned.at);
        if let Some(new) = new {
            let said = sentence(&planned.said.body).to_owned();
            self.corpus.about.insert(id, About { topic: planned.topic, slots: planned.said.slots.clone(), said });
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
            if similar.contains_key(id) || self.corpus.about.get(id).is_some_and(|about| about.topic == topic) {
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
