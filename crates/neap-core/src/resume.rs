//! What a restart means: expansions do not survive it, and a turn that was cut off is closed.

use crate::event::{AbandonReason, CollapseCause, Event};
use crate::ids::TurnNo;
use crate::route::route;
use crate::state::SessionState;

/// The events that open a session again. What was said in a turn without a reply stays, in its place.
pub fn resume(state: &SessionState) -> Vec<Event> {
    let turn = state.turn();
    let collapsed = state.expanded().map(|effort| Event::EffortCollapsed {
        id: effort.id.clone(),
        turn,
        cause: CollapseCause::Restarted,
        tokens_freed: effort.expanded.map(|x| x.tokens_loaded).unwrap_or_default(),
    });
    let turns = state.head().pending.keys();
    let abandoned = turns.filter_map(|turn| abandon(state, *turn, AbandonReason::ProcessEnded));
    collapsed.chain(abandoned).collect()
}

/// The event that closes a turn which will get no reply, if it is in flight.
pub fn abandon(state: &SessionState, turn: TurnNo, reason: AbandonReason) -> Option<Event> {
    let pending = state.head().pending.get(&turn)?;
    Some(Event::TurnAbandoned { turn, reason, scope: route(pending) })
}
