//! What a commit changes in the derived tables. They are views: dropping them and folding the stream
//! through this again gives the same rows.

use std::collections::BTreeMap;

use crate::effort::Effort;
use crate::event::{AbandonReason, Event, Recorded, RoundVisibility};
use crate::ids::{EffortId, Seq, Stamp, TurnNo};
use crate::memory::{Memory, MemoryId};
use crate::message::{Exchange, Incomplete, Message, Scope};
use crate::recall::{Text, TextKey, TextKind, text_of};
use crate::state::{Head, Pending, SessionState};
use crate::tokens::Tokens;

/// What the words that stand for a withheld message cost at most, in any encoding.
const CENSORED_TOKENS: Tokens = Tokens(40);

/// Where one exchange of a log is in the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeRow {
    /// Its turn; unique in the session.
    pub turn: TurnNo,
    /// Whose log it is in.
    pub scope: Scope,
    /// The event that began it.
    pub first_seq: Seq,
    /// The event that ended it.
    pub last_seq: Seq,
    /// When it began.
    pub at: Stamp,
    /// What showing it costs.
    pub tokens: Tokens,
}

/// A memory in its new form, and what it is found by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryRow {
    /// The record.
    pub memory: Memory,
    /// The event that made it so.
    pub seq: Seq,
    /// What search finds it by.
    pub text: String,
    /// When it is next looked at for what time does to it.
    pub due: Option<Stamp>,
}

/// New rows, and rows in their new form.
#[derive(Debug, Clone, PartialEq)]
pub struct Projection {
    /// The session's row.
    pub head: Head,
    /// Efforts that changed.
    pub efforts: Vec<Effort>,
    /// Exchanges that ended.
    pub exchanges: Vec<ExchangeRow>,
    /// Memories that changed, each once.
    pub memories: Vec<MemoryRow>,
    /// Texts to index.
    pub texts: Vec<Text>,
}

/// A projection but for the session's row.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// Efforts that changed.
    pub efforts: Vec<Effort>,
    /// Exchanges that ended.
    pub exchanges: Vec<ExchangeRow>,
    /// Memories that changed, each once.
    pub memories: Vec<MemoryRow>,
    /// Texts to index.
    pub texts: Vec<Text>,
}

impl Projection {
    /// The session's row, and the others.
    pub fn split(self) -> (Head, Rows) {
        let Projection { head, efforts, exchanges, memories, texts } = self;
        (head, Rows { efforts, exchanges, memories, texts })
    }
}

/// What search finds an effort by.
pub fn effort_text(effort: &Effort) -> String {
    let summary = effort.summary.as_ref().map_or("", |s| s.text.as_str());
    format!("{} {} {summary}", effort.id, effort.name)
}

fn of_effort(effort: &Effort) -> Text {
    Text {
        key: TextKey::Effort(effort.id.clone()),
        kind: TextKind::Effort,
        turn: TurnNo(0),
        at: effort.created,
        who: None,
        tokens: effort.summary.as_ref().map_or(Tokens::ZERO, |summary| summary.tokens),
        text: effort_text(effort).into(),
    }
}

/// Turns in flight before events are applied: a projection must know where exchanges began.
#[derive(Debug, Clone, Default)]
pub struct InFlight(BTreeMap<TurnNo, Begun>);

#[derive(Debug, Clone, Copy)]
struct Begun {
    first_seq: Seq,
    at: Stamp,
    tokens: Tokens,
}

impl InFlight {
    /// Remembers them.
    pub fn of(state: &SessionState) -> Self {
        let begun = |p: &Pending| Begun { first_seq: p.first_seq, at: p.at, tokens: p.tokens };
        Self(state.head().pending.iter().map(|(turn, pending)| (*turn, begun(pending))).collect())
    }
}

/// The rows that `events`, already applied to `state`, change.
pub fn project(in_flight: &InFlight, state: &SessionState, events: &[Recorded]) -> Projection {
    let Rows { efforts, exchanges, memories, texts } = rows(in_flight, state, events);
    Projection { head: state.head().clone(), efforts, exchanges, memories, texts }
}

/// The same but for the session's row, which can be large: whoever follows a long stream needs it once, at the end.
pub fn rows(in_flight: &InFlight, state: &SessionState, events: &[Recorded]) -> Rows {
    let mut pending = in_flight.0.clone();
    let mut touched: Vec<&EffortId> = Vec::new();
    let mut indexed: Vec<&EffortId> = Vec::new();
    let mut exchanges = Vec::new();
    let mut texts = Vec::new();
    let mut memories = BTreeMap::new();
    for Recorded { seq, at, event } in events {
        texts.extend(text_of(*seq, *at, event));
        match event {
            Event::TurnStarted { turn, message, .. } => {
                pending.insert(*turn, Begun { first_seq: *seq, at: *at, tokens: message.tokens });
            }
            Event::ToolsCalled { turn, round, visibility } => {
                if *visibility == RoundVisibility::Transcript
                    && let Some(started) = pending.get_mut(turn)
                {
                    started.tokens += round.tokens();
                }
            }
            Event::TurnCompleted { turn, scope, reply, .. } => {
                exchanges.extend(pending.remove(turn).map(|p| row(*turn, scope, &p, *seq, reply.tokens)));
                touched.extend(scope.effort());
            }
            Event::MessageAdded { turn, message } => {
                if let Some(started) = pending.get_mut(turn) {
                    started.tokens += message.tokens;
                }
            }
            Event::TurnAbandoned { turn, scope, .. } | Event::TurnClosed { turn, scope } => {
                exchanges.extend(pending.remove(turn).map(|p| row(*turn, scope, &p, *seq, Tokens::ZERO)));
                touched.extend(scope.effort());
            }
            Event::EffortConcluded { id, next_active, .. } => {
                touched.push(id);
                touched.extend(next_active);
                indexed.push(id);
            }
            Event::EffortSummarized { id, .. } | Event::EffortOpened { id, .. } => {
                touched.push(id);
                indexed.push(id);
            }
            Event::EffortExpanded { id, .. }
            | Event::EffortCollapsed { id, .. }
            | Event::EffortSwitched { id, .. }
            | Event::EffortReopened { id, .. } => touched.push(id),
            Event::EffortsReferenced { ids, .. } | Event::SummariesEvicted { ids, .. } => touched.extend(ids),
            Event::SpanCompacted { scope, .. } => touched.extend(scope.effort()),
            Event::TurnTakenBack { scope, .. } => {
                touched.extend(scope.effort());
                indexed.extend(scope.effort());
            }
            Event::MemoryChanged { memory, .. } => {
                let row =
                    MemoryRow { memory: Memory::clone(memory), seq: *seq, text: memory.text(), due: memory.due() };
                memories.insert(memory.id, row);
            }
            Event::MemoryErased { id } => {
                memories.remove(id);
            }
            Event::SessionCreated { .. }
            | Event::MemoriesLoaded { .. }
            | Event::CensorTriggered { .. }
            | Event::PolicyChanged { .. }
            | Event::HistoryLinked { .. }
            | Event::RequestPassed { .. }
            | Event::ClientCompacted { .. }
            | Event::EpochBegan { .. }
            | Event::Scrubbed { .. } => {}
        }
    }
    for list in [&mut touched, &mut indexed] {
        list.sort();
        list.dedup();
    }
    let effort_texts = indexed.into_iter().filter_map(|id| state.effort(id));
    texts.extend(effort_texts.map(of_effort));
    let efforts = touched.into_iter().filter_map(|id| state.effort(id)).cloned().collect();
    let memories = memories.into_values().collect();
    Rows { efforts, exchanges, memories, texts }
}

fn row(turn: TurnNo, scope: &Scope, begun: &Begun, last_seq: Seq, reply: Tokens) -> ExchangeRow {
    ExchangeRow {
        turn,
        scope: scope.clone(),
        first_seq: begun.first_seq,
        last_seq,
        at: begun.at,
        tokens: begun.tokens + reply,
    }
}

/// Puts an exchange together from the events between its first and its last; others may lie between.
pub fn exchange(turn: TurnNo, at: Stamp, events: &[Recorded]) -> Exchange {
    let of_turn = || events.iter().filter(|recorded| recorded.event.turn() == Some(turn));
    let mut exchange =
        Exchange { turn, at, messages: of_turn().flat_map(|recorded| recorded.event.said()).cloned().collect() };
    for recorded in of_turn() {
        if let Event::TurnAbandoned { reason: AbandonReason::Censored { id, .. }, .. } = &recorded.event {
            withhold(&mut exchange, *id);
        }
    }
    exchange
}

/// A rule ended the turn: what was said in it stays stored, and is not shown to a model again.
pub(crate) fn withhold(exchange: &mut Exchange, id: MemoryId) {
    for said in &mut exchange.messages {
        let incomplete = Some(Incomplete::Withheld { rule: id, reason: String::new() });
        said.message = Message { content: "".into(), incomplete, ..said.message.clone() };
        said.tokens = said.tokens.max(CENSORED_TOKENS);
    }
}
