//! What a turn's prompt contained, and why.

use neap_core::base::ids::{Seq, StreamId, TurnNo};
use neap_core::base::ledger::Ledger;
use neap_core::base::message::{Incomplete, Scope, ToolRound, display_text};
use neap_core::memory::knowledge::MemoryLoad;
use neap_core::memory::{Author, MemoryEvent};
use neap_core::session::event::{AbandonReason, EpochCause, Event, TurnEvent, WindowEvent};
use neap_store::{Store, StoredEvent};
use serde::Serialize;

use crate::error::EngineError;

/// The record of one turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TurnExplanation {
    /// The turn's number.
    pub turn: TurnNo,
    /// The user's message.
    pub message: Option<String>,
    /// Who wrote the message, as its surface vouches; `None` in events from before this was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<Author>,
    /// Tool calls with their results.
    pub rounds: Vec<ToolRound>,
    /// What happened to efforts, in order.
    pub happened: Vec<Event>,
    /// The model's reply.
    pub reply: Option<String>,
    /// Why the reply is incomplete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<Incomplete>,
    /// Why there is no reply.
    pub abandoned: Option<AbandonReason>,
    /// The log that the exchange went to.
    pub scope: Option<Scope>,
    /// The account of the prompt.
    pub ledger: Option<Ledger>,
    /// Why the prompt was last rewritten, if it belongs to an epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch_cause: Option<EpochCause>,
    /// The memories in the prompt, selected in this turn or before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen: Option<SelectedMemories>,
}

/// A selection of an agent's memories.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SelectedMemories {
    /// The turn that selected them.
    pub turn: TurnNo,
    /// The memories, with reasons.
    pub loaded: MemoryLoad,
}

pub(crate) async fn explain(
    store: &dyn Store,
    id: &StreamId,
    turn: TurnNo,
) -> Result<TurnExplanation, EngineError> {
    let mut explanation = read_turn(store, id, turn).await?;
    let since = explanation.ledger.as_ref().and_then(|ledger| ledger.epoch_since);
    if let Some((_, last)) = store.turn_span(id, since.unwrap_or(turn)).await?.filter(|_| since.is_some()) {
        let began = store.events_of_kinds(id, &["epoch_began"], Some(last.next()), 1).await?;
        explanation.epoch_cause = began.into_iter().find_map(|stored| {
            let Event::Window(WindowEvent::EpochBegan { turn, cause }) = stored.whole()?.event else {
                return None;
            };
            (Some(turn) == since).then_some(cause)
        });
    }
    let has_memories = |ledger: &Ledger| ledger.tokens.entries().any(|(layer, n)| layer.is_memory() && n.0 > 0);
    if explanation.ledger.as_ref().is_some_and(has_memories)
        && let Some((_, last)) = store.turn_span(id, turn).await?
    {
        let latest = store.events_of_kinds(id, &["memories_loaded"], Some(last.next()), 1).await?;
        explanation.chosen = latest.into_iter().find_map(|stored| {
            let Event::Memory(MemoryEvent::Loaded { turn, loaded }) = stored.whole()?.event else { return None };
            Some(SelectedMemories { turn, loaded: *loaded })
        });
    }
    Ok(explanation)
}

async fn read_turn(store: &dyn Store, id: &StreamId, turn: TurnNo) -> Result<TurnExplanation, EngineError> {
    let (first, last) = span_of(store, id, turn).await?;
    let mut explanation = TurnExplanation { turn, ..TurnExplanation::default() };
    // Decay after a turn is committed with the turn's end, and follows it.
    let mut seq = first;
    let mut ended = false;
    loop {
        let events = store.events(id, seq, 256).await?;
        let Some(newest) = events.last().map(StoredEvent::seq) else { return Ok(explanation) };
        for stored in events {
            let at = stored.seq();
            let Some(recorded) = stored.whole() else { continue };
            if ended && recorded.event.turn() != Some(turn) {
                return Ok(explanation);
            }
            explanation.apply(turn, recorded.event);
            ended = ended || at >= last;
        }
        seq = newest.next();
    }
}

/// A turn's events. One that has not ended has those up to now: the newest of a session that another program holds is
/// open until its next.
async fn span_of(store: &dyn Store, id: &StreamId, turn: TurnNo) -> Result<(Seq, Seq), EngineError> {
    if let Some(span) = store.turn_span(id, turn).await? {
        return Ok(span);
    }
    let state = store.load(id).await?.filter(|state| state.head().stream.is_some());
    let state = state.ok_or_else(|| EngineError::NoSession(id.clone()))?;
    if let Some(pending) = state.head().pending.get(&turn) {
        return Ok((pending.first_seq, state.seq()));
    }
    // It may have ended between the two reads.
    let ended = store.turn_span(id, turn).await?;
    ended.ok_or_else(|| EngineError::NoTurn { session: id.clone(), turn })
}

impl TurnExplanation {
    /// The reply for people to read, with a note if it is incomplete.
    pub fn reply_display_text(&self) -> Option<String> {
        self.reply.as_ref().map(|text| display_text(text, self.incomplete.as_ref()))
    }

    fn apply(&mut self, turn: TurnNo, event: Event) {
        if event.turn() != Some(turn) {
            return;
        }
        match event {
            Event::Turn(TurnEvent::Started { message, author, .. }) => {
                self.message = Some(message.message.content.to_string());
                self.author = author;
            }
            Event::Turn(TurnEvent::ToolsCalled { round, .. }) => self.rounds.push(round),
            Event::Turn(TurnEvent::Completed { reply, scope, ledger, .. }) => {
                self.reply = Some(reply.message.content.to_string());
                self.incomplete = reply.message.incomplete;
                self.scope = Some(scope);
                self.ledger = Some(*ledger);
            }
            Event::Turn(TurnEvent::Abandoned { reason, scope, .. }) => {
                self.abandoned = Some(reason);
                self.scope = Some(scope);
            }
            Event::Turn(TurnEvent::Closed { scope, .. }) => self.scope = Some(scope),
            Event::Effort(_)
            | Event::Turn(TurnEvent::MessageAdded { .. } | TurnEvent::TakenBack { .. })
            | Event::Window(_)
            | Event::Client(_)
            | Event::Memory(MemoryEvent::Loaded { .. } | MemoryEvent::CensorTriggered { .. }) => {
                self.happened.push(event)
            }
            Event::Session(_) | Event::Memory(MemoryEvent::Changed { .. } | MemoryEvent::Erased { .. }) => {}
        }
    }
}
