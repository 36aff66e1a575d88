//! Search: one natural word finds what was said, in any script, whatever else the word might mean to a machine.

use neap_core::ids::TurnNo;
use neap_core::message::Scope;
use neap_core::recall::{Filter, Proposed, Query, TextKey};
use neap_core::terms::query_terms;

use super::told::{Told, conclude, effort, open, start};
use crate::Store;

async fn search(store: &dyn Store, told: &Told, terms: Vec<String>) -> Proposed {
    let query = Query { filter: Filter::of_stream(&told.id), ..Query::new(terms) };
    store.propose(&query).await.expect("a search can be made")
}

async fn messages(store: &dyn Store, told: &Told, query: &str) -> Vec<u64> {
    let found = search(store, told, query_terms(query)).await;
    found.cards.iter().filter(|card| card.kind.is_said()).map(|card| card.turn.0).collect()
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
    let raw = ["\"", "a b", "*", "x\0", "NEAR", "words:near", ""].map(str::to_owned).to_vec();
    let found = search(store, &told, raw).await;
    assert_eq!((found.cards, found.texts_with), (Vec::new(), vec![0; 7]), "what is no term is no error");
}

/// An effort is found by its present summary, not by a former one, and counts once.
pub async fn an_effort_is_indexed_anew(store: &dyn Store) {
    let mut told = Told::begin(store, "anew").await;
    told.tell(store, vec![start(TurnNo(1), "go", None), open("auth bug", TurnNo(1))]).await.expect("it opens");
    for summary in ["expired token", "refreshed cookie"] {
        told.tell(store, vec![conclude("auth bug", summary, TurnNo(1))]).await.expect("it concludes");
    }
    let found = |query| search(store, &told, query_terms(query));
    assert_eq!(found("token").await.cards, []);
    for query in ["cookies", "auth", "bug"] {
        let found = found(query).await;
        let keys: Vec<&TextKey> = found.cards.iter().map(|card| &card.id.key).collect();
        assert_eq!(keys, [&TextKey::Effort(effort("auth bug"))], "{query}");
        assert_eq!((found.texts, found.texts_with[0]), (2, 1), "{query}");
    }
}
