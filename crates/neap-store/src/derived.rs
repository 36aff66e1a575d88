//! What is derived from a stream, whole: kept by the memory backend, compared by examinations, written by
//! rebuilds. Folding a stream gives it again, damaged records left out.

use std::collections::{BTreeMap, BTreeSet};

use neap_core::effort::Effort;
use neap_core::event::{AbandonReason, Event, Recorded};
use neap_core::ids::{EffortId, Seq, Stamp, TurnNo};
use neap_core::ingest::{Digest, Link};
use neap_core::memory::{Memory, MemoryId};
use neap_core::message::Scope;
use neap_core::project::{ExchangeRow, InFlight, MemoryRow, Projection, Rows, rows};
use neap_core::recall::TextKey;
use neap_core::state::{Head, SessionState};
use neap_core::tokens::Tokens;

use crate::Stored;
use crate::card::{CardRow, Indexed};

/// A memory's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptMemory {
    pub(crate) memory: Memory,
    pub(crate) due: Option<Stamp>,
}

/// All rows that are derived from one stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct Derived {
    pub(crate) head: Head,
    pub(crate) efforts: BTreeMap<EffortId, Effort>,
    /// Efforts in the order in which they were opened, from 0.
    pub(crate) opened: BTreeMap<EffortId, u64>,
    /// By the event that ended them, which is the order of a log.
    pub(crate) exchanges: BTreeMap<Seq, ExchangeRow>,
    /// The words of each text, joined by spaces.
    pub(crate) texts: BTreeMap<TextKey, String>,
    /// Of each text its card.
    pub(crate) cards: BTreeMap<TextKey, CardRow>,
    /// How many texts were said.
    pub(crate) said: u64,
    /// Turns that a person took back: they are in no log.
    pub(crate) taken_back: BTreeSet<TurnNo>,
    /// Turns that a rule ended or a person took back: what was said in them is not shown again.
    pub(crate) withheld: BTreeSet<TurnNo>,
    pub(crate) turn_ids: BTreeMap<String, TurnNo>,
    /// What a client said, by what stands for it and all before it, and in which turn.
    pub(crate) links: BTreeMap<Digest, TurnNo>,
    pub(crate) memories: BTreeMap<MemoryId, KeptMemory>,
    /// The places of each memory's events, in order.
    pub(crate) history: BTreeMap<MemoryId, Vec<Seq>>,
}

impl Derived {
    /// Follows a commit.
    pub(crate) fn add(&mut self, events: &[Recorded], projection: Projection) {
        let (head, rows) = projection.split();
        self.add_rows(events, rows);
        self.head = head;
    }

    /// Follows a commit but for the session's row.
    fn add_rows(&mut self, events: &[Recorded], rows: Rows) {
        for recorded in events {
            if let Event::Scrubbed { .. } = recorded.event {
                *self = Self::default();
            }
            self.withheld.extend(withheld(&recorded.event));
            self.taken_back.extend(taken_back(&recorded.event));
            if let Event::EffortOpened { id, .. } = &recorded.event {
                let nth = self.opened.len() as u64;
                self.opened.entry(id.clone()).or_insert(nth);
            }
            self.turn_ids.extend(turn_id(&recorded.event).map(|(id, turn)| (id.to_owned(), turn)));
            for Link { digest, turn } in links(&recorded.event) {
                self.links.entry(*digest).or_insert(*turn);
            }
            if let Some(id) = recorded.event.memory() {
                self.history.entry(id).or_default().push(recorded.seq);
            }
            if let Event::MemoryErased { id } = recorded.event {
                self.memories.remove(&id);
                self.unindex(&TextKey::Memory(id));
            }
        }
        self.efforts.extend(rows.efforts.into_iter().map(|effort| (effort.id.clone(), effort)));
        self.exchanges.extend(rows.exchanges.into_iter().map(|row| (row.last_seq, row)));
        for text in &rows.texts {
            self.index(Indexed::of(text));
        }
        for row in rows.memories {
            match Indexed::of_memory(&row) {
                Some(indexed) => self.index(indexed),
                None => self.unindex(&TextKey::Memory(row.memory.id)),
            }
            let MemoryRow { memory, due, .. } = row;
            self.memories.insert(memory.id, KeptMemory { memory, due });
        }
    }

    fn index(&mut self, indexed: Indexed) {
        let Indexed { key, words, mut row } = indexed;
        if row.kind.is_said() {
            self.said += 1;
            row.nth = self.said;
        }
        self.texts.insert(key.clone(), words);
        self.cards.insert(key, row);
    }

    fn unindex(&mut self, key: &TextKey) {
        self.texts.remove(key);
        self.cards.remove(key);
    }

    /// The state that the rows are parts of.
    pub(crate) fn state(&self) -> SessionState {
        SessionState::from_parts(self.head.clone(), self.efforts.values().cloned())
    }
}

/// The caller's own id of a turn, if the event began one with it.
pub(crate) fn turn_id(event: &Event) -> Option<(&str, TurnNo)> {
    if let Event::TurnStarted { turn, turn_id: Some(id), .. } = event { Some((id, *turn)) } else { None }
}

/// What a client said, if the event links it.
pub(crate) fn links(event: &Event) -> &[Link] {
    if let Event::HistoryLinked { links, .. } = event { links } else { &[] }
}

/// The turn that a rule ended or a person took back, if the event says so.
pub(crate) fn withheld(event: &Event) -> Option<TurnNo> {
    if let Event::TurnAbandoned { turn, reason: AbandonReason::Censored { .. }, .. } = event {
        Some(*turn)
    } else {
        taken_back(event)
    }
}

/// The turn that a person took back, if the event says so.
pub(crate) fn taken_back(event: &Event) -> Option<TurnNo> {
    if let Event::TurnTakenBack { turn, .. } = event { Some(*turn) } else { None }
}

/// A stream followed event by event.
#[derive(Default)]
pub(crate) struct Fold {
    state: SessionState,
    derived: Derived,
    damaged: Vec<(Seq, String)>,
    missing: Vec<(Seq, Seq)>,
}

/// What a stream gives.
pub(crate) struct Folded {
    /// The rows.
    pub(crate) derived: Derived,
    /// Events that could not be read, and why.
    pub(crate) damaged: Vec<(Seq, String)>,
    /// First and last of each run of events that are not there.
    pub(crate) missing: Vec<(Seq, Seq)>,
}

impl Fold {
    /// Follows the next event, or passes over it.
    pub(crate) fn add(&mut self, stored: Stored) {
        let (seq, event) = match &stored {
            Stored::Event(recorded) => (recorded.seq, Some(&recorded.event)),
            Stored::Damaged { seq, .. } => (*seq, None),
        };
        let next = self.state.seq().next();
        if next < seq {
            // An erased stream begins with its tombstone: that nothing is before it is no loss.
            if !(next == Seq(1) && matches!(event, Some(Event::Scrubbed { .. }))) {
                self.missing.push((next, Seq(seq.0 - 1)));
            }
            while self.state.seq().next() < seq {
                self.state.skip(self.state.seq().next());
            }
        }
        match stored {
            Stored::Event(recorded) => self.follow(recorded),
            Stored::Damaged { seq, why } => {
                self.state.skip(seq);
                self.damaged.push((seq, why));
            }
        }
    }

    fn follow(&mut self, recorded: Recorded) {
        let in_flight = InFlight::of(&self.state);
        self.state.apply(&recorded);
        let events = [recorded];
        let rows = rows(&in_flight, &self.state, &events);
        self.derived.add_rows(&events, rows);
        let [Recorded { seq, at, event }] = events;
        self.keep_reply(seq, at, &event);
    }

    /// A reply whose question is lost stays in its log.
    fn keep_reply(&mut self, seq: Seq, at: Stamp, event: &Event) {
        let Event::TurnCompleted { turn, scope, reply, .. } = event else { return };
        let (turn, scope, tokens): (TurnNo, Scope, Tokens) = (*turn, scope.clone(), reply.tokens);
        let row = ExchangeRow { turn, scope, first_seq: seq, last_seq: seq, at, tokens };
        self.derived.exchanges.entry(seq).or_insert(row);
    }

    /// What the stream gave.
    pub(crate) fn finish(self) -> Folded {
        let Fold { state, mut derived, damaged, missing } = self;
        derived.head = state.head().clone();
        Folded { derived, damaged, missing }
    }
}
