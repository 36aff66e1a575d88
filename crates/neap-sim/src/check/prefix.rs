//! Checks that within an epoch the prompt only grows: each request begins with the messages of the one before
//! (docs/decisions/0002-windows.md).

use neap_core::base::message::Message;
use neap_core::session::event::{Event, RecordedEvent, WindowEvent};

use super::Violations;
use crate::trace::SeenRequest;

#[derive(Debug, Default)]
pub struct PrefixWatch(Option<Vec<Message>>);

impl PrefixWatch {
    /// Forgets the last request: the process ended, or its requests are unknown.
    pub fn reset(&mut self) {
        self.0 = None;
    }

    /// Checks the requests of a step without faults; each break needs its `EpochBegan` event.
    pub fn follow<'a>(
        &mut self,
        sent: impl Iterator<Item = &'a SeenRequest>,
        events: &[RecordedEvent],
        out: &mut Violations,
    ) {
        let began = events
            .iter()
            .filter(|recorded| matches!(recorded.event, Event::Window(WindowEvent::EpochBegan { .. })))
            .count();
        let mut breaks = 0;
        for seen in sent {
            let messages = &seen.request.messages;
            let grows = self.0.as_ref().is_none_or(|last| messages.starts_with(last));
            breaks += usize::from(!grows);
            self.0 = Some(messages.clone());
        }
        out.check("prefix", breaks <= began, || {
            format!("{breaks} prompts are none that grew, {began} epochs began")
        });
    }
}
