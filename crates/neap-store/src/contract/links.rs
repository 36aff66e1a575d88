//! Client histories, found again by their digests.

use neap_core::base::digest::Digest;
use neap_core::base::ids::{SessionId, Stamp, StreamId, TurnNo};
use neap_core::client::{HistoryHead, HistoryLink};
use neap_core::session::event::{ClientEvent, Event};

use super::faults;
use super::fixture::TestStream;
use crate::Store;

fn digest(name: &str) -> Digest {
    Digest::of("test", &[name.as_bytes()])
}

fn history_linked(names: &[&str], turn: u64) -> Event {
    let turn = TurnNo(turn);
    let links = names.iter().map(|name| HistoryLink { digest: digest(name), turn }).collect();
    let asked = names.last().map_or_else(|| digest("none"), |name| digest(name));
    Event::Client(ClientEvent::HistoryLinked {
        turn,
        links,
        history: HistoryHead { asked, answered: Vec::new() },
        tenant: None,
    })
}

async fn found(store: &dyn Store, names: &[&str]) -> Vec<Vec<(StreamId, TurnNo)>> {
    let digests: Vec<Digest> = names.iter().map(|name| digest(name)).collect();
    let found = store.sessions_by_digest(&digests).await.expect("a look can be taken");
    let streams =
        |found: Vec<(SessionId, TurnNo)>| found.into_iter().map(|(id, turn)| (id.into(), turn)).collect();
    found.into_iter().map(streams).collect()
}

/// Oldest session first, with the first turn that recorded the digest; a rebuild changes nothing.
pub async fn a_history_is_linked(store: &dyn Store) {
    assert_eq!(found(store, &["a"]).await, [vec![]]);
    let mut one = TestStream::create(store, "zebra").await;
    let mut two = TestStream::create(store, "ant").await;
    one.append(store, vec![history_linked(&["a", "b"], 1)]).await.expect("it is heard");
    two.append(store, vec![history_linked(&["a"], 2), history_linked(&["a", "c"], 3)]).await.expect("it is heard");
    let (first, second) = (|turn| (one.id.clone(), TurnNo(turn)), |turn| (two.id.clone(), TurnNo(turn)));
    let want = vec![vec![second(3)], vec![first(1), second(2)], vec![], vec![first(1)]];
    assert_eq!(found(store, &["c", "a", "x", "b"]).await, want);
    assert_eq!(store.load(&two.id).await.expect("it can be loaded").as_ref(), Some(&two.state));
    assert_eq!(faults(store).await, []);
    for id in [&one.id, &two.id] {
        assert_eq!(store.rebuild(id).await.expect("it can be rebuilt"), []);
    }
    assert_eq!(found(store, &["c", "a", "x", "b"]).await, want);
    assert_eq!(faults(store).await, []);
    store.scrub(&one.id, Stamp(1_800_000_000_000)).await.expect("it can be erased");
    assert_eq!(found(store, &["a", "b"]).await, [vec![second(2)], vec![]]);
    assert_eq!(faults(store).await, []);
    let (late, _) = one.build_commit(vec![history_linked(&["late"], 4)]);
    assert!(store.commit(late).await.is_err());
    assert_eq!(found(store, &["late"]).await, [vec![]]);
}
