//! What clients said, found again by the digests that stand for it.

use neap_core::event::Event;
use neap_core::ids::{SessionId, Stamp, TurnNo};
use neap_core::ingest::{Digest, Line, Link};

use super::faults;
use super::told::Told;
use crate::Store;

fn digest(name: &str) -> Digest {
    Digest::of("test", &[name.as_bytes()])
}

fn heard(names: &[&str], turn: u64) -> Event {
    let turn = TurnNo(turn);
    let links = names.iter().map(|name| Link { digest: digest(name), turn }).collect();
    let asked = names.last().map_or_else(|| digest("none"), |name| digest(name));
    Event::HistoryLinked { turn, links, line: Line { asked, answered: Vec::new() }, tenant: None }
}

async fn found(store: &dyn Store, names: &[&str]) -> Vec<Vec<(SessionId, TurnNo)>> {
    let digests: Vec<Digest> = names.iter().map(|name| digest(name)).collect();
    store.linked(&digests).await.expect("a look can be taken")
}

/// What was heard is found in each session that heard it, those that began first first, with the turn in which it was heard
/// first; a rebuild changes nothing, and an erasure takes its own along.
pub async fn a_history_is_linked(store: &dyn Store) {
    assert_eq!(found(store, &["a"]).await, [vec![]]);
    let mut one = Told::begin(store, "zebra").await;
    let mut two = Told::begin(store, "ant").await;
    one.tell(store, vec![heard(&["a", "b"], 1)]).await.expect("it is heard");
    two.tell(store, vec![heard(&["a"], 2), heard(&["a", "c"], 3)]).await.expect("it is heard");
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
    // A commit that is refused links nothing.
    let (late, _) = one.commit(vec![heard(&["late"], 4)]);
    assert!(store.commit(late).await.is_err());
    assert_eq!(found(store, &["late"]).await, [vec![]]);
}
