//! Commits: what is stored is what was committed, once, in order.

use neap_core::base::ids::{Seq, TurnNo};
use neap_core::base::message::Scope;

use super::faults;
use super::fixture::{
    TestStream, effort, effort_concluded, effort_opened, session, tools_called, turn_completed, turn_started,
};
use crate::{Store, StoreError, StoredEvent};

pub async fn a_commit_is_read_back(store: &dyn Store) {
    let mut stream = TestStream::create(store, "round trip").await;
    stream.add_turn(store, "hello", "hello to you", Scope::Ambient).await;
    let turn = TurnNo(2);
    let events = vec![
        turn_started(turn, "fix the login", Some("t-2")),
        effort_opened("auth bug", turn),
        tools_called(turn, "three matches"),
        turn_completed(turn, "found it", Scope::Effort(effort("auth bug"))),
    ];
    stream.append(store, events).await.expect("a commit of many events");
    let turn = TurnNo(3);
    let events = vec![
        turn_started(turn, "done, thanks", None),
        effort_concluded("auth bug", "The token had expired.", turn),
        turn_completed(turn, "closed", Scope::Effort(effort("auth bug"))),
    ];
    stream.append(store, events).await.expect("another");
    assert_eq!(store.load(&stream.id).await.expect("it can be loaded").as_ref(), Some(&stream.state));
    let stored = store.events(&stream.id, Seq(1), 1_000).await.expect("it can be read");
    assert_eq!(stored, stream.events.iter().cloned().map(StoredEvent::Whole).collect::<Vec<_>>());
    let page = store.events(&stream.id, Seq(3), 2).await.expect("a part can be read");
    assert_eq!(page, stored[2..4]);
    assert_eq!(store.turn_span(&stream.id, turn).await.expect("spans are known"), Some((Seq(8), Seq(10))));
    assert_eq!(store.turn_span(&stream.id, TurnNo(9)).await.expect("spans are known"), None);
    assert_eq!(faults(store).await, []);
}

pub async fn an_unknown_session_is_empty(store: &dyn Store) {
    let id = session("nobody");
    assert_eq!(store.load(&id).await.expect("asking is allowed"), None);
    assert_eq!(store.events(&id, Seq(1), 10).await.expect("asking is allowed"), []);
    assert_eq!(store.turn_by_id(&id, "x").await.expect("asking is allowed"), None);
    assert_eq!(store.sessions().await.expect("asking is allowed"), []);
    assert_eq!(store.rebuild(&id).await.expect("asking is allowed"), []);
}

/// I10: a commit with an outdated predecessor changes nothing.
pub async fn a_stale_commit_changes_nothing(store: &dyn Store) {
    let mut stream = TestStream::create(store, "conflict").await;
    let mut stale = stream.clone();
    stream.add_turn(store, "first", "yes", Scope::Ambient).await;
    let late = stale.append(store, vec![turn_started(TurnNo(1), "lost word", Some("late"))]).await;
    let Err(StoreError::Conflict { expected, actual }) = late else {
        panic!("a stale commit was taken: {late:?}")
    };
    assert_eq!((expected, actual), (stale.seq(), stream.seq()));
    assert_eq!(store.load(&stream.id).await.expect("it can be loaded").as_ref(), Some(&stream.state));
    assert_eq!(store.turn_by_id(&stream.id, "late").await.expect("asking is allowed"), None);
    let (early, _) = TestStream::new("not yet").build_commit(vec![TestStream::new("not yet").created_event()]);
    let mut ahead = TestStream::new("not yet");
    (_, ahead) = ahead.build_commit(vec![ahead.created_event()]);
    let (gap, _) = ahead.build_commit(vec![turn_started(TurnNo(1), "too early", None)]);
    assert!(matches!(store.commit(gap).await, Err(StoreError::Conflict { .. })));
    store.commit(early).await.expect("the refused one left nothing behind");
    assert_eq!(faults(store).await, []);
}

/// The same turn id is never accepted twice, not even from a writer that has not seen the first.
pub async fn a_turn_id_counts_once(store: &dyn Store) {
    let mut stream = TestStream::create(store, "twice").await;
    let before = stream.clone();
    stream
        .append(store, vec![turn_started(TurnNo(1), "only once", Some("abc"))])
        .await
        .expect("the first is accepted");
    for mut again in [stream.clone(), before] {
        let turn = again.state.turn().next();
        let refused = again.append(store, vec![turn_started(turn, "only once", Some("abc"))]).await;
        assert!(matches!(refused, Err(StoreError::DuplicateTurn { turn: TurnNo(1) })), "{refused:?}");
    }
    assert_eq!(store.turn_by_id(&stream.id, "abc").await.expect("it is known"), Some(TurnNo(1)));
    assert_eq!(store.load(&stream.id).await.expect("it can be loaded").as_ref(), Some(&stream.state));
    let mut other = TestStream::create(store, "another session").await;
    other
        .append(store, vec![turn_started(TurnNo(1), "mine", Some("abc"))])
        .await
        .expect("ids are a session's own");
}

pub async fn any_text_is_kept(store: &dyn Store) {
    let mut stream = TestStream::create(store, "odd text").await;
    let odd = [
        "nul \0 inside",
        "\u{feff}mark, \u{200d}joiner, \u{202e}reversed",
        "e\u{301} is not \u{e9}",
        "\u{10ffff}\u{e000}\u{fffd}\u{1f469}\u{200d}\u{1f4bb}",
        "tabs\tand\r\nlines\u{2028}\u{85}",
        "\\u0000 \" ' ; DROP TABLE events; --",
        "",
        " ",
    ];
    for text in odd {
        stream.add_turn(store, text, text, Scope::Ambient).await;
    }
    let big = "word ".repeat(200_000) + "\0end";
    stream.add_turn(store, &big, "long", Scope::Ambient).await;
    let stored = store.events(&stream.id, Seq(1), 1_000).await.expect("it can be read");
    assert_eq!(stored, stream.events.iter().cloned().map(StoredEvent::Whole).collect::<Vec<_>>());
    assert_eq!(faults(store).await, []);
}

pub async fn sessions_are_apart(store: &dyn Store) {
    let mut one = TestStream::create(store, "b one").await;
    let mut two = TestStream::create(store, "a two").await;
    one.add_turn(store, "alpha", "beta", Scope::Ambient).await;
    two.add_turn(store, "gamma", "delta", Scope::Ambient).await;
    two.add_turn(store, "gamma", "delta", Scope::Ambient).await;
    for stream in [&one, &two] {
        assert_eq!(store.load(&stream.id).await.expect("it can be loaded").as_ref(), Some(&stream.state));
    }
    let list = store.sessions().await.expect("they can be listed");
    let short: Vec<_> = list.iter().map(|info| (info.session.as_str(), info.turns, info.events)).collect();
    assert_eq!(short, [("a-two", TurnNo(2), two.seq()), ("b-one", TurnNo(1), one.seq())]);
    assert_eq!(list[1].updated, one.state.head().updated);
}
