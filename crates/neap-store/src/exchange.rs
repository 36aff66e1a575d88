//! An exchange put together from what the stream still has of it.

use neap_core::event::{Event, Recorded};
use neap_core::ids::{Stamp, TurnNo};
use neap_core::message::{Counted, Exchange, Incomplete, Message};
use neap_core::project;
use neap_core::tokens::Tokens;

use crate::Stored;

/// What a place costs at most whose words cannot be read any more: nothing is counted here.
const DAMAGED_TOKENS: Tokens = Tokens(64);

/// The exchange of a turn, from the events between its first and its last as they were found.
pub(crate) fn exchange(turn: TurnNo, at: Stamp, stored: Vec<Stored>) -> Exchange {
    let mut damaged = false;
    let mut events: Vec<Recorded> = Vec::with_capacity(stored.len());
    for found in stored {
        match found {
            Stored::Event(recorded) => events.push(recorded),
            Stored::Damaged { .. } => damaged = true,
        }
    }
    let mut exchange = project::exchange(turn, at, &events);
    let begins = |first: &Recorded| matches!(first.event, Event::TurnStarted { turn: of, .. } if of == turn);
    if !events.first().is_some_and(begins) {
        exchange.messages.insert(0, damaged_place(Message::user("")));
        damaged = false;
    }
    let ended = events.last().is_some_and(|last| {
        let ends = matches!(
            last.event,
            Event::TurnCompleted { .. } | Event::TurnAbandoned { .. } | Event::TurnClosed { .. }
        );
        ends && last.event.turn() == Some(turn)
    });
    if damaged && !ended {
        exchange.messages.push(damaged_place(Message::assistant("")));
    }
    exchange
}

/// A message whose words cannot be read any more.
pub(crate) fn damaged(message: Message) -> Message {
    Message { incomplete: Some(Incomplete::Damaged), ..message }
}

fn damaged_place(message: Message) -> Counted {
    Counted { tokens: DAMAGED_TOKENS, message: damaged(message) }
}
