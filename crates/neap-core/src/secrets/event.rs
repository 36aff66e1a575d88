//! Secrets in events: the last gate before the state and the store.
//!
//! Every door masks what it takes in, before it is counted, named or looked at. What passed a door that forgot to is caught
//! here, so that it is at least not stored; its count stays that of the longer text.

use super::message::{mask_key, mask_message};
use super::{Masking, mask_name};
use crate::event::{AbandonReason, Event};
use crate::message::{Counted, Message, ToolRound};

/// Longest message that is looked through here, in bytes: doors mask what is longer off the async workers.
const BYTES_MAX: usize = 16 * 1_024;

fn weight(message: &Message) -> usize {
    message.content.len() + message.tool_calls.iter().map(|call| call.arguments.len()).sum::<usize>()
}

/// The event as it may be recorded.
pub(crate) fn mask_event(masking: Masking, event: Event) -> Event {
    if masking == Masking::Off {
        return event;
    }
    let text = |text: String| masking.text(&text).0.into_owned();
    let said = |said: Counted| match weight(&said.message) {
        // To look through it twice, where others wait for it, costs more than it is worth.
        bytes if bytes > BYTES_MAX => said,
        _ => Counted { message: mask_message(masking, said.message).0, ..said },
    };
    match event {
        Event::SessionCreated { session, encoding, policy, imported_from } => {
            Event::SessionCreated { session, encoding, policy, imported_from: imported_from.map(text) }
        }
        Event::TurnStarted { turn, message, turn_id, author } => {
            let turn_id = turn_id.map(|id| mask_key(masking, &id));
            Event::TurnStarted { turn, message: said(message), turn_id, author }
        }
        Event::ToolsCalled { turn, round, visibility } => {
            let ToolRound { assistant, results, seals, notes } = round;
            let (results, notes) =
                (results.into_iter().map(said).collect(), notes.into_iter().map(said).collect());
            let round = ToolRound { assistant: said(assistant), results, seals, notes };
            Event::ToolsCalled { turn, round, visibility }
        }
        Event::EffortOpened { id, name, turn } => Event::EffortOpened { id, name: mask_name(&name), turn },
        Event::EffortConcluded { id, mut summary, turn, next_active, provisional, receipt } => {
            summary.text = text(summary.text);
            Event::EffortConcluded { id, summary, turn, next_active, provisional, receipt }
        }
        Event::EffortSummarized { id, mut summary, turn, receipt } => {
            summary.text = text(summary.text);
            Event::EffortSummarized { id, summary, turn, receipt }
        }
        Event::SpanCompacted { scope, turn, mut span, receipt } => {
            span.text = text(span.text.to_string()).into();
            Event::SpanCompacted { scope, turn, span, receipt }
        }
        Event::TurnCompleted { turn, reply, scope, ledger } => {
            Event::TurnCompleted { turn, reply: said(reply), scope, ledger }
        }
        Event::TurnAbandoned { turn, reason, scope } => {
            let reason = match reason {
                AbandonReason::ModelFailed { message } => AbandonReason::ModelFailed { message: text(message) },
                AbandonReason::ProcessEnded | AbandonReason::Interrupted | AbandonReason::Censored { .. } => {
                    reason
                }
            };
            Event::TurnAbandoned { turn, reason, scope }
        }
        Event::MessageAdded { turn, message } => Event::MessageAdded { turn, message: said(message) },
        // They hold no text, or text that was taken from what is masked: examples of a receipt, a memory that was admitted.
        Event::PolicyChanged { .. }
        | Event::EffortExpanded { .. }
        | Event::EffortCollapsed { .. }
        | Event::EffortSwitched { .. }
        | Event::EffortReopened { .. }
        | Event::EffortsReferenced { .. }
        | Event::SummariesEvicted { .. }
        | Event::EpochBegan { .. }
        | Event::TurnClosed { .. }
        | Event::TurnTakenBack { .. }
        | Event::HistoryLinked { .. }
        | Event::RequestPassed { .. }
        | Event::ClientCompacted { .. }
        | Event::MemoriesLoaded { .. }
        | Event::CensorTriggered { .. }
        | Event::MemoryChanged { .. }
        | Event::MemoryErased { .. }
        | Event::Scrubbed { .. } => event,
    }
}
