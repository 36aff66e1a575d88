//! Where does an exchange belong? (DESIGN, decision 3)

use crate::message::Scope;
use crate::state::Pending;

/// To the effort that the turn opened, switched to or reopened last; else to the one that was active when
/// it began, so that a closing exchange belongs to what it closes; else to ambient chat.
pub fn route(pending: &Pending) -> Scope {
    let home = pending.entered.as_ref().or(pending.active_before.as_ref());
    home.cloned().map_or(Scope::Ambient, Scope::Effort)
}
