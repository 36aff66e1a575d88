//! What erasing one memory changes in its agent's stream.

use std::collections::BTreeMap;

use neap_core::base::ids::{Seq, Stamp};
use neap_core::memory::{MemoryEvent, MemoryId, erase_from_event};
use neap_core::session::event::{Event, RecordedEvent};
use neap_core::session::state::SessionHead;

use super::derived::Fold;
use crate::StoredEvent;

pub struct MemoryErasure {
    id: MemoryId,
    changed: BTreeMap<Seq, Event>,
    fold: Fold,
    is_whole: bool,
}

pub struct PlannedErasure {
    /// Events to overwrite, with their replacements.
    pub changed: BTreeMap<Seq, Event>,
    /// What is appended.
    pub tombstone: RecordedEvent,
    /// The agent's row afterwards; `None` if there are damaged events: a tombstone may replace some of them, so only the
    /// changed stream tells.
    pub head: Option<SessionHead>,
}

impl MemoryErasure {
    /// `history` are the events that are known to be the memory's. The events themselves tell which are; for damaged
    /// ones only the history can.
    pub fn new(id: MemoryId, history: impl IntoIterator<Item = Seq>) -> Self {
        let tombstone = Event::Memory(MemoryEvent::Erased { id });
        let changed = history.into_iter().map(|seq| (seq, tombstone.clone())).collect();
        Self { id, changed, fold: Fold::default(), is_whole: true }
    }

    /// Takes the stream's next event.
    pub fn add(&mut self, stored: StoredEvent) {
        let StoredEvent::Whole(mut recorded) = stored else {
            self.is_whole = false;
            return;
        };
        match recorded.event.as_memory().and_then(|event| erase_from_event(event, self.id)) {
            Some(after) => {
                recorded.event = after.into();
                self.changed.insert(recorded.seq, recorded.event.clone());
            }
            None => {
                self.changed.remove(&recorded.seq);
            }
        }
        self.fold.add(StoredEvent::Whole(recorded));
    }

    /// `last` is the stream's last event. `None` if there is nothing to erase.
    pub fn finish(self, last: Seq, now: Stamp) -> Option<PlannedErasure> {
        let Self { id, changed, mut fold, is_whole } = self;
        let tombstone = RecordedEvent { seq: last.next(), at: now, event: MemoryEvent::Erased { id }.into() };
        fold.add(StoredEvent::Whole(tombstone.clone()));
        let head = is_whole.then(|| fold.finish().derived.head);
        (!changed.is_empty()).then_some(PlannedErasure { changed, tombstone, head })
    }
}
