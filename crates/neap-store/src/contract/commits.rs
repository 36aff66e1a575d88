//! What is stored is what was told, once, in order.

use neap_core::ids::{Seq, TurnNo};
use neap_core::message::Scope;

use super::faults;
use super::told::{Told, complete, conclude, effort, open, session, start, tools};
use crate::{Store, StoreError, Stored};

/// What was committed is loaded and read again, whole.
pub async fn a_commit_is_read_back(store: &dyn Store) {
    let mut told = Told::begin(store, "round trip").await;
    told.turn(store, "hello", "hello to you", Scope::Ambient).await;
    let turn = TurnNo(2);
    let events = vec![
        start(turn, "fix the login", Some("t-2")),
        open("auth bug", turn),
        tools(turn, "three matches"),
        complete(turn, "found it", Scope::Effort(effort("auth bug"))),
    ];
    told.tell(store, events).await.expect("a commit of many events");
    let turn = TurnNo(3);
    let events = vec![
        start(turn, "done, thanks", None),
        conclude("auth bug", "The token had expired.", turn),
        complete(turn, "closed", Scope::Effort(effort("auth bug"))),
    ];
    told.tell(store, events).await.expect("another");
    assert_eq!(store.load(&told.id).await.expect("it can be loaded").as_ref(), Some(&told.state));
    let stored = store.events(&told.id, Seq(1), 1_000).await.expect("it can be read");
    assert_eq!(stored, told.events.iter().cloned().map(Stored::Event).collect::<Vec<_>>());
    let page = store.events(&told.id, Seq(3), 2).await.expect("a part can be read");
    assert_eq!(page, stored[2..4]);
    assert_eq!(store.turn_span(&told.id, turn).await.expect("spans are known"), Some((Seq(8), Seq(10))));
    assert_eq!(store.turn_span(&told.id, TurnNo(9)).await.expect("spans are known"), None);
    assert_eq!(faults(store).await, []);
}

/// What never was is not there, and asking for it changes nothing.
pub async fn an_unknown_session_is_empty(store: &dyn Store) {
    let id = session("nobody");
    assert_eq!(store.load(&id).await.expect("asking is allowed"), None);
    assert_eq!(store.events(&id, Seq(1), 10).await.expect("asking is allowed"), []);
    assert_eq!(store.turn_of(&id, "x").await.expect("asking is allowed"), None);
    assert_eq!(store.sessions().await.expect("asking is allowed"), []);
    assert_eq!(store.rebuild(&id).await.expect("asking is allowed"), []);
}

/// I10: a commit that another came before changes nothing.
pub async fn a_stale_commit_changes_nothing(store: &dyn Store) {
    let mut told = Told::begin(store, "conflict").await;
    let mut stale = told.clone();
    told.turn(store, "first", "yes", Scope::Ambient).await;
    let late = stale.tell(store, vec![start(TurnNo(1), "lost word", Some("late"))]).await;
    let Err(StoreError::Conflict { expected, actual }) = late else {
        panic!("a stale commit was taken: {late:?}")
    };
    assert_eq!((expected, actual), (stale.seq(), told.seq()));
    assert_eq!(store.load(&told.id).await.expect("it can be loaded").as_ref(), Some(&told.state));
    assert_eq!(store.turn_of(&told.id, "late").await.expect("asking is allowed"), None);
    let (early, _) = Told::new("not yet").commit(vec![Told::new("not yet").created()]);
    let mut ahead = Told::new("not yet");
    (_, ahead) = ahead.commit(vec![ahead.created()]);
    let (gap, _) = ahead.commit(vec![start(TurnNo(1), "too early", None)]);
    assert!(matches!(store.commit(gap).await, Err(StoreError::Conflict { .. })));
    store.commit(early).await.expect("the refused one left nothing behind");
    assert_eq!(faults(store).await, []);
}

/// The same turn id is never accepted twice, also by a writer that knows nothing of the first.
pub async fn a_turn_id_counts_once(store: &dyn Store) {
    let mut told = Told::begin(store, "twice").await;
    let before = told.clone();
    told.tell(store, vec![start(TurnNo(1), "only once", Some("abc"))]).await.expect("the first is accepted");
    for mut again in [told.clone(), before] {
        let turn = again.state.turn().next();
        let refused = again.tell(store, vec![start(turn, "only once", Some("abc"))]).await;
        assert!(matches!(refused, Err(StoreError::DuplicateTurn { turn: TurnNo(1) })), "{refused:?}");
    }
    assert_eq!(store.turn_of(&told.id, "abc").await.expect("it is known"), Some(TurnNo(1)));
    assert_eq!(store.load(&told.id).await.expect("it can be loaded").as_ref(), Some(&told.state));
    let mut other = Told::begin(store, "another session").await;
    other.tell(store, vec![start(TurnNo(1), "mine", Some("abc"))]).await.expect("ids are a session's own");
}

/// Any text comes back byte for byte.
pub async fn any_text_is_kept(store: &dyn Store) {
    let mut told = Told::begin(store, "odd text").await;
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
        told.turn(store, text, text, Scope::Ambient).await;
    }
    let big = "word ".repeat(200_000) + "\0end";
    told.turn(store, &big, "long", Scope::Ambient).await;
    let stored = store.events(&told.id, Seq(1), 1_000).await.expect("it can be read");
    assert_eq!(stored, told.events.iter().cloned().map(Stored::Event).collect::<Vec<_>>());
    assert_eq!(faults(store).await, []);
}

/// One session's events never show in another's.
pub async fn sessions_are_apart(store: &dyn Store) {
    let mut one = Told::begin(store, "b one").await;
    let mut two = Told::begin(store, "a two").await;
    one.turn(store, "alpha", "beta", Scope::Ambient).await;
    two.turn(store, "gamma", "delta", Scope::Ambient).await;
    two.turn(store, "gamma", "delta", Scope::Ambient).await;
    for told in [&one, &two] {
        assert_eq!(store.load(&told.id).await.expect("it can be loaded").as_ref(), Some(&told.state));
    }
    let list = store.sessions().await.expect("they can be listed");
    let short: Vec<_> = list.iter().map(|info| (info.session.as_str(), info.turns, info.events)).collect();
    assert_eq!(short, [("a-two", TurnNo(2), two.seq()), ("b-one", TurnNo(1), one.seq())]);
    assert_eq!(list[1].updated, one.state.head().updated);
}
