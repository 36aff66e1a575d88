//! Search: one natural word finds what was said, in any script, whatever else the word might mean to a machine.

use neap_core::ids::{SessionId, TurnNo};
use neap_core::message::{Role, Scope};
use neap_core::rank::{Candidate, Found, SearchRequest};
use neap_core::terms::query_terms;

use super::told::{Told, conclude, effort, open, start};
use crate::Store;

async fn search(store: &dyn Store, session: Option<&SessionId>, query: &str) -> Vec<(SessionId, Found)> {
    store.search(session, &SearchRequest::new(query_terms(query))).await.expect("a search can be made")
}

async fn messages(store: &dyn Store, told: &Told, query: &str) -> Vec<u64> {
    let found = search(store, Some(&told.id), query).await;
    let mut turns: Vec<u64> = found
        .iter()
        .flat_map(|(_, found)| &found.candidates)
        .filter_map(|candidate| match candidate {
            Candidate::Message { turn, .. } => Some(turn.0),
            Candidate::Effort { .. } => None,
        })
        .collect();
    turns.sort_unstable();
    turns
}

/// Words are found by any of their forms, and nothing a word could mean to a query language matters.
pub async fn a_word_finds_its_message(store: &dyn Store) {
    let mut told = Told::begin(store, "words").await;
    let said = [
        "the deployments were failing",         // 1
        "修复 登录 页面",                       // 2
        "ошибка входа 401",                     // 3
        "is it NEAR or AND or NOT far",         // 4
        "a star * and a dash - and \"quotes\"", // 5
        "naïve über Straße",                    // 6
        "ক্ষ कि ก็ combining marks",              // 7
        "see NetError in src/io_net.rs",        // 8
    ];
    for text in said {
        told.turn(store, text, "ok", Scope::Ambient).await;
    }
    let expect = [
        ("deployment fails", vec![1]),
        ("登录", vec![2]),
        ("ОШИБКА", vec![3]),
        ("401", vec![3]),
        ("NEAR", vec![4]),
        ("near(", vec![4]),
        ("dash*", vec![5]),
        ("\"quotes", vec![5]),
        ("-star", vec![5]),
        ("über", vec![6]),
        ("uber", vec![]),
        ("STRASSE", vec![]),
        ("कि", vec![7]),
        ("neterror", vec![8]),
        ("error", vec![8]),
        ("nothing-like-this", vec![]),
        ("* - \" ( ) : ^", vec![]),
        ("", vec![]),
    ];
    for (query, turns) in expect {
        assert_eq!(messages(store, &told, query).await, turns, "{query:?}");
    }
    let raw = SearchRequest::new(["\"", "a b", "*", "x\0", "NEAR", "words:near", ""].map(str::to_owned).to_vec());
    let found = store.search(Some(&told.id), &raw).await.expect("what is no term is no error");
    assert_eq!(found[0].1.candidates, []);
    assert_eq!(found[0].1.texts_with, [0; 7]);
}

/// Counts are of one session; a message comes with where it belongs and no more text than asked for.
pub async fn a_search_counts_and_cuts(store: &dyn Store) {
    let mut told = Told::begin(store, "counts").await;
    let mut other = Told::begin(store, "other").await;
    other.turn(store, "apple apple", "pear", Scope::Ambient).await;
    told.tell(store, vec![start(TurnNo(1), "apple pie", None), open("apple tart", TurnNo(1))])
        .await
        .expect("an effort can be opened");
    let request = SearchRequest { text_bytes_max: 7, ..SearchRequest::new(query_terms("apple pear")) };
    let found = store.search(Some(&told.id), &request).await.expect("a search can be made");
    let [(id, found)] = found.as_slice() else { panic!("one session was asked for") };
    assert_eq!((id, found.texts, found.texts_with.as_slice()), (&told.id, 2, [2, 0].as_slice()));
    let text = "apple p".to_owned();
    let said = Candidate::Message { scope: None, turn: TurnNo(1), role: Role::User, text };
    assert_eq!(found.candidates, [Candidate::Effort { id: effort("apple tart") }, said]);
    let everywhere = search(store, None, "apple").await;
    let by_session: Vec<_> =
        everywhere.iter().map(|(id, f)| (id.as_str(), f.texts, f.texts_with[0], f.candidates.len())).collect();
    assert_eq!(by_session, [("counts", 2, 2, 2), ("other", 2, 1, 1)]);
}

/// An effort is found by its present summary, not by a former one, and counts once.
pub async fn an_effort_is_indexed_anew(store: &dyn Store) {
    let mut told = Told::begin(store, "anew").await;
    told.tell(store, vec![start(TurnNo(1), "go", None), open("auth bug", TurnNo(1))]).await.expect("it opens");
    for summary in ["expired token", "refreshed cookie"] {
        told.tell(store, vec![conclude("auth bug", summary, TurnNo(1))]).await.expect("it concludes");
    }
    let found = |query| search(store, Some(&told.id), query);
    assert_eq!(found("token").await[0].1.candidates, []);
    for query in ["cookies", "auth", "bug"] {
        let (_, found) = &found(query).await[0];
        assert_eq!(found.candidates, [Candidate::Effort { id: effort("auth bug") }], "{query}");
        assert_eq!((found.texts, found.texts_with[0]), (2, 1), "{query}");
    }
}

/// A rare word is found among many that have a common one.
pub async fn candidates_are_the_most_telling(store: &dyn Store) {
    let mut told = Told::begin(store, "many").await;
    told.turn(store, "common zebra", "common", Scope::Ambient).await;
    for _ in 0..40 {
        told.turn(store, "common", "common", Scope::Ambient).await;
    }
    let request = SearchRequest { candidates_max: 3, ..SearchRequest::new(query_terms("common zebra")) };
    let found = store.search(Some(&told.id), &request).await.expect("a search can be made");
    let turns: Vec<u64> = found[0]
        .1
        .candidates
        .iter()
        .map(|candidate| match candidate {
            Candidate::Message { turn, .. } => turn.0,
            Candidate::Effort { .. } => 0,
        })
        .collect();
    assert_eq!(turns, [1, 41, 41]);
}
