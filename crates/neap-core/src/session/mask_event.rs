//! Masks secrets in events: the last check before state and store.
//!
//! Every entry point masks its input before counting or naming it. This catches what an entry point missed in
//! messages of up to [`BYTES_MAX`], so that it is at least not stored; the token count stays that of the unmasked text.

use super::event::{AbandonReason, EffortEvent, Event, SessionEvent, TurnEvent, WindowEvent};
use crate::base::message::{CountedMessage, Message, ToolRound};
use crate::text::secrets::{Masking, mask_id, mask_message, mask_name};

/// Longest message masked here; entry points mask longer ones off the async workers.
const BYTES_MAX: usize = 16 * 1_024;

fn content_bytes(message: &Message) -> usize {
    message.content.len() + message.tool_calls.iter().map(|call| call.arguments.len()).sum::<usize>()
}

pub(crate) fn mask_event(masking: Masking, event: Event) -> Event {
    if masking == Masking::Off {
        return event;
    }
    let text = |text: String| masking.mask(&text).0.into_owned();
    let mask_counted = |counted: CountedMessage| match content_bytes(&counted.message) {
        // Scanning it twice on this path costs more than it is worth.
        bytes if bytes > BYTES_MAX => counted,
        _ => CountedMessage { message: mask_message(masking, counted.message).0, ..counted },
    };
    match event {
        Event::Session(SessionEvent::Created { session, encoding, policy, imported_from }) => {
            Event::Session(SessionEvent::Created {
                session,
                encoding,
                policy,
                imported_from: imported_from.map(text),
            })
        }
        Event::Turn(TurnEvent::Started { turn, message, turn_id, author }) => {
            let turn_id = turn_id.map(|id| mask_id(masking, &id));
            Event::Turn(TurnEvent::Started { turn, message: mask_counted(message), turn_id, author })
        }
        Event::Turn(TurnEvent::ToolsCalled { turn, round, visibility }) => {
            let ToolRound { assistant, results, seals, notes } = round;
            let (results, notes) =
                (results.into_iter().map(mask_counted).collect(), notes.into_iter().map(mask_counted).collect());
            let round = ToolRound { assistant: mask_counted(assistant), results, seals, notes };
            Event::Turn(TurnEvent::ToolsCalled { turn, round, visibility })
        }
        Event::Effort(EffortEvent::Opened { id, name, turn }) => {
            Event::Effort(EffortEvent::Opened { id, name: mask_name(&name), turn })
        }
        Event::Effort(EffortEvent::Concluded { id, mut summary, turn, next_active, provisional, receipt }) => {
            summary.text = text(summary.text);
            Event::Effort(EffortEvent::Concluded { id, summary, turn, next_active, provisional, receipt })
        }
        Event::Effort(EffortEvent::Summarized { id, mut summary, turn, receipt }) => {
            summary.text = text(summary.text);
            Event::Effort(EffortEvent::Summarized { id, summary, turn, receipt })
        }
        Event::Window(WindowEvent::SpanCompacted { scope, turn, mut span, receipt }) => {
            span.text = text(span.text.to_string()).into();
            Event::Window(WindowEvent::SpanCompacted { scope, turn, span, receipt })
        }
        Event::Turn(TurnEvent::Completed { turn, reply, scope, ledger }) => {
            Event::Turn(TurnEvent::Completed { turn, reply: mask_counted(reply), scope, ledger })
        }
        Event::Turn(TurnEvent::Abandoned { turn, reason, scope }) => {
            let reason = match reason {
                AbandonReason::ModelFailed { message } => AbandonReason::ModelFailed { message: text(message) },
                AbandonReason::ProcessEnded | AbandonReason::Interrupted | AbandonReason::Censored { .. } => {
                    reason
                }
            };
            Event::Turn(TurnEvent::Abandoned { turn, reason, scope })
        }
        Event::Turn(TurnEvent::MessageAdded { turn, message }) => {
            Event::Turn(TurnEvent::MessageAdded { turn, message: mask_counted(message) })
        }
        // No text, or text derived from masked text: a receipt's examples, an admitted memory.
        Event::Session(SessionEvent::PolicyChanged { .. } | SessionEvent::Scrubbed { .. })
        | Event::Effort(
            EffortEvent::Expanded { .. }
            | EffortEvent::Collapsed { .. }
            | EffortEvent::Switched { .. }
            | EffortEvent::Reopened { .. }
            | EffortEvent::Referenced { .. }
            | EffortEvent::Evicted { .. },
        )
        | Event::Window(WindowEvent::EpochBegan { .. })
        | Event::Turn(TurnEvent::Closed { .. } | TurnEvent::TakenBack { .. })
        | Event::Client(_)
        | Event::Memory(_) => event,
    }
}
