//! Finds the exchanges behind a handle.

use neap_core::base::handle::{Handle, Likeness, ResultKey};
use neap_core::base::ids::{Seq, Stamp, StreamId, TurnNo};
use neap_core::base::message::Exchange;
use neap_core::session::event::RecordedEvent;
use neap_core::session::log::LogRequest;
use neap_core::session::project::build_exchange;
use neap_core::session::state::SessionState;
use neap_store::{Store, StoreError, StoredEvent};

/// The exchanges behind a handle, oldest first; empty if there are none.
pub(crate) async fn fetch_exchanges(
    store: &dyn Store,
    session: &StreamId,
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
                all.extend(fetch_turn(store, session, state, TurnNo(turn)).await?);
            }
            return Ok(all);
        }
        Handle::Turn(turn) | Handle::Message { turn, .. } => *turn,
        Handle::Result(key) => return find_result(store, session, state, key).await,
    };
    Ok(fetch_turn(store, session, state, turn).await?.into_iter().collect())
}

/// The newest exchange with the result, or else with the one most like it. Every turn may have to be read.
async fn find_result(
    store: &dyn Store,
    session: &StreamId,
    state: &SessionState,
    key: &ResultKey,
) -> Result<Vec<Exchange>, StoreError> {
    let (mut found, mut best) = (Vec::new(), Likeness::Other);
    for turn in (0..=state.turn().0).rev() {
        let Some(exchange) = fetch_turn(store, session, state, TurnNo(turn)).await? else { continue };
        let likeness = exchange.messages.iter().map(|counted| key.likeness(&counted.message)).max();
        if likeness.is_some_and(|likeness| likeness > best) {
            best = likeness.unwrap_or(best);
            found = vec![exchange];
        }
        if best == Likeness::Same {
            break;
        }
    }
    Ok(found)
}

async fn fetch_turn(
    store: &dyn Store,
    session: &StreamId,
    state: &SessionState,
    turn: TurnNo,
) -> Result<Option<Exchange>, StoreError> {
    let (first, last) = match store.turn_span(session, turn).await? {
        Some(span) => span,
        // In flight: what is recorded so far.
        None => match state.head().pending.get(&turn) {
            Some(pending) => (pending.first_seq, state.seq()),
            None => return Ok(None),
        },
    };
    read_exchange(store, session, turn, first, last).await.map(Some)
}

async fn read_exchange(
    store: &dyn Store,
    session: &StreamId,
    turn: TurnNo,
    first: Seq,
    last: Seq,
) -> Result<Exchange, StoreError> {
    let count = usize::try_from(last.0 - first.0 + 1).unwrap_or(usize::MAX);
    let stored = store.events(session, first, count).await?;
    let events: Vec<RecordedEvent> = stored.into_iter().filter_map(StoredEvent::whole).collect();
    let at = events.first().map_or(Stamp(0), |recorded| recorded.at);
    Ok(build_exchange(turn, at, &events))
}
