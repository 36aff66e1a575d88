//! Events by kind, and how much room they take.

use neap_core::ids::{Seq, TurnNo};
use neap_core::message::Scope;

use super::told::{Told, complete, conclude, open, session, start, tools};
use crate::{Footprint, Store, Stored};

/// Events of the kinds asked for, newest first, from where the last page ended.
pub async fn events_are_listed_by_kind(store: &dyn Store) {
    let mut told = Told::begin(store, "kinds").await;
    let mut other = Told::begin(store, "others").await;
    for n in 1..=8 {
        let (turn, name) = (TurnNo(n), format!("effort {n}"));
        let mut events = vec![start(turn, "go on", None), open(&name, turn), tools(turn, "found")];
        if n % 2 == 0 {
            events.push(conclude(&name, "Done.", turn));
        }
        events.push(complete(turn, "yes", Scope::Ambient));
        told.tell(store, events.clone()).await.expect("a turn can be stored");
        other.tell(store, events).await.expect("a turn can be stored");
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
        let asked = told.events.iter().rev().filter(|e| kinds.contains(&e.event.kind()));
        let expected: Vec<_> = asked.cloned().map(Stored::Event).collect();
        let all = store.events_of(&told.id, kinds, None, usize::MAX).await.expect("events can be listed");
        assert_eq!(all, expected, "{kinds:?}");
        let mut pages = Vec::new();
        let mut before = None;
        loop {
            let page = store.events_of(&told.id, kinds, before, 3).await.expect("events can be listed");
            let Some(Stored::Event(last)) = page.last() else { break };
            assert!(page.len() <= 3);
            before = Some(last.seq);
            pages.extend(page);
        }
        assert_eq!(pages, expected, "{kinds:?}");
        assert_eq!(store.events_of(&told.id, kinds, Some(Seq(0)), 9).await.expect("asking is allowed"), []);
        assert_eq!(store.events_of(&told.id, kinds, None, 0).await.expect("asking is allowed"), []);
    }
    let nobody = store.events_of(&session("nobody"), &["turn_started"], None, 9).await;
    assert_eq!(nobody.expect("asking is allowed"), []);
}

/// What was said is counted to the byte; the whole is the sum of the sessions.
pub async fn a_footprint_adds_up(store: &dyn Store) {
    let of = async |name: Option<&str>| {
        store.footprint(name.map(session).as_ref()).await.expect("a footprint can be taken")
    };
    assert_eq!(of(None).await, Footprint { file: of(None).await.file, ..Footprint::default() });
    let mut one = Told::begin(store, "one").await;
    let mut two = Told::begin(store, "two").await;
    let before = of(Some("one")).await;
    one.turn(store, "abc", "d\u{e9}f", Scope::Ambient).await;
    one.tell(store, vec![start(TurnNo(2), "", None), tools(TurnNo(2), "xyz")]).await.expect("it can be stored");
    for _ in 0..20 {
        two.turn(store, "many more words than the other", "and as many again", Scope::Ambient).await;
    }
    let (first, second, whole) = (of(Some("one")).await, of(Some("two")).await, of(None).await);
    // Two words, a tool's result and the arguments of its call, `{"q": 1}`.
    assert_eq!(first.said, 3 + 4 + 3 + 8);
    assert_eq!(second.said, 20 * (30 + 17));
    assert!(first.events > before.events && first.derived > before.derived);
    assert!(second.index > first.index && first.index > 0);
    assert_eq!(whole.said, first.said + second.said);
    assert_eq!(whole.events, first.events + second.events);
    assert_eq!(whole.derived, first.derived + second.derived);
    assert!(whole.index.abs_diff(first.index + second.index) <= 1);
    assert_eq!(of(Some("nobody")).await, Footprint { file: whole.file, ..Footprint::default() });
}
