//! Imports transcript steps: adds messages to exchanges, opens efforts where work begins, masks secrets.

use super::{RecordBody, TranscriptStep};
use crate::base::ids::Stamp;
use crate::base::message::CountedMessage;
use crate::base::tokens::TokenCounter;
use crate::client::mask_item;
use crate::client::{
    TopicChange, TopicTracker, append_routed_message, enter_effort, is_completion_claim, item_messages,
};
use crate::memory::Author;
use crate::session::event::{RecordedEvent, TurnEvent};
use crate::session::route::route;
use crate::session::state::SessionState;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TranscriptImporter {
    topics: TopicTracker,
    is_over: bool,
    pub masked_count: u64,
}

impl TranscriptImporter {
    /// Continues a session. `prompt` is the person's message of the turn that has not ended.
    pub fn resumed(state: &SessionState, prompt: Option<&str>) -> Self {
        let topics = state.active_effort().map_or_else(TopicTracker::default, |effort| {
            let task = state.head().task.as_deref().unwrap_or_default();
            TopicTracker::resumed(&format!("{} {task}", effort.name))
        });
        Self { topics, is_over: prompt.is_some_and(is_completion_claim), masked_count: 0 }
    }

    /// Whether to conclude the active effort before `next`, or at the end. Only an explicit sign concludes, and
    /// the reply to it still belongs to the effort.
    pub fn should_conclude(
        &mut self,
        state: &SessionState,
        last: Option<&TranscriptStep>,
        next: Option<&TranscriptStep>,
    ) -> bool {
        let is_answered = match next {
            Some(next) => next.is_turn_start(),
            None => last.is_some_and(TranscriptStep::is_turn_end),
        };
        let concludes = self.is_over && is_answered && state.active_effort().is_some();
        self.is_over &= !is_answered;
        concludes
    }

    /// Applies a step. The returned events are in the state already.
    pub fn apply(
        &mut self,
        state: &mut SessionState,
        counter: &dyn TokenCounter,
        step: &TranscriptStep,
        author: Author,
        now: Stamp,
    ) -> Vec<RecordedEvent> {
        let RecordBody::Message(item) = &step.body else { return close_pending(state, step.at.unwrap_or(now)) };
        let at = step.at.unwrap_or(now);
        let mut out = Vec::new();
        let (item, masked) = mask_item(state.masking(), item.clone());
        let item = &item;
        self.masked_count += u64::from(masked);
        for message in item_messages(item) {
            let message = CountedMessage::new(counter, message);
            for event in append_routed_message(state, message, author) {
                out.push(state.record(at, event));
            }
        }
        let change = self.topics.observe_item(item, at);
        if item.is_turn_start() {
            self.is_over = change == TopicChange::Closes;
        }
        if let TopicChange::Opens(name) = change
            && let Some(event) = enter_effort(state, &name)
        {
            out.push(state.record(at, event));
        }
        out
    }
}

/// Ends the open exchange: what follows begins with a summary of it.
fn close_pending(state: &mut SessionState, at: Stamp) -> Vec<RecordedEvent> {
    let closed: Vec<TurnEvent> = (state.head().pending.iter())
        .map(|(turn, pending)| TurnEvent::Closed { turn: *turn, scope: route(pending) })
        .collect();
    closed.into_iter().map(|event| state.record(at, event)).collect()
}
