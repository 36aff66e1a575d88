//! A found text as the core wants it.

use neap_core::event::Event;
use neap_core::ids::TurnNo;
use neap_core::message::{Message, Scope};
use neap_core::rank::Candidate;

/// The candidate that an event is, if it says something that is searched.
pub(crate) fn candidate(
    event: &Event,
    scope: impl FnOnce(TurnNo) -> Option<Scope>,
    cut: impl Fn(&str) -> &str,
) -> Option<Candidate> {
    let (turn, message): (TurnNo, &Message) = match event {
        Event::TurnStarted { turn, message, .. } => (*turn, &message.message),
        Event::TurnCompleted { turn, reply, .. } => (*turn, &reply.message),
        Event::SessionCreated { .. }
        | Event::PolicyChanged { .. }
        | Event::ToolsCalled { .. }
        | Event::EffortOpened { .. }
        | Event::EffortConcluded { .. }
        | Event::EffortSummarized { .. }
        | Event::EffortExpanded { .. }
        | Event::EffortCollapsed { .. }
        | Event::EffortSwitched { .. }
        | Event::EffortReopened { .. }
        | Event::EffortsReferenced { .. }
        | Event::SummariesEvicted { .. }
        | Event::TurnAbandoned { .. }
        | Event::Scrubbed { .. } => return None,
    };
    let text = cut(&message.content).to_owned();
    Some(Candidate::Message { scope: scope(turn), turn, role: message.role, text })
}
