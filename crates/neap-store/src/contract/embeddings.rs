//! Embeddings: the nearest are proposed, a changed text is embedded anew, a new model takes over.

use std::sync::Arc;

use neap_core::base::ids::{Seq, TurnNo};
use neap_core::base::message::{CountedMessage, Message, Scope};
use neap_core::base::testing::WordCounter;
use neap_core::recall::{Embedding, Query, SearchLimits, TextId, TextKey, UnembeddedText, message_end};
use neap_core::session::event::{AbandonReason, Event, TurnEvent};

use super::candidates::{MODEL, embed_all, embedded_query, letter_embedding, propose, seqs, term_query};
use super::fixture::{
    TestStream, effort, effort_concluded, effort_opened, memory_id, turn_completed, turn_started,
};
use crate::Store;

pub async fn meaning_proposes_the_nearest(store: &dyn Store) {
    let mut stream = TestStream::create(store, "meaning").await;
    for text in ["aaab", "bbba", "cccc", "aaab", "zz"] {
        stream.add_turn(store, text, "xyz", Scope::Ambient).await;
    }
    let query = |semantic_max| Query {
        limits: SearchLimits { semantic_max, ..SearchLimits::default() },
        ..embedded_query("baaa")
    };
    assert_eq!(propose(store, &query(9)).await.unembedded, 10);
    assert_eq!(seqs(store, &query(9)).await, [0; 0]);
    assert_eq!(embed_all(store, MODEL).await, 10);
    assert_eq!(seqs(store, &query(1)).await, [8]);
    assert_eq!(seqs(store, &query(3)).await, [2, 4, 8]);
    assert_eq!(seqs(store, &query(99)).await.len(), 10);
    let found = propose(store, &query(3)).await;
    assert_eq!(found.unembedded, 0);
    let is_similar: Vec<_> = found.items.iter().map(|card| card.similarity.unwrap_or(0.0) > 0.99).collect();
    assert_eq!(is_similar, [true, false, true]);
    let words = Query { embedding: None, ..query(9) };
    assert_eq!(seqs(store, &words).await, [0; 0], "no word is the same");
    stream.add_turn(store, "baaa", "fresh", Scope::Ambient).await;
    let fresh = propose(store, &query(1)).await;
    let has_similarity: Vec<_> = fresh.items.iter().map(|card| card.similarity.is_some()).collect();
    assert_eq!((has_similarity, fresh.unembedded), (vec![true, false], 2), "by its word at once");
    embed_all(store, MODEL).await;
    assert_eq!(seqs(store, &query(1)).await, [12]);
}

pub async fn a_text_that_changes_is_embedded_anew(store: &dyn Store) {
    let mut stream = TestStream::create(store, "changes").await;
    stream
        .append(store, vec![turn_started(TurnNo(1), "go", None), effort_opened("bug", TurnNo(1))])
        .await
        .expect("it opens");
    assert_eq!(embed_all(store, MODEL).await, 2);
    stream.append(store, vec![effort_concluded("bug", "xxxx", TurnNo(1))]).await.expect("it concludes");
    let waiting = store.unembedded(MODEL, 9).await.expect("asking is allowed");
    let [UnembeddedText { id, text: before, .. }] = waiting.as_slice() else {
        panic!("the effort waits: {waiting:?}")
    };
    let query =
        Query { limits: SearchLimits { lexical_max: 0, ..SearchLimits::default() }, ..embedded_query("xxxx") };
    assert_eq!(propose(store, &query).await.items.len(), 1, "it is not near to what it said before");
    stream.append(store, vec![effort_concluded("bug", "yyyy", TurnNo(1))]).await.expect("it concludes again");
    let late = vec![(id.clone(), before.clone(), letter_embedding(before))];
    store.put_embeddings(MODEL, late).await.expect("that is no error");
    assert_eq!(propose(store, &query).await.unembedded, 1);
    assert_eq!(embed_all(store, MODEL).await, 1);
    assert_eq!(propose(store, &query).await.items.len(), 2);
    let gone = TextId { stream: stream.id.clone(), key: TextKey::Effort(effort("never was")) };
    let unknown = TextId { stream: super::session("never was"), key: TextKey::Message(Seq(1)) };
    let batch = [gone, unknown].map(|id| (id, Arc::from("x"), letter_embedding("x")));
    store.put_embeddings(MODEL, batch.into()).await.expect("what is gone is passed over");
    assert_eq!(store.unembedded(MODEL, 9).await.expect("asking is allowed"), []);
}

/// Queries with the old model find what it embedded until the new model has replaced it, batch by batch.
pub async fn another_model_takes_over(store: &dyn Store) {
    let mut stream = TestStream::create(store, "models").await;
    for text in ["aaab", "bbba", "cccc"] {
        stream.add_turn(store, text, "xyz", Scope::Ambient).await;
    }
    embed_all(store, MODEL).await;
    stream.add_turn(store, "fresh", "text", Scope::Ambient).await;
    let limits = SearchLimits { lexical_max: 0, ..SearchLimits::default() };
    let by = |model: &str| Query { model: model.to_owned(), limits, ..embedded_query("aaab") };
    let counts = async || {
        let (old, new) = (propose(store, &by(MODEL)).await, propose(store, &by("other")).await);
        [(old.items.len(), old.unembedded), (new.items.len(), new.unembedded)]
    };
    assert_eq!(counts().await, [(6, 2), (0, 8)]);
    let waiting = store.unembedded("other", 4).await.expect("asking is allowed");
    let seqs: Vec<_> = waiting.iter().map(|text| text.id.key.clone()).collect();
    assert_eq!(seqs, [8, 9, 2, 3].map(|seq| TextKey::Message(Seq(seq))), "what has none at all comes first");
    let some =
        waiting.into_iter().map(|UnembeddedText { id, text, .. }| (id, text.clone(), letter_embedding(&text)));
    store.put_embeddings("other", some.collect()).await.expect("it can be kept");
    assert_eq!(counts().await, [(4, 4), (4, 4)]);
    assert_eq!(embed_all(store, "other").await, 4);
    assert_eq!(counts().await, [(0, 8), (8, 0)]);
    let short = Query { embedding: Some(Embedding::quantize(&[1.0])), ..by("other") };
    let none = propose(store, &short).await;
    assert_eq!((none.items.len(), none.unembedded), (0, 8), "of another length");
    let without = propose(store, &term_query("nothing")).await;
    assert_eq!(without.unembedded, 0);
}

/// Only if its speaker has a name; only of messages that may be shown, of the same session, and said earlier.
pub async fn a_message_waits_with_the_end_of_the_one_before(store: &dyn Store) {
    let mut stream = TestStream::create(store, "replies").await;
    let mut other = TestStream::create(store, "other").await;
    let said = |turn: u64, name: &str, text: &str| {
        let message = Message { name: Some(name.to_owned()), ..Message::user(text) };
        let message = CountedMessage::new(&WordCounter, message);
        Event::Turn(TurnEvent::Started { turn: TurnNo(turn), message, turn_id: None, author: None })
    };
    let long = "word ".repeat(99);
    stream.append(store, vec![said(1, "Ann", "the red bike ?")]).await.expect("a turn can begin");
    other.add_turn(store, "elsewhere", "yes", Scope::Ambient).await;
    let opened = vec![effort_opened("bike", TurnNo(1)), turn_completed(TurnNo(1), &long, Scope::Ambient)];
    stream.append(store, opened).await.expect("it goes on");
    let reason = AbandonReason::Censored { id: memory_id("c1"), reason: "a secret".to_owned() };
    let ended = Event::Turn(TurnEvent::Abandoned { turn: TurnNo(2), reason, scope: Scope::Ambient });
    stream.append(store, vec![said(2, "Bob", "the code"), ended]).await.expect("it ends");
    stream.append(store, vec![said(3, "Ann", "and now"), said(4, "Bob", "bye")]).await.expect("turns may overlap");
    for _ in 0..2 {
        let waiting = store.unembedded(MODEL, 99).await.expect("asking is allowed");
        let own = waiting.iter().filter(|text| text.id.stream == stream.id);
        let seen = own.map(|text| (text.speaker.as_deref(), &*text.text, &*text.before));
        let end = message_end(&long);
        assert!(!end.is_empty() && end.len() < long.len() / 2);
        let expected = [
            (None, "bike bike ", ""),
            (Some("Ann"), "the red bike ?", ""),
            (None, &long, ""),
            (Some("Bob"), "the code", &end),
            (Some("Ann"), "and now", ""),
            (Some("Bob"), "bye", "and now"),
        ];
        assert_eq!(seen.collect::<Vec<_>>(), expected);
        store.rebuild(&stream.id).await.expect("it can be rebuilt");
    }
}
