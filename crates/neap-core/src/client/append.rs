//! Converts history items to messages and appends each to the exchange it belongs to.

use super::request::{ContentBlock, HistoryItem, Speaker};
use crate::base::ids::EffortId;
use crate::base::message::{CountedMessage, Message, Role};
use crate::memory::Author;
use crate::session::append_message;
use crate::session::event::{EffortEvent, TurnEvent};
use crate::session::route::route;
use crate::session::state::SessionState;

/// An item's messages: tool results first, then one with its text and tool calls. Empty if it has no content.
pub fn item_messages(item: &HistoryItem) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::new();
    let mut texts: Vec<String> = Vec::new();
    for block in &item.blocks {
        match block {
            ContentBlock::ToolResult { id, .. } => out.push(Message::tool(id.clone(), block.text().into_owned())),
            ContentBlock::Text(text) if !text.trim().is_empty() => texts.push(text.clone()),
            ContentBlock::Other { .. } => texts.push(block.text().into_owned()),
            ContentBlock::Text(_) | ContentBlock::Thinking | ContentBlock::ToolCall(_) => {}
        }
    }
    let role = match item.speaker {
        Speaker::System | Speaker::Other => Role::System,
        Speaker::User => Role::User,
        Speaker::Assistant => Role::Assistant,
        Speaker::Tool => Role::Tool,
    };
    let tool_calls: Vec<_> = item.calls().cloned().collect();
    if !texts.is_empty() || !tool_calls.is_empty() {
        // Text beside tool results does not begin a turn.
        let role = if role == Role::User && !out.is_empty() { Role::System } else { role };
        out.push(Message { role, tool_calls, ..Message::user(texts.join("\n")) });
    }
    out
}

/// Makes this effort active: opens, switches to or reopens it. None if it is active already.
pub fn enter_effort(state: &SessionState, name: &str) -> Option<EffortEvent> {
    let (id, turn) = (EffortId::from_name(name).ok()?, state.turn());
    match state.effort(&id) {
        None => Some(EffortEvent::Opened { id, name: name.to_owned(), turn }),
        Some(_) if state.active_effort().is_some_and(|active| active.id == id) => None,
        Some(effort) if effort.is_open() => Some(EffortEvent::Switched { id, turn }),
        Some(_) => Some(EffortEvent::Reopened { id, turn }),
    }
}

/// Returns the events of a new message. The exchange it closes goes to the effort it belongs to.
pub fn append_routed_message(state: &SessionState, message: CountedMessage, author: Author) -> Vec<TurnEvent> {
    let mut events = append_message(state, message, author);
    for event in &mut events {
        if let TurnEvent::Closed { turn, scope } = event
            && let Some(pending) = state.head().pending.get(turn)
        {
            *scope = route(pending);
        }
    }
    events
}
