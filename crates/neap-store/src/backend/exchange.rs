//! Builds an exchange from what is still readable of its events.

use neap_core::base::ids::{Stamp, TurnNo};
use neap_core::base::message::{CountedMessage, Exchange, Incomplete, Message};
use neap_core::base::tokens::Tokens;
use neap_core::session::event::{Event, RecordedEvent, TurnEvent};
use neap_core::session::project;

use crate::StoredEvent;

/// Token estimate for an unreadable message; there is no text to count.
const DAMAGED_TOKENS: Tokens = Tokens(64);

pub fn exchange(turn: TurnNo, at: Stamp, stored: Vec<StoredEvent>) -> Exchange {
    let mut damaged = false;
    let mut events: Vec<RecordedEvent> = Vec::with_capacity(stored.len());
    for event in stored {
        match event {
            StoredEvent::Whole(recorded) => events.push(recorded),
            StoredEvent::Damaged { .. } => damaged = true,
        }
    }
    let mut exchange = project::build_exchange(turn, at, &events);
    let starts = |first: &RecordedEvent| matches!(first.event, Event::Turn(TurnEvent::Started { turn: started, .. }) if started == turn);
    if !events.first().is_some_and(starts) {
        exchange.messages.insert(0, damaged_placeholder(Message::user("")));
        damaged = false;
    }
    let ended = events.last().is_some_and(|last| {
        let ends = matches!(
            last.event,
            Event::Turn(TurnEvent::Completed { .. } | TurnEvent::Abandoned { .. } | TurnEvent::Closed { .. })
        );
        ends && last.event.turn() == Some(turn)
    });
    if damaged && !ended {
        exchange.messages.push(damaged_placeholder(Message::assistant("")));
    }
    exchange
}

pub fn damaged_message(message: Message) -> Message {
    Message { incomplete: Some(Incomplete::Damaged), ..message }
}

fn damaged_placeholder(message: Message) -> CountedMessage {
    CountedMessage { tokens: DAMAGED_TOKENS, message: damaged_message(message) }
}
