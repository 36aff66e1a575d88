//! Taking back what was said last. Its words leave the log, the context and what search finds; they stay stored, and
//! their handle still leads to them. What its tools did, they did.

use crate::event::Event;
use crate::ids::TurnNo;
use crate::message::Scope;
use crate::state::SessionState;
use crate::tokens::Tokens;
use crate::tools::Refusal;

/// The event that takes a turn back which ended last, was in this log, and cost this much there.
///
/// # Errors
/// If a turn is in flight, or something was made of its words that would go on telling them.
pub fn take_back(state: &SessionState, turn: TurnNo, scope: &Scope, tokens: Tokens) -> Result<Event, Refusal> {
    if let Some((turn, _)) = state.head().pending.first_key_value() {
        return Err(Refusal::new(format!("Turn {turn} is still being answered.")).hint("wait until it is over"));
    }
    if let Some(effort) = scope.effort().and_then(|id| state.effort(id)).filter(|effort| effort.is_concluded()) {
        let id = &effort.id;
        return Err(Refusal::new(format!(
            "Turn {turn} belongs to {id}, which is concluded: its summary tells of it."
        ))
        .hint("say what you meant instead, or have it reopened first"));
    }
    if state.window(scope).spans().iter().any(|span| (span.first..=span.last).contains(&turn)) {
        return Err(
            Refusal::new(format!("Turn {turn} is part of a summary by now.")).hint("say what you meant instead")
        );
    }
    Ok(Event::TurnTakenBack { turn, scope: scope.clone(), tokens })
}
