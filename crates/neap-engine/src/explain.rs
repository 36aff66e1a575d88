//! What was in the context of a turn, and why.

use neap_core::event::{AbandonReason, EpochCause, Event, Recorded};
use neap_core::ids::{Seq, SessionId, TurnNo};
use neap_core::knowledge::Loaded;
use neap_core::ledger::Ledger;
use neap_core::memory::Author;
use neap_core::message::{Incomplete, Scope, ToolRound, for_people};
use neap_store::{Store, Stored};
use serde::Serialize;

use crate::error::EngineError;

/// The record of one turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Explained {
    /// Its number.
    pub turn: TurnNo,
    /// What the user said.
    pub message: Option<String>,
    /// Whose words that is, as the surface it came by vouches; none in events of before this was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<Author>,
    /// Tool calls with their results.
    pub rounds: Vec<ToolRound>,
    /// What happened to efforts, in order.
    pub happened: Vec<Event>,
    /// What the model answered.
    pub reply: Option<String>,
    /// Why that is not all that it might have answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<Incomplete>,
    /// Why there is no answer.
    pub abandoned: Option<AbandonReason>,
    /// Where the exchange went.
    pub scope: Option<Scope>,
    /// What the model saw.
    pub ledger: Option<Ledger>,
    /// Why the prompt that it saw was last written anew, where it is one that grows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch_cause: Option<EpochCause>,
    /// The choice of memories that it saw, in this turn or before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen: Option<ChosenAt>,
}

/// What was chosen of an agent's memory, and when.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChosenAt {
    /// In which turn.
    pub turn: TurnNo,
    /// What, and why.
    pub loaded: Loaded,
}

/// Reads the record of a turn.
pub(crate) async fn explain(store: &dyn Store, id: &SessionId, turn: TurnNo) -> Result<Explained, EngineError> {
    let mut explained = read(store, id, turn).await?;
    let since = explained.ledger.as_ref().and_then(|ledger| ledger.epoch_since);
    if let Some((_, last)) = store.turn_span(id, since.unwrap_or(turn)).await?.filter(|_| since.is_some()) {
        let began = store.events_of(id, &["epoch_began"], Some(last.next()), 1).await?;
        explained.epoch_cause = began.iter().find_map(|stored| match stored {
            Stored::Event(Recorded { event: Event::EpochBegan { turn, cause }, .. }) if Some(*turn) == since => {
                Some(*cause)
            }
            Stored::Event(_) | Stored::Damaged { .. } => None,
        });
    }
    let has_memories = |ledger: &Ledger| ledger.tokens.entries().any(|(of, n)| of.is_of_memory() && n.0 > 0);
    if explained.ledger.as_ref().is_some_and(has_memories)
        && let Some((_, last)) = store.turn_span(id, turn).await?
    {
        let latest = store.events_of(id, &["memories_loaded"], Some(last.next()), 1).await?;
        explained.chosen = latest.into_iter().find_map(|stored| match stored {
            Stored::Event(Recorded { event: Event::MemoriesLoaded { turn, loaded }, .. }) => {
                Some(ChosenAt { turn, loaded: *loaded })
            }
            Stored::Event(_) | Stored::Damaged { .. } => None,
        });
    }
    Ok(explained)
}

async fn read(store: &dyn Store, id: &SessionId, turn: TurnNo) -> Result<Explained, EngineError> {
    let Some((first, last)) = store.turn_span(id, turn).await? else {
        return Err(EngineError::NoTurn { session: id.clone(), turn });
    };
    let mut explained = Explained { turn, ..Explained::default() };
    // What decays after a turn is committed with its end, and follows it.
    let mut seq = first;
    let mut ended = false;
    loop {
        let events = store.events(id, seq, 256).await?;
        let Some(newest) = events.last().map(place) else { return Ok(explained) };
        for stored in events {
            let at = place(&stored);
            let Stored::Event(recorded) = stored else { continue };
            if ended && recorded.event.turn() != Some(turn) {
                return Ok(explained);
            }
            explained.note(turn, recorded.event);
            ended = ended || at >= last;
        }
        seq = newest.next();
    }
}

fn place(stored: &Stored) -> Seq {
    match stored {
        Stored::Event(recorded) => recorded.seq,
        Stored::Damaged { seq, .. } => *seq,
    }
}

impl Explained {
    /// What people read of the answer: what was said, and why there is no more.
    pub fn reply_for_people(&self) -> Option<String> {
        self.reply.as_ref().map(|text| for_people(text, self.incomplete.as_ref()))
    }

    fn note(&mut self, turn: TurnNo, event: Event) {
        if event.turn() != Some(turn) {
            return;
        }
        match event {
            Event::TurnStarted { message, author, .. } => {
                self.message = Some(message.message.content.to_string());
                self.author = author;
            }
            Event::ToolsCalled { round, .. } => self.rounds.push(round),
            Event::TurnCompleted { reply, scope, ledger, .. } => {
                self.reply = Some(reply.message.content.to_string());
                self.incomplete = reply.message.incomplete;
                self.scope = Some(scope);
                self.ledger = Some(*ledger);
            }
            Event::TurnAbandoned { reason, scope, .. } => {
                self.abandoned = Some(reason);
                self.scope = Some(scope);
            }
            Event::TurnClosed { scope, .. } => self.scope = Some(scope),
            Event::EffortOpened { .. }
            | Event::MessageAdded { .. }
            | Event::EffortConcluded { .. }
            | Event::EffortSummarized { .. }
            | Event::EffortExpanded { .. }
            | Event::EffortCollapsed { .. }
            | Event::EffortSwitched { .. }
            | Event::EffortReopened { .. }
            | Event::EffortsReferenced { .. }
            | Event::SummariesEvicted { .. }
            | Event::SpanCompacted { .. }
            | Event::TurnTakenBack { .. }
            | Event::HistoryLinked { .. }
            | Event::RequestPassed { .. }
            | Event::ClientCompacted { .. }
            | Event::EpochBegan { .. }
            | Event::MemoriesLoaded { .. }
            | Event::CensorTriggered { .. } => self.happened.push(event),
            Event::SessionCreated { .. }
            | Event::PolicyChanged { .. }
            | Event::MemoryChanged { .. }
            | Event::MemoryErased { .. }
            | Event::Scrubbed { .. } => {}
        }
    }
}
