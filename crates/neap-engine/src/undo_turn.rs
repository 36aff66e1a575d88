//! Undoes the latest turn (in events: "taken back").

use std::collections::BTreeSet;

use neap_core::base::ids::{Seq, StreamId, TurnNo};
use neap_core::base::message::Scope;
use neap_core::base::refusal::Refusal;
use neap_core::session::event::{Event, RecordedEvent, TurnEvent};
use neap_core::session::log::LogRequest;
use neap_core::turn::undo_turn;
use neap_store::{Store, StoreError};

use crate::error::EngineError;
use crate::session::Session;
use crate::stream::Recorder;

const TURN_END_KINDS: [&str; 4] = ["turn_completed", "turn_abandoned", "turn_closed", "turn_taken_back"];
const PAGE: usize = 32;

/// A turn that was taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoneTurn {
    /// The turn's number.
    pub turn: TurnNo,
    /// The user's message, to be sent again or reworded.
    pub user_text: String,
}

impl Session {
    /// Takes back the turn that ended last and is not taken back yet: no context shows it, no search finds it. It
    /// stays stored and its handle leads to it; what its tools did stays done.
    pub async fn undo_turn(&mut self) -> Result<Result<UndoneTurn, Refusal>, EngineError> {
        self.recover().await?;
        let Self { parts, stream, .. } = self;
        let (store, mut recorder) = (parts.store.as_ref(), Recorder::new(parts));
        loop {
            let Some((turn, scope)) = last_turn(store, &stream.id).await? else {
                return Ok(Err(Refusal::new("There is no turn to undo.")));
            };
            let log = store.log(&stream.id, &LogRequest::turns(scope.clone(), turn, turn)).await?;
            let event = match undo_turn(&stream.state, turn, &scope, log.size().tokens) {
                Ok(event) => event,
                Err(refusal) => return Ok(Err(refusal)),
            };
            let decided = vec![stream.state.record(parts.clock.now(), event)];
            if recorder.commit(stream, decided).await?.is_stale() {
                continue;
            }
            stream.forget_logs();
            let first = log.exchanges().next().and_then(|exchange| exchange.messages.first());
            let user_text = first.map_or_else(String::new, |counted| counted.message.content.to_string());
            return Ok(Ok(UndoneTurn { turn, user_text }));
        }
    }
}

async fn last_turn(store: &dyn Store, session: &StreamId) -> Result<Option<(TurnNo, Scope)>, StoreError> {
    let mut undone = BTreeSet::new();
    let mut before: Option<Seq> = None;
    loop {
        let page = store.events_of_kinds(session, &TURN_END_KINDS, before, PAGE).await?;
        let Some(last) = page.last() else { return Ok(None) };
        before = Some(last.seq());
        for stored in page {
            let Some(RecordedEvent { event, .. }) = stored.whole() else { continue };
            if let Event::Turn(TurnEvent::TakenBack { turn, .. }) = event {
                undone.insert(turn);
            } else if let Event::Turn(
                TurnEvent::Completed { turn, scope, .. }
                | TurnEvent::Abandoned { turn, scope, .. }
                | TurnEvent::Closed { turn, scope },
            ) = event
                && !undone.contains(&turn)
            {
                return Ok(Some((turn, scope)));
            }
        }
    }
}
