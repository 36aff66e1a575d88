//! Search: one natural word finds a message, in any script, whatever the word means to a query language.

use neap_core::base::ids::TurnNo;
use neap_core::base::message::Scope;
use neap_core::recall::{Candidates, Filter, Query, TextKey};
use neap_core::text::terms::query_terms;

use super::fixture::{TestStream, effort, effort_concluded, effort_opened, turn_started};
use crate::Store;

async fn search(store: &dyn Store, stream: &TestStream, terms: Vec<String>) -> Candidates {
    let query = Query { filter: Filter::for_stream(&stream.id), ..Query::new(terms) };
    store.find_candidates(&query).await.expect("a search can be made")
}

async fn messages(store: &dyn Store, stream: &TestStream, query: &str) -> Vec<u64> {
    let found = search(store, stream, query_terms(query)).await;
    found.items.iter().filter(|card| card.kind.is_message()).map(|card| card.turn.0).collect()
}

/// Words are found in any of their forms, and query syntax has no effect.
pub async fn a_word_finds_its_message(store: &dyn Store) {
    let mut stream = TestStream::create(store, "words").await;
    let texts = [
        "the deployments were failing",         // 1
        "修复 登录 页面",                       // 2
        "ошибка входа 401",                     // 3
        "is it NEAR or AND or NOT far",         // 4
        "a star * and a dash - and \"quotes\"", // 5
        "naïve über Straße",                    // 6
        "ক্ষ कि ก็ combining marks",              // 7
        "see NetError in src/io_net.rs",        // 8
    ];
    for text in texts {
        stream.add_turn(store, text, "ok", Scope::Ambient).await;
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
        assert_eq!(messages(store, &stream, query).await, turns, "{query:?}");
    }
    let raw = ["\"", "a b", "*", "x\0", "NEAR", "words:near", ""].map(str::to_owned).to_vec();
    let found = search(store, &stream, raw).await;
    assert_eq!((found.items, found.document_frequencies), (Vec::new(), vec![0; 7]), "what is no term is no error");
}

/// An effort is found by its present summary only, and counts once.
pub async fn an_effort_is_indexed_anew(store: &dyn Store) {
    let mut stream = TestStream::create(store, "anew").await;
    stream
        .append(store, vec![turn_started(TurnNo(1), "go", None), effort_opened("auth bug", TurnNo(1))])
        .await
        .expect("it opens");
    for summary in ["expired token", "refreshed cookie"] {
        stream.append(store, vec![effort_concluded("auth bug", summary, TurnNo(1))]).await.expect("it concludes");
    }
    let found = |query| search(store, &stream, query_terms(query));
    assert_eq!(found("token").await.items, []);
    for query in ["cookies", "auth", "bug"] {
        let found = found(query).await;
        let keys: Vec<&TextKey> = found.items.iter().map(|card| &card.id.key).collect();
        assert_eq!(keys, [&TextKey::Effort(effort("auth bug"))], "{query}");
        assert_eq!((found.text_count, found.document_frequencies[0]), (2, 1), "{query}");
    }
}
