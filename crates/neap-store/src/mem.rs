//! Sessions in memory: for tests and for trying things. It keeps the promise as long as the process lives.

mod recall;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use neap_core::event::{Event, Recorded};
use neap_core::ids::{Seq, SessionId, Stamp, TurnNo};
use neap_core::ingest::Digest;
use neap_core::log::{From, Log, LogRequest};
use neap_core::memory::{Memory, MemoryId, MemoryKind, RecallRequest, Recalled, after_erasure};
use neap_core::message::Scope;
use neap_core::project::ExchangeRow;
use neap_core::recall::{Around, Card, Consult, Consulted, Embedding, Proposed, Query, TextId};
use neap_core::secrets::Masking;
use neap_core::state::SessionState;
use neap_core::tokens::Tokens;

use crate::card::CardRow;
use crate::derived::{Derived, Fold, turn_id};
use crate::examine::{differences, losses};
use crate::exchange::exchange;
use crate::footprint::{Footprint, said};
use crate::{AgentInfo, Commit, Finding, SessionInfo, Store, StoreError, Stored};
use recall::KeptVector;

/// A store that forgets everything when it is dropped.
#[derive(Default)]
pub struct MemStore {
    kept: Mutex<Kept>,
    masking: Masking,
}

impl MemStore {
    /// The same store, with secrets masked in what is recorded or not; they are, unless this says otherwise.
    pub fn with_masking(self, masking: Masking) -> Self {
        Self { masking, ..self }
    }
}

#[derive(Default)]
struct Kept {
    sessions: BTreeMap<SessionId, Stream>,
    vectors: BTreeMap<TextId, KeptVector>,
    /// How many embeddings were ever kept.
    embedded: u64,
}

#[derive(Default)]
struct Stream {
    /// Streams are numbered as they begin, from 1.
    number: i64,
    events: Vec<Recorded>,
    derived: Derived,
}

impl MemStore {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // Each change is made whole before the lock is let go, so what a panic left is whole as well.
        self.kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Stream {
    fn seq(&self) -> Seq {
        self.events.last().map_or(Seq(0), |last| last.seq)
    }

    /// When a memory was written; of one that was erased, when its first event was.
    fn written_at(&self, id: MemoryId) -> Option<Stamp> {
        if let Some(kept) = self.derived.memories.get(&id) {
            return Some(kept.memory.created);
        }
        let first = *self.derived.history(id).first()?;
        self.events.iter().find(|recorded| recorded.seq == first).map(|recorded| recorded.at)
    }

    fn between(&self, first: Seq, last: Seq) -> Vec<Stored> {
        let from = self.events.partition_point(|e| e.seq < first);
        self.events[from..].iter().take_while(|e| e.seq <= last).cloned().map(Stored::Event).collect()
    }

    fn fold(&self) -> crate::derived::Folded {
        let mut fold = Fold::default();
        for recorded in &self.events {
            fold.add(Stored::Event(recorded.clone()));
        }
        fold.finish()
    }

    /// Adds what this stream would take if it were written down.
    fn footprint(&self, mut sum: Footprint) -> Footprint {
        let Derived { head, efforts, exchanges, texts, cards, turn_ids, links, memories, history, .. } =
            &self.derived;
        sum.said += self.events.iter().map(|e| said(&e.event)).sum::<u64>();
        sum.events += self.events.iter().map(written).sum::<u64>();
        sum.derived += written(head) + efforts.values().map(written).sum::<u64>();
        sum.derived += (exchanges.len() * size_of::<ExchangeRow>()) as u64;
        sum.derived += turn_ids.keys().map(|id| (id.len() + size_of::<TurnNo>()) as u64).sum::<u64>();
        sum.derived += (links.len() * size_of::<(Digest, TurnNo)>()) as u64;
        sum.derived += memories.values().map(|kept| written(&kept.memory)).sum::<u64>();
        sum.derived += history.values().map(|seqs| size_of_val(seqs.as_slice()) as u64).sum::<u64>();
        sum.index += texts.values().map(|words| words.len() as u64).sum::<u64>();
        sum.index +=
            cards.values().map(|row| (size_of::<CardRow>() + row.terms.bytes().len()) as u64).sum::<u64>();
        sum
    }
}

/// Bytes as JSON.
fn written<T: serde::Serialize>(value: &T) -> u64 {
    serde_json::to_vec(value).map_or(0, |bytes| bytes.len() as u64)
}

#[async_trait]
impl Store for MemStore {
    fn masking(&self) -> Masking {
        self.masking
    }

    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        crate::check_commit(&commit);
        let mut all = self.kept();
        let sessions = &mut all.sessions;
        let known = sessions.get(&commit.session);
        let actual = known.map_or(Seq(0), Stream::seq);
        for (id, _) in commit.events.iter().filter_map(|e| turn_id(&e.event)) {
            if let Some(turn) = known.and_then(|s| s.derived.turn_ids.get(id)) {
                return Err(StoreError::DuplicateTurn { turn: *turn });
            }
        }
        if actual != commit.expected {
            return Err(StoreError::Conflict { expected: commit.expected, actual });
        }
        let number = sessions.len() as i64 + 1;
        let stream = sessions.entry(commit.session).or_insert_with(|| Stream { number, ..Stream::default() });
        stream.derived.add(&commit.events, commit.projection);
        stream.events.extend(commit.events);
        all.drop_strays();
        Ok(())
    }

    async fn load(&self, session: &SessionId) -> Result<Option<SessionState>, StoreError> {
        Ok(self.kept().sessions.get(session).map(|stream| stream.derived.state()))
    }

    async fn seq(&self, session: &SessionId) -> Result<Seq, StoreError> {
        Ok(self.kept().sessions.get(session).map_or(Seq(0), Stream::seq))
    }

    async fn events(&self, session: &SessionId, from: Seq, max: usize) -> Result<Vec<Stored>, StoreError> {
        let all = self.kept();
        let sessions = &all.sessions;
        let Some(stream) = sessions.get(session) else { return Ok(Vec::new()) };
        let start = stream.events.partition_point(|e| e.seq < from);
        Ok(stream.events[start..].iter().take(max).cloned().map(Stored::Event).collect())
    }

    async fn events_of(
        &self,
        session: &SessionId,
        kinds: &[&str],
        before: Option<Seq>,
        max: usize,
    ) -> Result<Vec<Stored>, StoreError> {
        let all = self.kept();
        let sessions = &all.sessions;
        let events = sessions.get(session).into_iter().flat_map(|stream| stream.events.iter().rev());
        let asked = events.filter(|e| before.is_none_or(|b| e.seq < b) && kinds.contains(&e.event.kind()));
        Ok(asked.take(max).cloned().map(Stored::Event).collect())
    }

    async fn log(&self, session: &SessionId, request: &LogRequest) -> Result<Log, StoreError> {
        let all = self.kept();
        let sessions = &all.sessions;
        let Some(stream) = sessions.get(session) else { return Ok(Log::default()) };
        let LogRequest { scope, turns: (first, last), from, tokens_max, exchanges_max } = request;
        let mut rows: Vec<_> = stream.derived.exchanges.values().collect();
        match from {
            From::Newest => rows.reverse(),
            From::Oldest => rows.sort_by_key(|row| row.turn),
        }
        let mut tokens = Tokens::ZERO;
        let mut met = Vec::new();
        let taken_back = &stream.derived.taken_back;
        let is_asked = |row: &&ExchangeRow| {
            row.scope == *scope && (*first..=*last).contains(&row.turn) && !taken_back.contains(&row.turn)
        };
        for row in rows.into_iter().filter(is_asked) {
            if tokens >= *tokens_max || met.len() >= *exchanges_max {
                break;
            }
            tokens += row.tokens;
            let stored = stream.between(row.first_seq, row.last_seq);
            met.push(Arc::new(exchange(row.turn, row.at, stored)));
        }
        if *from == From::Newest {
            met.reverse();
        }
        Ok(Log::new(met))
    }

    async fn propose(&self, query: &Query) -> Result<Proposed, StoreError> {
        Ok(self.kept().propose(query))
    }

    async fn around(&self, around: &Around, query: &Query) -> Result<Vec<Card>, StoreError> {
        Ok(self.kept().around(around, query))
    }

    async fn consult(&self, consult: &Consult) -> Result<Consulted, StoreError> {
        let all = self.kept();
        consult.answer(
            || Ok(all.propose(&consult.query)),
            |around| Ok(all.around(around, &consult.query)),
            |ids| Ok(ids.iter().map(|id| all.text(id, false)).collect()),
        )
    }

    async fn scopes(&self, ids: &[TextId]) -> Result<Vec<Option<Scope>>, StoreError> {
        let all = self.kept();
        Ok(ids.iter().map(|id| all.scope(id)).collect())
    }

    async fn texts(&self, ids: &[TextId]) -> Result<Vec<Option<Arc<str>>>, StoreError> {
        let all = self.kept();
        Ok(ids.iter().map(|id| all.text(id, false)).collect())
    }

    async fn unembedded(&self, model: &str, max: usize) -> Result<Vec<(TextId, Arc<str>)>, StoreError> {
        Ok(self.kept().unembedded(model, max))
    }

    async fn embed(&self, model: &str, batch: Vec<(TextId, Arc<str>, Embedding)>) -> Result<(), StoreError> {
        self.kept().embed(model, batch);
        Ok(())
    }

    async fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError> {
        let all = self.kept();
        let sessions = &all.sessions;
        let info = |(id, stream): (&SessionId, &Stream)| {
            SessionInfo::new(id.clone(), &stream.derived.head, stream.derived.efforts.len() as u64)
        };
        Ok(sessions.iter().filter(|(id, _)| id.agent().is_none()).map(info).collect())
    }

    async fn agents(&self) -> Result<Vec<AgentInfo>, StoreError> {
        let all = self.kept();
        let sessions = &all.sessions;
        let info = |(id, stream): (&SessionId, &Stream)| {
            Some(AgentInfo::new(id.agent()?, &stream.derived.head, stream.derived.memories.len() as u64))
        };
        Ok(sessions.iter().filter_map(info).collect())
    }

    async fn recall(&self, agent: &SessionId, request: &RecallRequest) -> Result<Recalled, StoreError> {
        let all = self.kept();
        let sessions = &all.sessions;
        let none = || Recalled { texts_with: vec![0; request.terms.len()], ..Recalled::default() };
        Ok(sessions.get(agent).map_or_else(none, |stream| stream.derived.recall(request)))
    }

    async fn memories(&self, agent: &SessionId, ids: &[MemoryId]) -> Result<Vec<Memory>, StoreError> {
        let all = self.kept();
        let sessions = &all.sessions;
        let Some(stream) = sessions.get(agent) else { return Ok(Vec::new()) };
        let kept = ids.iter().filter_map(|id| stream.derived.memories.get(id));
        Ok(kept.map(|kept| kept.memory.clone()).collect())
    }

    async fn list_memories(
        &self,
        agent: &SessionId,
        kind: Option<MemoryKind>,
        before: Option<MemoryId>,
        max: usize,
    ) -> Result<Vec<Memory>, StoreError> {
        let all = self.kept();
        let sessions = &all.sessions;
        let Some(stream) = sessions.get(agent) else { return Ok(Vec::new()) };
        let before = match before {
            Some(id) => match stream.written_at(id) {
                Some(at) => Some((at, id)),
                None => return Ok(Vec::new()),
            },
            None => None,
        };
        Ok(stream.derived.listed(kind, before, max))
    }

    async fn memories_due(&self, agent: &SessionId, now: Stamp, max: usize) -> Result<Vec<Memory>, StoreError> {
        Ok(self.kept().sessions.get(agent).map_or_else(Vec::new, |stream| stream.derived.due(now, max)))
    }

    async fn memory_history(&self, agent: &SessionId, id: MemoryId) -> Result<Vec<Stored>, StoreError> {
        let all = self.kept();
        let sessions = &all.sessions;
        let Some(stream) = sessions.get(agent) else { return Ok(Vec::new()) };
        let places = stream.derived.history(id).iter();
        Ok(places.flat_map(|seq| stream.between(*seq, *seq)).collect())
    }

    async fn linked(&self, digests: &[Digest]) -> Result<Vec<Vec<(SessionId, TurnNo)>>, StoreError> {
        let all = self.kept();
        let of = |digest: &Digest| {
            let mut found: Vec<(i64, SessionId, TurnNo)> = Vec::new();
            for (id, stream) in &all.sessions {
                found.extend(stream.derived.links.get(digest).map(|turn| (stream.number, id.clone(), *turn)));
            }
            found.sort();
            found.into_iter().map(|(_, id, turn)| (id, turn)).collect()
        };
        Ok(digests.iter().map(of).collect())
    }

    async fn turn_of(&self, session: &SessionId, turn_id: &str) -> Result<Option<TurnNo>, StoreError> {
        Ok(self.kept().sessions.get(session).and_then(|stream| stream.derived.turn_ids.get(turn_id).copied()))
    }

    async fn turn_span(&self, session: &SessionId, turn: TurnNo) -> Result<Option<(Seq, Seq)>, StoreError> {
        let all = self.kept();
        let sessions = &all.sessions;
        let mut rows = sessions.get(session).into_iter().flat_map(|stream| stream.derived.exchanges.values());
        Ok(rows.find(|row| row.turn == turn).map(|row| (row.first_seq, row.last_seq)))
    }

    async fn footprint(&self, session: Option<&SessionId>) -> Result<Footprint, StoreError> {
        let all = self.kept();
        let sessions = &all.sessions;
        let asked = sessions.iter().filter(|(id, _)| session.is_none_or(|s| s == *id));
        Ok(asked.fold(Footprint::default(), |sum, (_, stream)| stream.footprint(sum)))
    }

    async fn examine(&self, session: Option<&SessionId>) -> Result<Vec<Finding>, StoreError> {
        let all = self.kept();
        let sessions = &all.sessions;
        let mut findings = Vec::new();
        for (id, stream) in sessions.iter().filter(|(id, _)| session.is_none_or(|s| s == *id)) {
            let folded = stream.fold();
            findings.extend(losses(id, &folded));
            findings.extend(differences(id, &stream.derived, &folded.derived));
        }
        Ok(findings)
    }

    async fn rebuild(&self, session: &SessionId) -> Result<Vec<Finding>, StoreError> {
        let mut all = self.kept();
        let sessions = &mut all.sessions;
        let Some(stream) = sessions.get_mut(session) else { return Ok(Vec::new()) };
        let folded = stream.fold();
        let findings = losses(session, &folded);
        stream.derived = folded.derived;
        all.drop_strays();
        Ok(findings)
    }

    async fn scrub(&self, session: &SessionId, now: Stamp) -> Result<u64, StoreError> {
        let mut all = self.kept();
        let sessions = &mut all.sessions;
        let Some(stream) = sessions.get_mut(session) else { return Ok(0) };
        let events = stream.events.len() as u64;
        if let [Recorded { event: Event::Scrubbed { .. }, .. }] = stream.events.as_slice() {
            return Ok(0);
        }
        let seq = stream.seq().next();
        stream.events = vec![Recorded { seq, at: now, event: Event::Scrubbed { events } }];
        stream.derived = stream.fold().derived;
        all.drop_strays();
        Ok(events)
    }

    async fn erase_memory(&self, agent: &SessionId, id: MemoryId, now: Stamp) -> Result<u64, StoreError> {
        let mut all = self.kept();
        let sessions = &mut all.sessions;
        let Some(stream) = sessions.get_mut(agent) else { return Ok(0) };
        let mut erased = 0;
        for recorded in &mut stream.events {
            if let Some(after) = after_erasure(&recorded.event, id) {
                recorded.event = after;
                erased += 1;
            }
        }
        if erased > 0 {
            let seq = stream.seq().next();
            stream.events.push(Recorded { seq, at: now, event: Event::MemoryErased { id } });
            stream.derived = stream.fold().derived;
        }
        all.drop_strays();
        Ok(erased)
    }
}
