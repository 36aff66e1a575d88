//! Turns in a list: each in one row, from any point of a session, at a cost of what is listed.

use std::collections::BTreeMap;

use neap_core::base::cost::Cost;
use neap_core::base::ids::{Seq, SessionId, Stamp, TurnNo};
use neap_core::base::ledger::LayerTokens;
use neap_core::base::message::Scope;
use neap_core::base::tokens::Tokens;
use neap_core::client::RequestAccount;
use neap_core::session::event::{ClientEvent, EpochCause, Event, RecordedEvent, TurnEvent, WindowEvent};
use serde::Serialize;

use crate::engine::Engine;
use crate::error::EngineError;

/// Of a message, in characters.
const MESSAGE_CHARS_MAX: usize = 200;
const PAGE: usize = 512;

/// Events that a row shows.
const KINDS: [&str; 20] = [
    "turn_started", "turn_completed", "turn_abandoned", "turn_closed", "turn_taken_back", "request_passed",
    "client_compacted", "epoch_began", "span_compacted", "effort_opened", "effort_concluded", "effort_summarized",
    "effort_expanded", "effort_collapsed", "effort_switched", "effort_reopened", "efforts_referenced",
    "summaries_evicted", "memories_loaded", "censor_triggered",
];

/// What became of a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnState {
    /// Neap assembled its prompt, and the model replied.
    Completed,
    /// Another program held it.
    Recorded,
    /// It got no reply.
    Abandoned,
    /// It has not ended.
    #[default]
    Pending,
    /// A person took it back.
    TakenBack,
}

/// A turn in short.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TurnRow {
    /// Counted from 1 in its session.
    pub turn: TurnNo,
    /// When it began.
    pub at: Stamp,
    /// What became of it.
    pub state: TurnState,
    /// The log that it went to.
    pub scope: Option<Scope>,
    /// How its message begins.
    pub message: String,
    /// The prompt's budget.
    pub budget: Option<Tokens>,
    /// The prompt's tokens by layer.
    pub tokens: Option<LayerTokens>,
    /// The prompt's tokens.
    pub tokens_total: Option<Tokens>,
    /// What sending everything would have cost.
    pub naive_tokens: Option<Tokens>,
    /// The turn that last rewrote the prompt.
    pub epoch_since: Option<TurnNo>,
    /// Why the prompt was rewritten for this turn, if it was.
    pub rewritten: Option<EpochCause>,
    /// What its model calls cost.
    pub cost: Option<Cost>,
    /// Its proxied requests.
    pub requests: Vec<RequestAccount>,
    /// The kinds of the other events.
    pub happened: Vec<&'static str>,
}

impl Engine {
    /// Turns in short, newest first, from before `before` if given; at most `max`.
    pub async fn turn_rows(
        &self,
        id: &SessionId,
        before: Option<TurnNo>,
        max: usize,
    ) -> Result<Vec<TurnRow>, EngineError> {
        let head = self.head(id).await?;
        let store = &self.parts.store;
        let last = before.map_or(head.turn.0, |before| before.0.saturating_sub(1).min(head.turn.0));
        let first = (last + 1).saturating_sub(max as u64).max(1);
        if last == 0 || max == 0 {
            return Ok(Vec::new());
        }
        // Decay after a turn follows its end, so the page begins where the next turn does.
        let next = TurnNo(last + 1);
        let mut end = match store.turn_span(id, next).await? {
            Some((began, _)) => Some(began),
            None => head.pending.get(&next).map(|pending| pending.first_seq),
        };
        let start = match store.turn_span(id, TurnNo(first)).await? {
            Some((began, _)) => began,
            None => head.pending.get(&TurnNo(first)).map_or(Seq(1), |pending| pending.first_seq),
        };
        let mut rows: BTreeMap<TurnNo, TurnRow> = BTreeMap::new();
        loop {
            let page = store.events_of_kinds(id, &KINDS, end, PAGE).await?;
            let Some(oldest) = page.last().map(neap_store::StoredEvent::seq) else { break };
            for recorded in page.into_iter().filter_map(neap_store::StoredEvent::whole) {
                let turn = recorded.event.turn().filter(|turn| (first..=last).contains(&turn.0));
                if let Some(turn) = turn {
                    rows.entry(turn).or_insert_with(|| TurnRow { turn, ..TurnRow::default() }).add(recorded);
                }
            }
            if oldest <= start {
                break;
            }
            end = Some(oldest);
        }
        let mut rows: Vec<TurnRow> = rows.into_values().rev().collect();
        for row in &mut rows {
            row.requests.reverse();
            row.happened.reverse();
        }
        Ok(rows)
    }
}

impl TurnRow {
    /// Adds an event of the turn; they come newest first.
    fn add(&mut self, recorded: RecordedEvent) {
        let kind = recorded.event.kind();
        match recorded.event {
            Event::Turn(TurnEvent::Started { message, .. }) => {
                self.at = recorded.at;
                self.message = message.message.content.chars().take(MESSAGE_CHARS_MAX).collect();
            }
            Event::Turn(TurnEvent::Completed { scope, ledger, .. }) => {
                self.end_as(TurnState::Completed, scope);
                self.budget = Some(ledger.budget);
                self.tokens = Some(ledger.tokens);
                self.tokens_total = Some(ledger.tokens.total());
                self.naive_tokens = Some(ledger.naive_tokens);
                self.epoch_since = ledger.epoch_since;
                self.cost = Some(ledger.cost);
            }
            Event::Turn(TurnEvent::Abandoned { scope, .. }) => self.end_as(TurnState::Abandoned, scope),
            Event::Turn(TurnEvent::Closed { scope, .. }) => self.end_as(TurnState::Recorded, scope),
            Event::Turn(TurnEvent::TakenBack { scope, .. }) => self.end_as(TurnState::TakenBack, scope),
            Event::Turn(TurnEvent::ToolsCalled { .. } | TurnEvent::MessageAdded { .. }) => {}
            Event::Client(ClientEvent::RequestPassed { account, .. }) => self.requests.push(account),
            Event::Window(WindowEvent::EpochBegan { cause, .. }) => {
                self.rewritten = self.rewritten.or(Some(cause));
                self.happened.push(kind);
            }
            Event::Window(_) | Event::Effort(_) | Event::Memory(_) | Event::Client(_) | Event::Session(_) => {
                self.happened.push(kind);
            }
        }
    }

    /// The newest end counts.
    fn end_as(&mut self, state: TurnState, scope: Scope) {
        if self.state == TurnState::Pending {
            self.state = state;
        }
        self.scope.get_or_insert(scope);
    }
}
