//! Lists, examination and erasure for the memory backend.

use async_trait::async_trait;
use neap_core::base::digest::Digest;
use neap_core::base::ids::{Stamp, StreamId, TurnNo};
use neap_core::memory::{MemoryEvent, MemoryId, erase_from_event};
use neap_core::session::event::{Event, RecordedEvent, SessionEvent};
use neap_core::session::project::ExchangeRow;

use super::{MemStore, MemStream};
use crate::backend::card::CardRow;
use crate::backend::derived::Derived;
use crate::backend::examine::{differences, losses};
use crate::footprint::{Footprint, message_bytes};
use crate::{AgentInfo, Finding, Maintenance, SessionInfo, StoreError};

impl MemStream {
    /// Adds the bytes that this stream would take on disk.
    fn footprint(&self, mut sum: Footprint) -> Footprint {
        let Derived { head, efforts, exchanges, texts, cards, turn_ids, links, memories, history, .. } =
            &self.derived;
        sum.said += self.events.iter().map(|e| message_bytes(&e.event)).sum::<u64>();
        sum.events += self.events.iter().map(json_len).sum::<u64>();
        sum.derived += json_len(head) + efforts.values().map(json_len).sum::<u64>();
        sum.derived += (exchanges.len() * size_of::<ExchangeRow>()) as u64;
        sum.derived += turn_ids.keys().map(|id| (id.len() + size_of::<TurnNo>()) as u64).sum::<u64>();
        sum.derived += (links.len() * size_of::<(Digest, TurnNo)>()) as u64;
        sum.derived += memories.values().map(|stored| json_len(&stored.memory)).sum::<u64>();
        sum.derived += history.values().map(|seqs| size_of_val(seqs.as_slice()) as u64).sum::<u64>();
        sum.index += texts.values().map(|words| words.len() as u64).sum::<u64>();
        sum.index +=
            cards.values().map(|row| (size_of::<CardRow>() + row.terms.bytes().len()) as u64).sum::<u64>();
        sum
    }
}

fn json_len<T: serde::Serialize>(value: &T) -> u64 {
    serde_json::to_vec(value).map_or(0, |bytes| bytes.len() as u64)
}

#[async_trait]
impl Maintenance for MemStore {
    async fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError> {
        let all = self.state();
        let sessions = &all.sessions;
        let info = |(id, stream): (&StreamId, &MemStream)| {
            Some(SessionInfo::new(id.session()?, &stream.derived.head, stream.derived.efforts.len() as u64))
        };
        Ok(sessions.iter().filter_map(info).collect())
    }

    async fn agents(&self) -> Result<Vec<AgentInfo>, StoreError> {
        let all = self.state();
        let sessions = &all.sessions;
        let info = |(id, stream): (&StreamId, &MemStream)| {
            Some(AgentInfo::new(id.agent()?, &stream.derived.head, stream.derived.memories.len() as u64))
        };
        Ok(sessions.iter().filter_map(info).collect())
    }

    async fn footprint(&self, session: Option<&StreamId>) -> Result<Footprint, StoreError> {
        let all = self.state();
        let sessions = &all.sessions;
        let selected = sessions.iter().filter(|(id, _)| session.is_none_or(|s| s == *id));
        Ok(selected.fold(Footprint::default(), |sum, (_, stream)| stream.footprint(sum)))
    }

    async fn examine(&self, session: Option<&StreamId>) -> Result<Vec<Finding>, StoreError> {
        let all = self.state();
        let sessions = &all.sessions;
        let mut findings = Vec::new();
        for (id, stream) in sessions.iter().filter(|(id, _)| session.is_none_or(|s| s == *id)) {
            let folded = stream.fold();
            findings.extend(losses(id, &folded));
            findings.extend(differences(id, &stream.derived, &folded.derived));
        }
        Ok(findings)
    }

    async fn rebuild(&self, session: &StreamId) -> Result<Vec<Finding>, StoreError> {
        let mut all = self.state();
        let sessions = &mut all.sessions;
        let Some(stream) = sessions.get_mut(session) else { return Ok(Vec::new()) };
        let folded = stream.fold();
        let findings = losses(session, &folded);
        stream.derived = folded.derived;
        all.drop_stale_vectors();
        Ok(findings)
    }

    async fn scrub(&self, session: &StreamId, now: Stamp) -> Result<u64, StoreError> {
        let mut all = self.state();
        let sessions = &mut all.sessions;
        let Some(stream) = sessions.get_mut(session) else { return Ok(0) };
        let events = stream.events.len() as u64;
        if let [RecordedEvent { event: Event::Session(SessionEvent::Scrubbed { .. }), .. }] =
            stream.events.as_slice()
        {
            return Ok(0);
        }
        let seq = stream.seq().next();
        stream.events = vec![RecordedEvent { seq, at: now, event: SessionEvent::Scrubbed { events }.into() }];
        stream.derived = stream.fold().derived;
        all.drop_stale_vectors();
        Ok(events)
    }

    async fn erase_memory(&self, stream: &StreamId, id: MemoryId, now: Stamp) -> Result<u64, StoreError> {
        let mut all = self.state();
        let sessions = &mut all.sessions;
        let Some(stream) = sessions.get_mut(stream) else { return Ok(0) };
        let mut erased = 0;
        for recorded in &mut stream.events {
            if let Some(after) = recorded.event.as_memory().and_then(|event| erase_from_event(event, id)) {
                recorded.event = after.into();
                erased += 1;
            }
        }
        if erased > 0 {
            let seq = stream.seq().next();
            stream.events.push(RecordedEvent { seq, at: now, event: MemoryEvent::Erased { id }.into() });
            stream.derived = stream.fold().derived;
        }
        all.drop_stale_vectors();
        Ok(erased)
    }
}
