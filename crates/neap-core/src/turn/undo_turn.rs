//! Undoes the last turn. Its messages leave the log, the context and search; they stay stored, and their handle
//! still finds them. The effects of its tool calls are not undone.

use crate::base::ids::TurnNo;
use crate::base::message::Scope;
use crate::base::refusal::Refusal;
use crate::base::tokens::Tokens;
use crate::session::event::TurnEvent;
use crate::session::state::SessionState;

/// The event that undoes the last turn, given its log and what it cost there.
///
/// # Errors
/// If a turn is in flight, or a summary already covers this turn.
pub fn undo_turn(state: &SessionState, turn: TurnNo, scope: &Scope, tokens: Tokens) -> Result<TurnEvent, Refusal> {
    if let Some((turn, _)) = state.head().pending.first_key_value() {
        return Err(
            Refusal::new(format!("Turn {turn} is still being answered.")).hint("wait until the reply ends")
        );
    }
    if let Some(effort) = scope.effort().and_then(|id| state.effort(id)).filter(|effort| effort.is_concluded()) {
        let id = &effort.id;
        return Err(Refusal::new(format!(
            "Turn {turn} belongs to {id}, which is concluded: its summary covers the turn."
        ))
        .hint("send what you meant instead, or reopen the effort first"));
    }
    if state.window(scope).spans().iter().any(|span| (span.first..=span.last).contains(&turn)) {
        return Err(
            Refusal::new(format!("Turn {turn} is already part of a summary.")).hint("send what you meant instead")
        );
    }
    Ok(TurnEvent::TakenBack { turn, scope: scope.clone(), tokens })
}
