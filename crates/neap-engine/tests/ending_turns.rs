//! A turn that ends while it is explained.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use neap_core::base::ids::{Seq, SessionId, Stamp, StreamId, TurnNo};
use neap_core::base::message::Message;
use neap_engine::{Author, Engine, EngineError};
use neap_store::layer::StoreLayer;
use neap_store::{EventStore, MemStore, Store, StoreError};

/// A store in which the latest turn ends after somebody first asked where it is.
struct EndsMeanwhile {
    inner: MemStore,
    was_asked: AtomicBool,
}

#[async_trait]
impl StoreLayer for EndsMeanwhile {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    async fn turn_span(&self, session: &StreamId, turn: TurnNo) -> Result<Option<(Seq, Seq)>, StoreError> {
        if !self.was_asked.swap(true, Ordering::SeqCst) {
            return Ok(None);
        }
        EventStore::turn_span(&self.inner, session, turn).await
    }
}

#[tokio::test]
async fn a_turn_that_ends_while_it_is_explained_is_explained() {
    let store = Arc::new(EndsMeanwhile { inner: MemStore::new(), was_asked: AtomicBool::new(true) });
    let engine = Engine::builder(store.clone()).build();
    let id = SessionId::from_name("talk").unwrap();
    let mut session = engine.resume(&id, &neap_engine::SessionOptions::default()).await.unwrap();
    session.record(Author::Person, "is it warm?", "It is 21 degrees.", None).await.unwrap();
    store.was_asked.store(false, Ordering::SeqCst);
    let explained = engine.explain(&id, None).await.unwrap();
    assert_eq!(explained.reply.as_deref(), Some("It is 21 degrees."));
    let none = engine.explain(&id, Some(TurnNo(9))).await;
    assert!(matches!(none, Err(EngineError::NoTurn { .. })), "{none:?}");
}

#[tokio::test]
async fn an_id_answers_the_same_message_and_refuses_another() {
    let engine = Engine::builder(Arc::new(MemStore::new())).build();
    let id = SessionId::from_name("talk").unwrap();
    let mut session = engine.resume(&id, &neap_engine::SessionOptions::default()).await.unwrap();
    let secret = format!("my key is {}-{}", "ghp", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    for message in [secret.as_str(), " is it\u{0} warm? \n", ""] {
        let key = format!("key {}", message.len());
        let first = session.record(Author::Person, message, "yes", Some(&key)).await.unwrap();
        let again = session.record(Author::Person, message, "no", Some(&key)).await.unwrap();
        assert_eq!((again.turn, again.text.as_str()), (first.turn, "yes"));
        let other = session.record(Author::Person, "something else", "yes", Some(&key)).await;
        assert!(matches!(other, Err(EngineError::IdReused { turn }) if turn == first.turn), "{other:?}");
        let batch = [(Stamp(5), Message::user(message)), (Stamp(6), Message::assistant("yes"))];
        let key = format!("batch {}", message.len());
        let first = engine.record_once(&id, Author::Person, &batch, &key).await.unwrap();
        assert_eq!(engine.record_once(&id, Author::Person, &batch, &key).await.unwrap().turn, first.turn);
        let other = [(Stamp(5), Message::user(message)), (Stamp(6), Message::assistant("no"))];
        let refused = engine.record_once(&id, Author::Person, &other, &key).await;
        assert!(matches!(refused, Err(EngineError::IdReused { .. })), "{refused:?}");
    }
}
