//! An exchange put together from what the stream still has of it.

use neap_core::event::{Event, Recorded};
use neap_core::ids::{Stamp, TurnNo};
use neap_core::message::{Counted, Exchange, Message};
use neap_core::project;
use neap_core::tokens::Tokens;

use crate::Stored;

/// What stands in place of words that cannot be read any more.
pub(crate) const DAMAGED: &str = "[this part is damaged on disk; run `neap doctor`]";

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
        exchange.messages.insert(0, placeholder(Message::user(DAMAGED)));
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
        exchange.messages.push(placeholder(Message::assistant(DAMAGED)));
    }
    exchange
}

/// Nothing is counted here, so the bytes stand for the tokens: more than any counter would say.
fn placeholder(message: Message) -> Counted {
    Counted { tokens: Tokens(message.content.len() as u64 + 8), message }
}
