//! Events by kind, and footprints.

use neap_core::base::ids::{Seq, TurnNo};
use neap_core::base::message::Scope;

use super::fixture::{
    TestStream, effort_concluded, effort_opened, session, tools_called, turn_completed, turn_started,
};
use crate::{Footprint, Store, StoredEvent};

pub async fn events_are_listed_by_kind(store: &dyn Store) {
    let mut stream = TestStream::create(store, "kinds").await;
    let mut other = TestStream::create(store, "others").await;
    for n in 1..=8 {
        let (turn, name) = (TurnNo(n), format!("effort {n}"));
        let mut events =
            vec![turn_started(turn, "go on", None), effort_opened(&name, turn), tools_called(turn, "found")];
        if n % 2 == 0 {
            events.push(effort_concluded(&name, "Done.", turn));
        }
        events.push(turn_completed(turn, "yes", Scope::Ambient));
        stream.append(store, events.clone()).await.expect("a turn can be stored");
        other.append(store, events).await.expect("a turn can be stored");
    }
    for kinds in [
        &["effort_concluded"][..],
        &["turn_started"],
        &["effort_concluded", "effort_opened"],
        &["turn_completed", "tools_called", "session_created"],
        &["effort_opened", "effort_opened"],
        &["scrubbed"],
        &["no such kind", "' OR 1 --"],
        &[],
    ] {
        let matching = stream.events.iter().rev().filter(|e| kinds.contains(&e.event.kind()));
        let expected: Vec<_> = matching.cloned().map(StoredEvent::Whole).collect();
        let all = store.events_of_kinds(&stream.id, kinds, None, usize::MAX).await.expect("events can be listed");
        assert_eq!(all, expected, "{kinds:?}");
        let mut pages = Vec::new();
        let mut before = None;
        loop {
            let page = store.events_of_kinds(&stream.id, kinds, before, 3).await.expect("events can be listed");
            let Some(StoredEvent::Whole(last)) = page.last() else { break };
            assert!(page.len() <= 3);
            before = Some(last.seq);
            pages.extend(page);
        }
        assert_eq!(pages, expected, "{kinds:?}");
        assert_eq!(
            store.events_of_kinds(&stream.id, kinds, Some(Seq(0)), 9).await.expect("asking is allowed"),
            []
        );
        assert_eq!(store.events_of_kinds(&stream.id, kinds, None, 0).await.expect("asking is allowed"), []);
    }
    let nobody = store.events_of_kinds(&session("nobody"), &["turn_started"], None, 9).await;
    assert_eq!(nobody.expect("asking is allowed"), []);
}

/// `said` is exact to the byte; the whole is the sum of the sessions.
pub async fn a_footprint_adds_up(store: &dyn Store) {
    let footprint = async |name: Option<&str>| {
        store.footprint(name.map(session).as_ref()).await.expect("a footprint can be taken")
    };
    assert_eq!(footprint(None).await, Footprint { file: footprint(None).await.file, ..Footprint::default() });
    let mut one = TestStream::create(store, "one").await;
    let mut two = TestStream::create(store, "two").await;
    let before = footprint(Some("one")).await;
    one.add_turn(store, "abc", "d\u{e9}f", Scope::Ambient).await;
    one.append(store, vec![turn_started(TurnNo(2), "", None), tools_called(TurnNo(2), "xyz")])
        .await
        .expect("it can be stored");
    for _ in 0..20 {
        two.add_turn(store, "many more words than the other", "and as many again", Scope::Ambient).await;
    }
    let (first, second, whole) =
        (footprint(Some("one")).await, footprint(Some("two")).await, footprint(None).await);
    // Two messages, a tool's result and the arguments of its call, `{"q": 1}`.
    assert_eq!(first.said, 3 + 4 + 3 + 8);
    assert_eq!(second.said, 20 * (30 + 17));
    assert!(first.events > before.events && first.derived > before.derived);
    assert!(second.index > first.index && first.index > 0);
    assert_eq!(whole.said, first.said + second.said);
    assert_eq!(whole.events, first.events + second.events);
    assert_eq!(whole.derived, first.derived + second.derived);
    assert!(whole.index.abs_diff(first.index + second.index) <= 1);
    assert_eq!(footprint(Some("nobody")).await, Footprint { file: whole.file, ..Footprint::default() });
}
