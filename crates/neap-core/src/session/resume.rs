//! Reopens a session after a restart: expansions do not survive it, and interrupted turns are closed.

use crate::base::ids::TurnNo;
use crate::session::event::{AbandonReason, CollapseCause, EffortEvent, Event, TurnEvent};
use crate::session::route::route;
use crate::session::state::SessionState;

/// The events that reopen a session. The messages of a turn without a reply stay in place.
pub fn resume(state: &SessionState) -> Vec<Event> {
    let turn = state.turn();
    let collapsed = state.expanded_efforts().map(|effort| EffortEvent::Collapsed {
        id: effort.id.clone(),
        turn,
        cause: CollapseCause::Restarted,
        tokens_freed: effort.expanded.map(|x| x.tokens_loaded).unwrap_or_default(),
    });
    let turns = state.head().pending.keys();
    let abandoned = turns.filter_map(|turn| abandon(state, *turn, AbandonReason::ProcessEnded));
    collapsed.map(Event::Effort).chain(abandoned.map(Event::Turn)).collect()
}

/// The event that closes a turn without a reply; none if the turn is not in flight.
pub fn abandon(state: &SessionState, turn: TurnNo, reason: AbandonReason) -> Option<TurnEvent> {
    let pending = state.head().pending.get(&turn)?;
    Some(TurnEvent::Abandoned { turn, reason, scope: route(pending) })
}
