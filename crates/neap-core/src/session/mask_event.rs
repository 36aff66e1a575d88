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

pub(crate) fn mask_event(masking: Masking, mut event: Event) -> Event {
    if masking == Masking::Off {
        return event;
    }
    let mask_text = |text: &mut String| *text = masking.mask(text).0.into_owned();
    let mask_counted = |counted: &mut CountedMessage| {
        // Scanning a longer one twice on this path costs more than it is worth.
        if content_bytes(&counted.message) <= BYTES_MAX {
            counted.message = mask_message(masking, counted.message.clone()).0;
        }
    };
    match &mut event {
        Event::Session(SessionEvent::Created { imported_from, .. }) => {
            imported_from.iter_mut().for_each(mask_text);
        }
        Event::Turn(TurnEvent::Started { message, turn_id, .. }) => {
            mask_counted(message);
            *turn_id = turn_id.take().map(|id| mask_id(masking, &id));
        }
        Event::Turn(TurnEvent::ToolsCalled {
            round: ToolRound { assistant, results, notes, seals: _ }, ..
        }) => {
            [assistant].into_iter().chain(results).chain(notes).for_each(mask_counted);
        }
        Event::Turn(
            TurnEvent::MessageAdded { message: counted, .. } | TurnEvent::Completed { reply: counted, .. },
        ) => {
            mask_counted(counted);
        }
        Event::Turn(TurnEvent::Abandoned { reason: AbandonReason::ModelFailed { message }, .. }) => {
            mask_text(message);
        }
        Event::Effort(EffortEvent::Opened { name, .. }) => *name = mask_name(name),
        Event::Effort(EffortEvent::Concluded { summary, .. } | EffortEvent::Summarized { summary, .. }) => {
            mask_text(&mut summary.text);
        }
        Event::Window(WindowEvent::SpanCompacted { span, .. }) => span.text = masking.mask(&span.text).0.into(),
        // A host reads its entries back as they were; no model and no search does.
        Event::Session(SessionEvent::HostEntriesAdded { .. })
        // No text, or text derived from masked text: a receipt's examples, an admitted memory.
        | Event::Session(
            SessionEvent::PolicyChanged { .. } | SessionEvent::ProjectSet { .. } | SessionEvent::Scrubbed { .. },
        )
        | Event::Turn(
            TurnEvent::Abandoned {
                reason: AbandonReason::ProcessEnded | AbandonReason::Interrupted | AbandonReason::Censored { .. },
                ..
            }
            | TurnEvent::Closed { .. }
            | TurnEvent::TakenBack { .. },
        )
        | Event::Effort(
            EffortEvent::Expanded { .. }
            | EffortEvent::Collapsed { .. }
            | EffortEvent::Switched { .. }
            | EffortEvent::Reopened { .. }
            | EffortEvent::Referenced { .. }
            | EffortEvent::Evicted { .. },
        )
        | Event::Window(WindowEvent::EpochBegan { .. })
        | Event::Client(_)
        | Event::Memory(_) => {}
    }
    event
}
