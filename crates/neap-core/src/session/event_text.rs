//! The searchable text of events.

use std::sync::Arc;

use super::event::{Event, RoundVisibility, TurnEvent, WindowEvent};
use crate::base::ids::{Seq, Stamp, TurnNo};
use crate::base::message::{CountedMessage, ToolRound};
use crate::recall::{IndexedText, TextKey, TextKind};

/// Bytes of a tool call's arguments, and of its result, that are indexed: the beginning.
const TOOL_BYTES_MAX: usize = 1_200;

/// The text that an event adds to the index, if any. A store that reads a [`TextKey::Message`] back returns this
/// `text`.
pub fn indexed_text(seq: Seq, at: Stamp, event: &Event) -> Option<IndexedText> {
    let text = |kind, turn: &TurnNo, speaker: Option<&String>, tokens, text: Arc<str>| {
        Some(IndexedText {
            key: TextKey::Message(seq),
            kind,
            turn: *turn,
            at,
            speaker: speaker.cloned(),
            tokens,
            text,
        })
    };
    match event {
        Event::Turn(
            TurnEvent::Started { turn, message, .. }
            | TurnEvent::MessageAdded { turn, message }
            | TurnEvent::Completed { turn, reply: message, .. },
        ) => {
            let CountedMessage { message, tokens } = message;
            let kind = TextKind::from_role(message.role);
            text(kind, turn, message.name.as_ref(), *tokens, message.content.clone())
        }
        Event::Turn(TurnEvent::ToolsCalled { turn, round, visibility: RoundVisibility::Transcript }) => {
            text(TextKind::Tool, turn, None, round.tokens(), tool_text(round).into())
        }
        Event::Window(WindowEvent::SpanCompacted { turn, span, .. }) => {
            text(TextKind::Span, turn, None, span.tokens, span.text.clone())
        }
        Event::Turn(
            TurnEvent::ToolsCalled { visibility: RoundVisibility::ThisTurn, .. }
            | TurnEvent::Abandoned { .. }
            | TurnEvent::Closed { .. }
            | TurnEvent::TakenBack { .. },
        )
        | Event::Session(_)
        | Event::Effort(_)
        | Event::Client(_)
        | Event::Window(WindowEvent::EpochBegan { .. })
        | Event::Memory(_) => None,
    }
}

/// A round of tool calls as it is indexed: the assistant's text, then each call's name, arguments and result,
/// clipped.
fn tool_text(round: &ToolRound) -> String {
    let mut out = String::from(&*round.assistant.message.content);
    for (call, result) in round.assistant.message.tool_calls.iter().zip(&round.results) {
        for part in [call.name.as_str(), text_prefix(&call.arguments), text_prefix(&result.message.content)] {
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(part);
        }
    }
    out
}

fn text_prefix(text: &str) -> &str {
    &text[..text.floor_char_boundary(TOOL_BYTES_MAX)]
}
