//! All rows derived from one stream. Folding the stream again yields the same, without its damaged records.

use std::collections::{BTreeMap, BTreeSet};

use neap_core::base::digest::Digest;
use neap_core::base::ids::{EffortId, Seq, Stamp, TurnNo};
use neap_core::base::message::Scope;
use neap_core::base::tokens::Tokens;
use neap_core::client::HistoryLink;
use neap_core::memory::{Memory, MemoryEvent, MemoryId};
use neap_core::recall::TextKey;
use neap_core::session::effort::Effort;
use neap_core::session::event::{
    AbandonReason, ClientEvent, EffortEvent, Event, RecordedEvent, SessionEvent, TurnEvent,
};
use neap_core::session::project::{
    ExchangeRow, MemoryRow, ProjectedRows, Projection, TurnsInFlight, project_rows,
};
use neap_core::session::state::{SessionHead, SessionState};

use crate::StoredEvent;
use crate::backend::card::{CardRow, IndexEntry};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredMemory {
    pub memory: Memory,
    pub due: Option<Stamp>,
}

#[derive(Debug, Clone, Default)]
pub struct Derived {
    pub head: SessionHead,
    pub efforts: BTreeMap<EffortId, Effort>,
    /// The position of each effort in the order of opening, from 0.
    pub effort_order: BTreeMap<EffortId, u64>,
    /// By the event that ended them, which is the order of a log.
    pub exchanges: BTreeMap<Seq, ExchangeRow>,
    /// The terms of each text, joined by spaces.
    pub texts: BTreeMap<TextKey, String>,
    pub cards: BTreeMap<TextKey, CardRow>,
    pub message_count: u64,
    /// Turns that a person took back; they are in no log.
    pub undone_turns: BTreeSet<TurnNo>,
    /// Turns that a censor ended or a person took back; their texts are not shown again.
    pub withheld_turns: BTreeSet<TurnNo>,
    pub turn_ids: BTreeMap<String, TurnNo>,
    /// Digests of a client's history up to a message, and the turn it belongs to.
    pub links: BTreeMap<Digest, TurnNo>,
    pub memories: BTreeMap<MemoryId, StoredMemory>,
    /// The events of each memory, in order.
    pub history: BTreeMap<MemoryId, Vec<Seq>>,
}

impl Derived {
    pub fn add(&mut self, events: &[RecordedEvent], projection: Projection) {
        let Projection { head, rows } = projection;
        self.add_rows(events, rows);
        self.head = head;
    }

    /// Applies a commit except for the session's row.
    fn add_rows(&mut self, events: &[RecordedEvent], rows: ProjectedRows) {
        for recorded in events {
            if let Event::Session(SessionEvent::Scrubbed { .. }) = recorded.event {
                *self = Self::default();
            }
            self.withheld_turns.extend(withheld_turn(&recorded.event));
            self.undone_turns.extend(undone_turn(&recorded.event));
            if let Event::Effort(EffortEvent::Opened { id, .. }) = &recorded.event {
                let nth = self.effort_order.len() as u64;
                self.effort_order.entry(id.clone()).or_insert(nth);
            }
            self.turn_ids.extend(turn_id(&recorded.event).map(|(id, turn)| (id.to_owned(), turn)));
            for HistoryLink { digest, turn } in links(&recorded.event) {
                self.links.entry(*digest).or_insert(*turn);
            }
            if let Some(id) = recorded.event.memory_id() {
                self.history.entry(id).or_default().push(recorded.seq);
            }
            if let Event::Memory(MemoryEvent::Erased { id }) = recorded.event {
                self.memories.remove(&id);
                self.unindex(&TextKey::Memory(id));
            }
        }
        self.efforts.extend(rows.efforts.into_iter().map(|effort| (effort.id.clone(), effort)));
        self.exchanges.extend(rows.exchanges.into_iter().map(|row| (row.last_seq, row)));
        for text in &rows.texts {
            self.index(IndexEntry::of(text));
        }
        for row in rows.memories {
            match IndexEntry::of_memory(&row) {
                Some(indexed) => self.index(indexed),
                None => self.unindex(&TextKey::Memory(row.memory.id)),
            }
            let MemoryRow { memory, due, .. } = row;
            self.memories.insert(memory.id, StoredMemory { memory, due });
        }
    }

    fn index(&mut self, indexed: IndexEntry) {
        let IndexEntry { key, words, mut row } = indexed;
        if row.kind.is_message() {
            self.message_count += 1;
            row.nth = self.message_count;
        }
        self.texts.insert(key.clone(), words);
        self.cards.insert(key, row);
    }

    fn unindex(&mut self, key: &TextKey) {
        self.texts.remove(key);
        self.cards.remove(key);
    }

    pub fn state(&self) -> SessionState {
        SessionState::from_parts(self.head.clone(), self.efforts.values().cloned())
    }
}

/// The caller's own turn id, if the event started a turn with one.
pub fn turn_id(event: &Event) -> Option<(&str, TurnNo)> {
    let Event::Turn(TurnEvent::Started { turn, turn_id: Some(id), .. }) = event else { return None };
    Some((id, *turn))
}

pub fn links(event: &Event) -> &[HistoryLink] {
    if let Event::Client(ClientEvent::HistoryLinked { links, .. }) = event { links } else { &[] }
}

/// The turn that a censor ended or a person took back, if the event says so.
pub fn withheld_turn(event: &Event) -> Option<TurnNo> {
    if let Event::Turn(TurnEvent::Abandoned { turn, reason: AbandonReason::Censored { .. }, .. }) = event {
        Some(*turn)
    } else {
        undone_turn(event)
    }
}

pub fn undone_turn(event: &Event) -> Option<TurnNo> {
    if let Event::Turn(TurnEvent::TakenBack { turn, .. }) = event { Some(*turn) } else { None }
}

#[derive(Default)]
pub struct Fold {
    state: SessionState,
    derived: Derived,
    damaged: Vec<(Seq, String)>,
    missing: Vec<(Seq, Seq)>,
}

pub struct Folded {
    pub derived: Derived,
    pub damaged: Vec<(Seq, String)>,
    /// First and last of each run of missing events.
    pub missing: Vec<(Seq, Seq)>,
}

impl Fold {
    /// Applies the next event, or skips it if it is damaged.
    pub fn add(&mut self, stored: StoredEvent) {
        let (seq, event) = match &stored {
            StoredEvent::Whole(recorded) => (recorded.seq, Some(&recorded.event)),
            StoredEvent::Damaged { seq, .. } => (*seq, None),
        };
        let next = self.state.seq().next();
        if seq < next {
            // A damaged file may give a row again, or in another place.
            self.damaged.push((seq, "it is out of order".to_owned()));
            return;
        }
        if next < seq {
            // The stream of an erased session begins with its tombstone; the gap before it is no loss.
            if !(next == Seq(1) && matches!(event, Some(Event::Session(SessionEvent::Scrubbed { .. })))) {
                self.missing.push((next, Seq(seq.0 - 1)));
            }
            self.state.skip_to(Seq(seq.0 - 1));
        }
        match stored {
            StoredEvent::Whole(recorded) => self.apply(recorded),
            StoredEvent::Damaged { seq, why } => {
                self.state.skip_to(seq);
                self.damaged.push((seq, why));
            }
        }
    }

    fn apply(&mut self, recorded: RecordedEvent) {
        let in_flight = TurnsInFlight::of(&self.state);
        self.state.apply(&recorded);
        let events = [recorded];
        let rows = project_rows(&in_flight, &self.state, &events);
        self.derived.add_rows(&events, rows);
        let [RecordedEvent { seq, at, event }] = events;
        self.keep_orphan_reply(seq, at, &event);
    }

    /// A reply whose question is lost stays in its log.
    fn keep_orphan_reply(&mut self, seq: Seq, at: Stamp, event: &Event) {
        let Event::Turn(TurnEvent::Completed { turn, scope, reply, .. }) = event else { return };
        let (turn, scope, tokens): (TurnNo, Scope, Tokens) = (*turn, scope.clone(), reply.tokens);
        let row = ExchangeRow { turn, scope, first_seq: seq, last_seq: seq, at, tokens };
        self.derived.exchanges.entry(seq).or_insert(row);
    }

    pub fn finish(self) -> Folded {
        let Fold { state, mut derived, damaged, missing } = self;
        derived.head = state.head().clone();
        Folded { derived, damaged, missing }
    }
}
