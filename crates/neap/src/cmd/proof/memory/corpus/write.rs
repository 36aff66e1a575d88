//! Writes the year into a store: the rules decide what becomes of each draft, many of them in one commit.

use std::collections::BTreeMap;

use neap_core::event::{Event, Recorded};
use neap_core::ids::{AgentId, Seq, SessionId, Stamp};
use neap_core::memory::{
    AgentHead, Body, Learnt, Memory, MemoryId, MemoryKind, MemoryWrite, RecallRequest, WhatLearnt, amend,
    dependants, remember, shaken, wanted,
};
use neap_core::policy::Policy;
use neap_core::project::{InFlight, project};
use neap_core::state::SessionState;
use neap_core::tokens::TokenCounter;
use neap_store::{Commit, Store, StoreError};

use super::draw::Draw;
use super::says;
use super::{About, Corpus, DAY_MS, NOW, Planned, Planner, Size, sentence, topics};

/// Events in one commit, about.
const EVENTS_PER_COMMIT: usize = 200;

/// Writes a year of this size; the store has no such agent yet.
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
    // What was known already made no new record, and there shall be so many.
    let mut turn = planned.len() as u64;
    loop {
        if writer.count(MemoryKind::Fact) < size.facts {
            planner.fact(NOW.0 - 2 * DAY_MS);
        } else if writer.count(MemoryKind::Decision) < size.decisions {
            planner.drawn(says::decision);
        } else if writer.count(MemoryKind::Episode) < size.episodes {
            planner.drawn(says::episode);
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
    id: SessionId,
    counter: &'a dyn TokenCounter,
    draw: Draw,
    state: SessionState,
    committed: Seq,
    in_flight: InFlight,
    events: Vec<Recorded>,
    /// Records of this commit, as they are now.
    batch: BTreeMap<MemoryId, Memory>,
    about: BTreeMap<MemoryId, About>,
    /// The last fact of each topic, for decisions to rest on.
    last_fact: BTreeMap<usize, MemoryId>,
    refused: u64,
    confirmed: u64,
    superseded: u64,
    contested: u64,
}

impl<'a> Writer<'a> {
    fn new(store: &'a dyn Store, id: SessionId, counter: &'a dyn TokenCounter) -> Self {
        let mut state = SessionState::default();
        let in_flight = InFlight::of(&state);
        let created = Event::SessionCreated {
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
            draw: Draw::new(7),
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

    /// How many records of a kind there are.
    fn count(&self, kind: MemoryKind) -> u32 {
        self.state.head().agent.as_deref().map_or(0, |head| head.of(kind).last)
    }

    async fn learn(
        &mut self,
        topics: &[super::Topic],
        planned: &Planned,
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
        let near = match wanted(&draft) {
            Some(request) => self.near(&request, planned.topic).await?,
            None => Vec::new(),
        };
        let nothing = AgentHead::default();
        let head = self.state.head().agent.as_deref().unwrap_or(&nothing);
        let Ok(Learnt { id, what, mut writes, superseded, .. }) =
            remember(head, &near, draft, self.counter, planned.at)
        else {
            self.refused += 1;
            return Ok(());
        };
        match what {
            WhatLearnt::Confirmed => self.confirmed += 1,
            WhatLearnt::Superseded => self.superseded += 1,
            WhatLearnt::Contested => self.contested += 1,
            WhatLearnt::New | WhatLearnt::Known => {}
        }
        for fact in superseded {
            let resting = self.near(&dependants(fact), planned.topic).await?;
            writes.extend(resting.iter().filter_map(|resting| shaken(resting, fact, self.counter, planned.at)));
        }
        let new = writes.iter().find(|write| write.was.is_none()).map(|write| write.memory.clone());
        self.apply(writes, planned.at);
        if let Some(new) = new {
            let said = sentence(&planned.said.body).to_owned();
            self.about.insert(id, About { topic: planned.topic, slots: planned.said.slots.clone(), said });
            if let (MemoryKind::Fact, Some(topic)) = (kind, planned.topic) {
                self.last_fact.insert(topic, id);
            }
            self.use_it(new, planned.at);
        }
        if self.events.len() >= EVENTS_PER_COMMIT { self.flush().await } else { Ok(()) }
    }

    /// Procedures are followed, with or without success; censors find something.
    fn use_it(&mut self, mut memory: Memory, at: Stamp) {
        let times = match memory.kind() {
            MemoryKind::Procedure => self.draw.between(0, 9),
            MemoryKind::Censor => self.draw.between(0, 2),
            MemoryKind::Decision | MemoryKind::Fact | MemoryKind::Episode => 0,
        };
        for _ in 0..times {
            let writes = if memory.kind() == MemoryKind::Procedure {
                amend::activate(&memory, Some(self.draw.chance(75)), self.counter, at)
            } else {
                amend::trigger(&memory, self.counter, at)
            };
            let Ok(writes) = writes else { return };
            let after = writes.last().map(|write| write.memory.clone());
            self.apply(writes, at);
            memory = after.unwrap_or(memory);
        }
    }

    /// What the store finds, and what is not committed yet of the same topic, each as it is now.
    async fn near(&self, request: &RecallRequest, topic: Option<usize>) -> Result<Vec<Memory>, StoreError> {
        let found = self.store.recall(&self.id, request).await?.memories;
        let mut near: BTreeMap<MemoryId, Memory> = found.into_iter().map(|memory| (memory.id, memory)).collect();
        for (id, memory) in &self.batch {
            if near.contains_key(id) || self.about.get(id).is_some_and(|about| about.topic == topic) {
                near.insert(*id, memory.clone());
            }
        }
        Ok(near.into_values().collect())
    }

    fn apply(&mut self, writes: Vec<MemoryWrite>, at: Stamp) {
        for write in writes {
            self.batch.insert(write.memory.id, write.memory.clone());
            let recorded = self.state.record(at, write.event());
            self.events.push(recorded);
        }
    }

    async fn flush(&mut self) -> Result<(), StoreError> {
        let events = std::mem::take(&mut self.events);
        if events.is_empty() {
            return Ok(());
        }
        let projection = project(&self.in_flight, &self.state, &events);
        let commit = Commit { session: self.id.clone(), expected: self.committed, events, projection };
        self.store.commit(commit).await?;
        self.committed = self.state.seq();
        self.in_flight = InFlight::of(&self.state);
        self.batch.clear();
        Ok(())
    }
}
