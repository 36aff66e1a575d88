//! What a commit changes in the derived tables. They are views: dropping them and folding the stream through this
//! module again gives the same rows.

use std::collections::BTreeMap;

use crate::base::ids::{EffortId, Seq, Stamp, TurnNo};
use crate::base::message::{Exchange, Incomplete, Message, Scope};
use crate::base::tokens::Tokens;
use crate::memory::{Memory, MemoryEvent, MemoryId};
use crate::recall::{IndexedText, TextKey, TextKind};
use crate::session::effort::Effort;
use crate::session::event::{
    AbandonReason, EffortEvent, Event, RecordedEvent, RoundVisibility, TurnEvent, WindowEvent,
};
use crate::session::indexed_text;
use crate::session::state::{PendingTurn, SessionHead, SessionState};

/// Upper bound, in any encoding, for the text that replaces a withheld message.
const CENSORED_TOKENS: Tokens = Tokens(40);

/// Where one exchange of a log is in the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeRow {
    /// Unique in the session.
    pub turn: TurnNo,
    pub scope: Scope,
    pub first_seq: Seq,
    pub last_seq: Seq,
    pub at: Stamp,
    pub tokens: Tokens,
}

/// A memory's current form and its search text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryRow {
    pub memory: Memory,
    /// The event that made it so.
    pub seq: Seq,
    pub text: String,
    /// When its next time-based transition is due.
    pub due: Option<Stamp>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Projection {
    pub head: SessionHead,
    pub rows: ProjectedRows,
}

/// A projection without the session's row.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectedRows {
    pub efforts: Vec<Effort>,
    pub exchanges: Vec<ExchangeRow>,
    /// Memories that changed, each once.
    pub memories: Vec<MemoryRow>,
    pub texts: Vec<IndexedText>,
}

/// The text that search finds an effort by.
pub fn effort_text(effort: &Effort) -> String {
    let summary = effort.summary.as_ref().map_or("", |s| s.text.as_str());
    format!("{} {} {summary}", effort.id, effort.name)
}

fn effort_search_text(effort: &Effort) -> IndexedText {
    IndexedText {
        key: TextKey::Effort(effort.id.clone()),
        kind: TextKind::Effort,
        turn: TurnNo(0),
        at: effort.created,
        speaker: None,
        tokens: effort.summary.as_ref().map_or(Tokens::ZERO, |summary| summary.tokens),
        text: effort_text(effort).into(),
    }
}

/// Turns in flight before the events are applied: they tell where each exchange began.
#[derive(Debug, Clone, Default)]
pub struct TurnsInFlight(BTreeMap<TurnNo, TurnStart>);

#[derive(Debug, Clone, Copy)]
struct TurnStart {
    first_seq: Seq,
    at: Stamp,
    tokens: Tokens,
}

impl TurnsInFlight {
    pub fn of(state: &SessionState) -> Self {
        let turn_start = |p: &PendingTurn| TurnStart { first_seq: p.first_seq, at: p.at, tokens: p.tokens };
        Self(state.head().pending.iter().map(|(turn, pending)| (*turn, turn_start(pending))).collect())
    }
}

/// The rows changed by `events`, which `state` has already applied.
pub fn project(in_flight: &TurnsInFlight, state: &SessionState, events: &[RecordedEvent]) -> Projection {
    Projection { head: state.head().clone(), rows: project_rows(in_flight, state, events) }
}

/// Like [`project`] without the session's row, which can be large: a reader of a long stream needs it only once,
/// at the end.
pub fn project_rows(in_flight: &TurnsInFlight, state: &SessionState, events: &[RecordedEvent]) -> ProjectedRows {
    let mut pending = in_flight.0.clone();
    let (mut touched, mut indexed) = (Vec::new(), Vec::new());
    let (mut exchanges, mut texts, mut memories) = (Vec::new(), Vec::new(), BTreeMap::new());
    for RecordedEvent { seq, at, event } in events {
        texts.extend(indexed_text(*seq, *at, event));
        match event {
            Event::Turn(event) => {
                exchanges.extend(follow_turn(&mut pending, *seq, *at, event));
                if let TurnEvent::TakenBack { scope, .. } = event {
                    indexed.extend(scope.effort());
                }
                if let TurnEvent::Completed { scope, .. }
                | TurnEvent::Abandoned { scope, .. }
                | TurnEvent::Closed { scope, .. }
                | TurnEvent::TakenBack { scope, .. } = event
                {
                    touched.extend(scope.effort());
                }
            }
            Event::Effort(event) => note_effort(event, &mut touched, &mut indexed),
            Event::Window(WindowEvent::SpanCompacted { scope, .. }) => touched.extend(scope.effort()),
            Event::Memory(MemoryEvent::Changed { memory, .. }) => {
                let (text, due) = (memory.search_text(), memory.transition_due());
                memories.insert(memory.id, MemoryRow { memory: Memory::clone(memory), seq: *seq, text, due });
            }
            Event::Memory(MemoryEvent::Erased { id }) => {
                memories.remove(id);
            }
            Event::Session(_)
            | Event::Memory(MemoryEvent::Loaded { .. } | MemoryEvent::CensorTriggered { .. })
            | Event::Client(_)
            | Event::Window(WindowEvent::EpochBegan { .. }) => {}
        }
    }
    for list in [&mut touched, &mut indexed] {
        list.sort();
        list.dedup();
    }
    let effort_texts = indexed.into_iter().filter_map(|id| state.effort(id));
    texts.extend(effort_texts.map(effort_search_text));
    let efforts = touched.into_iter().filter_map(|id| state.effort(id)).cloned().collect();
    let memories = memories.into_values().collect();
    ProjectedRows { efforts, exchanges, memories, texts }
}

/// Notes the efforts whose rows and texts change.
fn note_effort<'e>(event: &'e EffortEvent, touched: &mut Vec<&'e EffortId>, indexed: &mut Vec<&'e EffortId>) {
    match event {
        EffortEvent::Concluded { id, next_active, .. } => {
            touched.push(id);
            touched.extend(next_active);
            indexed.push(id);
        }
        EffortEvent::Summarized { id, .. } | EffortEvent::Opened { id, .. } => {
            touched.push(id);
            indexed.push(id);
        }
        EffortEvent::Expanded { id, .. }
        | EffortEvent::Collapsed { id, .. }
        | EffortEvent::Switched { id, .. }
        | EffortEvent::Reopened { id, .. } => touched.push(id),
        EffortEvent::Referenced { ids, .. } | EffortEvent::Evicted { ids, .. } => touched.extend(ids),
    }
}

/// The exchange that an event ends.
fn follow_turn(
    pending: &mut BTreeMap<TurnNo, TurnStart>,
    seq: Seq,
    at: Stamp,
    event: &TurnEvent,
) -> Option<ExchangeRow> {
    let (turn, added) = match event {
        TurnEvent::Started { turn, message, .. } => {
            pending.insert(*turn, TurnStart { first_seq: seq, at, tokens: message.tokens });
            return None;
        }
        TurnEvent::ToolsCalled { turn, round, visibility: RoundVisibility::Transcript } => (turn, round.tokens()),
        TurnEvent::MessageAdded { turn, message } => (turn, message.tokens),
        TurnEvent::Completed { turn, scope, reply, .. } => {
            return pending.remove(turn).map(|start| exchange_row(*turn, scope, &start, seq, reply.tokens));
        }
        TurnEvent::Abandoned { turn, scope, .. } | TurnEvent::Closed { turn, scope } => {
            return pending.remove(turn).map(|start| exchange_row(*turn, scope, &start, seq, Tokens::ZERO));
        }
        TurnEvent::ToolsCalled { visibility: RoundVisibility::ThisTurn, .. } | TurnEvent::TakenBack { .. } => {
            return None;
        }
    };
    if let Some(started) = pending.get_mut(turn) {
        started.tokens += added;
    }
    None
}

fn exchange_row(turn: TurnNo, scope: &Scope, start: &TurnStart, last_seq: Seq, reply: Tokens) -> ExchangeRow {
    ExchangeRow {
        turn,
        scope: scope.clone(),
        first_seq: start.first_seq,
        last_seq,
        at: start.at,
        tokens: start.tokens + reply,
    }
}

/// Builds an exchange from the events between its first and its last; events of other turns may lie between.
pub fn build_exchange(turn: TurnNo, at: Stamp, events: &[RecordedEvent]) -> Exchange {
    let turn_events = || events.iter().filter(|recorded| recorded.event.turn() == Some(turn));
    let mut exchange = Exchange {
        turn,
        at,
        messages: turn_events().flat_map(|recorded| recorded.event.transcript_messages()).cloned().collect(),
    };
    for recorded in turn_events() {
        if let Event::Turn(TurnEvent::Abandoned { reason: AbandonReason::Censored { id, .. }, .. }) =
            &recorded.event
        {
            withhold(&mut exchange, *id);
        }
    }
    exchange
}

/// A censor ended the turn: its messages stay stored but are not shown to a model again.
pub(crate) fn withhold(exchange: &mut Exchange, id: MemoryId) {
    for counted in &mut exchange.messages {
        let incomplete = Some(Incomplete::Withheld { rule: id, reason: String::new() });
        counted.message = Message { content: "".into(), incomplete, ..counted.message.clone() };
        counted.tokens = counted.tokens.max(CENSORED_TOKENS);
    }
}
