//! Within an epoch the prompt only grows: what was sent before is, message by message, the beginning of what is sent
//! next (DESIGN, decision 16).

use neap_core::event::{Event, Recorded};
use neap_core::message::Message;

use super::Violations;
use crate::tape::Seen;

/// What one process sent last.
#[derive(Debug, Default)]
pub struct Prefix(Option<Vec<Message>>);

impl Prefix {
    /// A process ended, or nobody knows what it sent.
    pub fn forget(&mut self) {
        self.0 = None;
    }

    /// Looks at the requests of a step without faults; each break must have its event.
    pub fn follow<'a>(&mut self, sent: impl Iterator<Item = &'a Seen>, events: &[Recorded], out: &mut Violations) {
        let began = events.iter().filter(|recorded| matches!(recorded.event, Event::EpochBegan { .. })).count();
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
