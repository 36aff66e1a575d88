//! Examining, rebuilding and erasing.

use neap_core::event::Event;
use neap_core::ids::{Seq, Stamp, TurnNo};
use neap_core::log::LogRequest;
use neap_core::message::Scope;
use neap_core::recall::{Filter, Query};
use neap_core::terms::query_terms;
use neap_core::tokens::Tokens;

use super::faults;
use super::told::{Told, complete, conclude, effort, open, start};
use crate::{Store, Stored};

/// A session with something of everything in it.
async fn rich(store: &dyn Store, name: &str) -> Told {
    let mut told = Told::begin(store, name).await;
    told.turn(store, "good morning", "and to you", Scope::Ambient).await;
    let turn = TurnNo(2);
    let begun = vec![start(turn, "fix canarybird now", Some("id-2")), open("bird cage", turn)];
    told.tell(store, begun).await.expect("it opens");
    let done = vec![
        conclude("bird cage", "The canarybird was fed.", turn),
        complete(turn, "canarybird fixed", Scope::Effort(effort("bird cage"))),
    ];
    told.tell(store, done).await.expect("it concludes");
    told.tell(store, vec![start(TurnNo(3), "still waiting", None)]).await.expect("a turn can begin");
    told
}

/// Rebuilding what is whole changes nothing that can be seen.
pub async fn a_rebuild_gives_the_same(store: &dyn Store) {
    let told = rich(store, "rebuilt").await;
    let request = Query::new(query_terms("canarybird morning cage"));
    let log = LogRequest::newest(Scope::Effort(effort("bird cage")), Tokens(u64::MAX));
    let before = store.propose(&request).await.expect("a search can be made");
    let log_before = store.log(&told.id, &log).await.expect("a log can be read");
    assert_eq!(faults(store).await, []);
    assert_eq!(store.rebuild(&told.id).await.expect("it can be rebuilt"), []);
    assert_eq!(faults(store).await, []);
    assert_eq!(store.load(&told.id).await.expect("it can be loaded").as_ref(), Some(&told.state));
    assert_eq!(store.propose(&request).await.expect("a search can be made"), before);
    assert_eq!(store.log(&told.id, &log).await.expect("a log can be read"), log_before);
    assert_eq!(store.turn_of(&told.id, "id-2").await.expect("it is known"), Some(TurnNo(2)));
    let mut on = told;
    on.turn(store, "after", "the rebuild", Scope::Ambient).await;
    assert_eq!(faults(store).await, []);
}

/// An erasure leaves a tombstone and nothing else, and touches no other session.
pub async fn an_erased_session_is_gone(store: &dyn Store) {
    let told = rich(store, "erased").await;
    let other = rich(store, "kept").await;
    let now = Stamp(1_800_000_000_000);
    assert_eq!(store.scrub(&told.id, now).await.expect("it can be erased"), told.events.len() as u64);
    let state = store.load(&told.id).await.expect("it can be loaded").expect("the tombstone stays");
    assert!(state.head().scrubbed);
    assert_eq!((state.head().session.as_ref(), state.seq()), (None, told.seq().next()));
    assert_eq!(state.efforts().len(), 0);
    let left = store.events(&told.id, Seq(1), 100).await.expect("it can be read");
    let [Stored::Event(tombstone)] = left.as_slice() else { panic!("more than a tombstone is left: {left:?}") };
    assert_eq!(tombstone.event, Event::Scrubbed { events: told.events.len() as u64 });
    assert_eq!((tombstone.seq, tombstone.at), (told.seq().next(), now));
    assert_eq!(store.turn_of(&told.id, "id-2").await.expect("asking is allowed"), None);
    let query =
        Query { filter: Filter::of_stream(&told.id), ..Query::new(query_terms("canarybird cage morning")) };
    assert_eq!(store.propose(&query).await.expect("a search can be made").cards, []);
    let info = store.sessions().await.expect("they can be listed").remove(0);
    assert_eq!((info.session, info.scrubbed, info.efforts), (told.id.clone(), true, 0));
    assert_eq!(store.scrub(&told.id, now).await.expect("again does no harm"), 0);
    assert_eq!(store.load(&other.id).await.expect("it can be loaded").as_ref(), Some(&other.state));
    assert_eq!(faults(store).await, []);
    store.rebuild(&told.id).await.expect("a tombstone can be rebuilt");
    assert_eq!(faults(store).await, []);
}
