//! I9: whatever was said, every backend proposes the same; and what was stored in another order ends the same.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use neap_core::base::ids::TurnNo;
use neap_core::base::message::Scope;
use neap_core::recall::{Query, SearchLimits};
use neap_sqlite::SqliteStore;
use neap_store::SearchStore;
use neap_store::contract::{
    TestStream, effort_opened, propose_alike, propose_alike_of_many, turn_completed, turn_started,
};

use crate::scene::block_on;

#[test]
fn every_backend_proposes_the_same() {
    for seed in [1, 7, 1_234_567] {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&dir.path().join("neap.db")).unwrap();
        block_on(propose_alike(&store, seed));
    }
}

#[test]
fn every_backend_proposes_the_same_of_many() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&dir.path().join("neap.db")).unwrap();
    block_on(propose_alike_of_many(&store));
}

/// Equal scores are told apart by what a text is, not by when it was stored.
#[test]
fn proposals_do_not_depend_on_the_order_of_commits() {
    let mut answers = Vec::new();
    for order in [[0, 1, 0, 1, 0, 1, 0, 1], [0, 0, 0, 0, 1, 1, 1, 1], [1, 1, 0, 0, 1, 0, 1, 0]] {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&dir.path().join("neap.db")).unwrap();
        block_on(async {
            let mut told = [TestStream::create(&store, "one").await, TestStream::create(&store, "two").await];
            for stream in order {
                let turn: TurnNo = told[stream].state.turn().next();
                let said = vec![turn_started(turn, "apple", None), effort_opened(&format!("effort {turn}"), turn)];
                told[stream].append(&store, said).await.unwrap();
                told[stream].append(&store, vec![turn_completed(turn, "apple", Scope::Ambient)]).await.unwrap();
            }
            let mut cards = Vec::new();
            for max in 0..8 {
                let limits = SearchLimits { lexical_max: max, visits_max: 2 * max, ..SearchLimits::default() };
                let terms = vec!["apple".to_owned(), "effort".to_owned()];
                cards.push(store.find_candidates(&Query { limits, ..Query::new(terms) }).await.unwrap());
            }
            answers.push(cards);
        });
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0], answers[2]);
    assert_eq!(answers[0][7].items.len(), 7);
}
