//! What a restart means: expansions do not survive it, and a turn that was cut off is closed.

use crate::event::{AbandonReason, CollapseCause, Event};
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
    let abandoned = state.head().pending.iter().map(|(turn, pending)| Event::TurnAbandoned {
        turn: *turn,
        reason: AbandonReason::ProcessEnded,
        scope: route(pending),
    });
    collapsed.chain(abandoned).collect()
}
