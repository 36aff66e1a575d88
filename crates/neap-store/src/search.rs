//! A found text as the core wants it.

use neap_core::event::Event;
use neap_core::ids::TurnNo;
use neap_core::message::{Counted, Scope};
use neap_core::rank::Candidate;

/// The candidate that an event is, if it says something that is searched.
pub(crate) fn candidate(
    event: &Event,
    scope: impl FnOnce(TurnNo) -> Option<Scope>,
    cut: impl Fn(&str) -> &str,
) -> Option<Candidate> {
    // Messages are indexed one by one, so an event in the index says exactly one.
    let [Counted { message, .. }] = event.said()[..] else { return None };
    let turn = event.turn()?;
    let text = cut(&message.content).to_owned();
    Some(Candidate::Message { scope: scope(turn), turn, role: message.role, text })
}
