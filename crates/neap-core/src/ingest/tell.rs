//! What is recorded of a history: its items as messages, each in the exchange where it belongs.

use super::heard::{Block, Item, Speaker};
use crate::event::Event;
use crate::ids::EffortId;
use crate::memory::Author;
use crate::message::{Counted, Message, Role};
use crate::route::route;
use crate::state::SessionState;
use crate::told;

/// The messages that an item is: answers to calls, then words, then calls; none if it says nothing.
pub fn messages(item: &Item) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::new();
    let mut words: Vec<String> = Vec::new();
    for block in &item.blocks {
        match block {
            Block::Answer { id, .. } => out.push(Message::tool(id.clone(), block.words().into_owned())),
            Block::Text(text) if !text.trim().is_empty() => words.push(text.clone()),
            Block::Other { .. } => words.push(block.words().into_owned()),
            Block::Text(_) | Block::Thinking | Block::Call(_) => {}
        }
    }
    let role = match item.speaker {
        Speaker::System | Speaker::Other => Role::System,
        Speaker::User => Role::User,
        Speaker::Assistant => Role::Assistant,
        Speaker::Tool => Role::Tool,
    };
    let tool_calls: Vec<_> = item.calls().cloned().collect();
    if !words.is_empty() || !tool_calls.is_empty() {
        // Words that come along with answers are no turn of their own.
        let role = if role == Role::User && !out.is_empty() { Role::System } else { role };
        out.push(Message { role, tool_calls, ..Message::user(words.join("\n")) });
    }
    out
}

/// What happens when a person begins something of this name. What goes by it already is gone on with.
pub fn open(state: &SessionState, name: &str) -> Option<Event> {
    let (id, turn) = (EffortId::from_name(name).ok()?, state.turn());
    match state.effort(&id) {
        None => Some(Event::EffortOpened { id, name: name.to_owned(), turn }),
        Some(_) if state.active().is_some_and(|active| active.id == id) => None,
        Some(known) if known.is_open() => Some(Event::EffortSwitched { id, turn }),
        Some(_) => Some(Event::EffortReopened { id, turn }),
    }
}

/// What happens when a message is heard. The exchange before it belongs to the effort that it was in.
pub fn tell(state: &SessionState, message: Counted, author: Author) -> Vec<Event> {
    let mut events = told::tell(state, message, author);
    for event in &mut events {
        if let Event::TurnClosed { turn, scope } = event
            && let Some(pending) = state.head().pending.get(turn)
        {
            *scope = route(pending);
        }
    }
    events
}
