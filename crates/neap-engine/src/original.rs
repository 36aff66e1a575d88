//! What was said, word for word, by its handle.

use neap_core::event::Recorded;
use neap_core::handle::Handle;
use neap_core::ids::{Seq, SessionId, Stamp, TurnNo};
use neap_core::log::LogRequest;
use neap_core::message::Exchange;
use neap_core::project::exchange;
use neap_core::state::SessionState;
use neap_store::{Store, StoreError, Stored};

/// Fetches the exchanges that a handle leads to, oldest first; none if there are none.
pub(crate) async fn fetch(
    store: &dyn Store,
    session: &SessionId,
    state: &SessionState,
    handle: &Handle,
) -> Result<Vec<Exchange>, StoreError> {
    let turn = match handle {
        Handle::Span { first, last, scope } => {
            let log = store.log(session, &LogRequest::turns(scope.clone(), *first, *last)).await?;
            return Ok(log.exchanges().map(|exchange| exchange.as_ref().clone()).collect());
        }
        Handle::Turns { first, last } => {
            let mut all = Vec::new();
            for turn in first.0..=last.0.min(state.turn().0) {
                all.extend(of_one(store, session, state, TurnNo(turn)).await?);
            }
            return Ok(all);
        }
        Handle::Turn(turn) | Handle::Message { turn, .. } => *turn,
    };
    Ok(of_one(store, session, state, turn).await?.into_iter().collect())
}

/// What was said in a turn; none if there never was one.
async fn of_one(
    store: &dyn Store,
    session: &SessionId,
    state: &SessionState,
    turn: TurnNo,
) -> Result<Option<Exchange>, StoreError> {
    let (first, last) = match store.turn_span(session, turn).await? {
        Some(span) => span,
        // In flight: what was said in it so far.
        None => match state.head().pending.get(&turn) {
            Some(pending) => (pending.first_seq, state.seq()),
            None => return Ok(None),
        },
    };
    of_turn(store, session, turn, first, last).await.map(Some)
}

async fn of_turn(
    store: &dyn Store,
    session: &SessionId,
    turn: TurnNo,
    first: Seq,
    last: Seq,
) -> Result<Exchange, StoreError> {
    let count = usize::try_from(last.0 - first.0 + 1).unwrap_or(usize::MAX);
    let stored = store.events(session, first, count).await?;
    let whole = stored.into_iter().filter_map(|stored| match stored {
        Stored::Event(recorded) => Some(recorded),
        Stored::Damaged { .. } => None,
    });
    let events: Vec<Recorded> = whole.collect();
    let at = events.first().map_or(Stamp(0), |recorded| recorded.at);
    Ok(exchange(turn, at, &events))
}
