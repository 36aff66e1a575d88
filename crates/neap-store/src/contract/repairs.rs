//! Examining, rebuilding and erasing.

use neap_core::base::ids::{Seq, Stamp, StreamId, TurnNo};
use neap_core::base::message::Scope;
use neap_core::base::tokens::Tokens;
use neap_core::recall::{Filter, Query};
use neap_core::session::event::{Event, SessionEvent};
use neap_core::session::log::LogRequest;
use neap_core::text::terms::query_terms;

use super::faults;
use super::fixture::{TestStream, effort, effort_concluded, effort_opened, turn_completed, turn_started};
use crate::{Store, StoredEvent};

async fn rich(store: &dyn Store, name: &str) -> TestStream {
    let mut stream = TestStream::create(store, name).await;
    stream.add_turn(store, "good morning", "and to you", Scope::Ambient).await;
    let turn = TurnNo(2);
    let begun = vec![turn_started(turn, "fix canarybird now", Some("id-2")), effort_opened("bird cage", turn)];
    stream.append(store, begun).await.expect("it opens");
    let done = vec![
        effort_concluded("bird cage", "The canarybird was fed.", turn),
        turn_completed(turn, "canarybird fixed", Scope::Effort(effort("bird cage"))),
    ];
    stream.append(store, done).await.expect("it concludes");
    stream.append(store, vec![turn_started(TurnNo(3), "still waiting", None)]).await.expect("a turn can begin");
    stream
}

pub async fn a_rebuild_gives_the_same(store: &dyn Store) {
    let stream = rich(store, "rebuilt").await;
    let request = Query::new(query_terms("canarybird morning cage"));
    let log = LogRequest::newest(Scope::Effort(effort("bird cage")), Tokens(u64::MAX));
    let before = store.find_candidates(&request).await.expect("a search can be made");
    let log_before = store.log(&stream.id, &log).await.expect("a log can be read");
    assert_eq!(faults(store).await, []);
    assert_eq!(store.rebuild(&stream.id).await.expect("it can be rebuilt"), []);
    assert_eq!(faults(store).await, []);
    assert_eq!(store.load(&stream.id).await.expect("it can be loaded").as_ref(), Some(&stream.state));
    assert_eq!(store.find_candidates(&request).await.expect("a search can be made"), before);
    assert_eq!(store.log(&stream.id, &log).await.expect("a log can be read"), log_before);
    assert_eq!(store.turn_by_id(&stream.id, "id-2").await.expect("it is known"), Some(TurnNo(2)));
    let mut resumed = stream;
    resumed.add_turn(store, "after", "the rebuild", Scope::Ambient).await;
    assert_eq!(faults(store).await, []);
}

/// An erasure leaves only a tombstone, and touches no other session.
pub async fn an_erased_session_is_gone(store: &dyn Store) {
    let stream = rich(store, "erased").await;
    let other = rich(store, "kept").await;
    let now = Stamp(1_800_000_000_000);
    assert_eq!(store.scrub(&stream.id, now).await.expect("it can be erased"), stream.events.len() as u64);
    let state = store.load(&stream.id).await.expect("it can be loaded").expect("the tombstone stays");
    assert!(state.head().scrubbed);
    assert_eq!((state.head().stream.as_ref(), state.seq()), (None, stream.seq().next()));
    assert_eq!(state.efforts().len(), 0);
    let left = store.events(&stream.id, Seq(1), 100).await.expect("it can be read");
    let [StoredEvent::Whole(tombstone)] = left.as_slice() else {
        panic!("more than a tombstone is left: {left:?}")
    };
    assert_eq!(tombstone.event, Event::Session(SessionEvent::Scrubbed { events: stream.events.len() as u64 }));
    assert_eq!((tombstone.seq, tombstone.at), (stream.seq().next(), now));
    assert_eq!(store.turn_by_id(&stream.id, "id-2").await.expect("asking is allowed"), None);
    let query =
        Query { filter: Filter::for_stream(&stream.id), ..Query::new(query_terms("canarybird cage morning")) };
    assert_eq!(store.find_candidates(&query).await.expect("a search can be made").items, []);
    let info = store.sessions().await.expect("they can be listed").remove(0);
    assert_eq!((StreamId::from(info.session), info.scrubbed, info.efforts), (stream.id.clone(), true, 0));
    assert_eq!(store.scrub(&stream.id, now).await.expect("again does no harm"), 0);
    assert_eq!(store.load(&other.id).await.expect("it can be loaded").as_ref(), Some(&other.state));
    assert_eq!(faults(store).await, []);
    store.rebuild(&stream.id).await.expect("a tombstone can be rebuilt");
    assert_eq!(faults(store).await, []);
}
