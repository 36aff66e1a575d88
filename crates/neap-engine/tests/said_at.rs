//! Turns that are recorded after they were said.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use std::sync::Arc;

use neap_core::base::ids::{SessionId, Stamp};
use neap_core::recall::Filter;
use neap_engine::{Author, Engine, FixedClock, SessionOptions};
use neap_store::MemStore;

#[tokio::test]
async fn a_turn_has_the_time_at_which_it_was_said() {
    let now = Stamp::parse_iso("2026-05-01T09:30Z").unwrap();
    let engine = Engine::builder(Arc::new(MemStore::new())).clock(Arc::new(FixedClock::at(now))).build();
    let id = SessionId::from_name("talk").unwrap();
    let mut session = engine.resume(&id, &SessionOptions::default()).await.unwrap();
    for (text, time) in [
        ("Dinner was lentil soup.", Some("2024-01-21T18:00Z")),
        ("Dinner was baked trout.", Some("2025-03-02")),
        ("Dinner was bean stew.", Some("2031-01-01")),
        ("Dinner was plum cake.", None),
    ] {
        let at = time.map(|time| Stamp::parse_iso(time).unwrap());
        session.record_at(Author::Person, text, "Noted.", None, at).await.unwrap();
    }
    let found = async |question: &str| engine.search(question, Filter::default(), 9).await.unwrap();
    let day = async |word: &str| found(word).await[0].at.date();
    assert_eq!(day("lentil soup").await, "2024-01-21");
    assert_eq!(day("baked trout").await, "2025-03-02");
    assert_eq!(day("bean stew").await, "2026-05-01", "what is still to come was said now");
    assert_eq!(day("plum cake").await, "2026-05-01", "the time before it holds for no other turn");
    for (question, want) in [("dinner in January 2024", "lentil"), ("dinner in March 2025", "trout")] {
        let best = &found(question).await[0];
        assert!(best.text.contains(want), "{question}: {best:?}");
    }
}
