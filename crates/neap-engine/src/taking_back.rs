//! Taking back what was said last.

use std::collections::BTreeSet;

use neap_core::event::{Event, Recorded};
use neap_core::ids::{Seq, TurnNo};
use neap_core::log::LogRequest;
use neap_core::message::Scope;
use neap_core::tools::Refusal;
use neap_core::turn::take_back;
use neap_store::{StoreError, Stored};

use crate::error::EngineError;
use crate::live::overtaken;
use crate::session::Session;

/// Events that end a turn, or say that it was taken back.
const KINDS: [&str; 4] = ["turn_completed", "turn_abandoned", "turn_closed", "turn_taken_back"];
/// Events looked at in one go.
const PAGE: usize = 32;

/// What was taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenBack {
    /// Which turn it was.
    pub turn: TurnNo,
    /// What the user had said, to be said again or otherwise.
    pub said: String,
}

impl Session {
    /// Takes back the turn that ended last and is not taken back yet: no context shows it any more, no search finds
    /// it; it stays stored, and its handle leads to it. What its tools did stays done.
    pub async fn take_back(&mut self) -> Result<Result<TakenBack, Refusal>, EngineError> {
        let mut conflicts = 0;
        loop {
            self.settle().await?;
            let Some((turn, scope)) = self.last_said().await? else {
                return Ok(Err(Refusal::new("Nothing has been said that could be taken back.")));
            };
            let log = self.parts.store.log(&self.live.id, &LogRequest::turns(scope.clone(), turn, turn)).await?;
            let event = match take_back(&self.live.state, turn, &scope, log.size().tokens) {
                Ok(event) => event,
                Err(refusal) => return Ok(Err(refusal)),
            };
            let decided = vec![self.live.state.record(self.parts.clock.now(), event)];
            match self.commit(decided).await {
                Ok(()) => {
                    self.live.logs.clear();
                    self.live.sent.forget();
                    let first = log.exchanges().next().and_then(|exchange| exchange.messages.first());
                    let said = first.map_or_else(String::new, |said| said.message.content.to_string());
                    return Ok(Ok(TakenBack { turn, said }));
                }
                Err(error) => {
                    overtaken(&mut self.live, self.parts.store.as_ref(), error, &mut conflicts).await?;
                }
            }
        }
    }

    /// The turn that ended last and is not taken back, and whose log it is in.
    async fn last_said(&self) -> Result<Option<(TurnNo, Scope)>, StoreError> {
        let mut gone = BTreeSet::new();
        let mut before: Option<Seq> = None;
        loop {
            let page = self.parts.store.events_of(&self.live.id, &KINDS, before, PAGE).await?;
            let Some(last) = page.last() else { return Ok(None) };
            before = Some(match last {
                Stored::Event(recorded) => recorded.seq,
                Stored::Damaged { seq, .. } => *seq,
            });
            for stored in page {
                let Stored::Event(Recorded { event, .. }) = stored else { continue };
                if let Event::TurnTakenBack { turn, .. } = event {
                    gone.insert(turn);
                } else if let Event::TurnCompleted { turn, scope, .. }
                | Event::TurnAbandoned { turn, scope, .. }
                | Event::TurnClosed { turn, scope } = event
                    && !gone.contains(&turn)
                {
                    return Ok(Some((turn, scope)));
                }
            }
        }
    }
}
