//! Decides which log an exchange belongs to.

use crate::base::message::Scope;
use crate::session::state::PendingTurn;

/// The effort that the turn opened, switched to or reopened last; else the one active when it began, so that a
/// closing exchange belongs to what it closes; else ambient chat.
pub fn route(pending: &PendingTurn) -> Scope {
    let home = pending.entered.as_ref().or(pending.active_before.as_ref());
    home.cloned().map_or(Scope::Ambient, Scope::Effort)
}
