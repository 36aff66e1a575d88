//! Faults that the simulation found, each as the shortest story that shows it.

#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::stage::{Stage, effort};
use async_trait::async_trait;
use neap_core::base::ids::{SessionId, TurnNo};
use neap_core::base::message::{Scope, ToolCall};
use neap_core::context::tools::ToolSpec;
use neap_core::turn::{ModelReply, ModelRequest};
use neap_engine::{Author, Engine, EngineError, HostTools, NullObserver, Session, SessionOptions, ToolAnswer};
use neap_model::{ChatModel, ModelError, OnText};
use neap_store::MemStore;
use serde_json::{Value, json};

/// A setting that leaves no room for a message was refused in words, and made all the same.
#[tokio::test]
async fn a_refused_budget_changes_nothing() {
    let mut stage = Stage::new().await;
    let before = stage.session.state().policy().clone();
    let error = stage.session.set("context_tokens_max", "256").await.unwrap_err();
    assert!(matches!(error, EngineError::Turn(_)), "{error}");
    assert_eq!(*stage.session.state().policy(), before);
    stage.say("still here?", &[], "yes").await;

    let id = SessionId::parse("tiny").unwrap();
    let set = vec![("context_tokens_max".to_owned(), "256".to_owned())];
    let engine = Engine::builder(Arc::new(MemStore::default())).build();
    assert!(engine.resume(&id, &SessionOptions { set, ..SessionOptions::default() }).await.is_err());
    assert!(engine.sessions().await.unwrap().is_empty(), "it was not begun either");
}

/// An effort whose name is made of stop words could not be found by its own name.
#[tokio::test]
async fn an_effort_is_found_by_its_name_whatever_its_words() {
    let mut stage = Stage::new().await;
    stage.concluded("What now", "The release of the second edition is planned for the spring.").await;
    let found = stage.call("search_efforts", json!({"query": "what now"})).await;
    let answer: Value = serde_json::from_str(&found.text).unwrap();
    assert_eq!(answer["results"][0]["id"], "what-now", "{}", found.text);
    let hits = stage.engine.search("what-now", neap_core::recall::Filter::default(), 5).await.unwrap();
    assert_eq!(hits[0].effort, Some(effort("what-now")));
}

/// An effort that is named exactly comes first, however often others speak of it.
#[tokio::test]
async fn a_named_effort_comes_before_those_that_speak_of_it() {
    let mut stage = Stage::new().await;
    stage.concluded("login", "The password form needs a second field and a better label.").await;
    for n in 0..8 {
        let said = format!("Login login login: the login page {n} and the login form of the login service.");
        stage.concluded(&format!("login page {n}"), &said).await;
    }
    let found = stage.call("search_efforts", json!({"query": "login"})).await;
    let answer: Value = serde_json::from_str(&found.text).unwrap();
    assert_eq!(answer["results"][0]["id"], "login", "{}", found.text);
}

/// After the budget was raised, a session in memory went on showing what had fitted the old one.
#[tokio::test]
async fn a_raised_budget_is_used_at_once() {
    let mut stage = Stage::with(&[("context_tokens_max", "3000")]).await;
    for _ in 0..8 {
        stage.say(&"many words about nothing ".repeat(60), &[], &"and as many back ".repeat(60)).await;
    }
    stage.session.set("context_tokens_max", "16000").await.unwrap();
    let live = stage.session.assemble(Some("now?")).await.unwrap();
    let mut anew = stage.engine.attach(stage.session.id()).await.unwrap();
    assert_eq!(live, anew.assemble(Some("now?")).await.unwrap());
}

/// A log read after another process had added to it was longer than the state knew, and the count of what is left
/// out fell below zero.
#[tokio::test]
async fn a_log_may_be_longer_than_the_state_knows() {
    let mut stage = Stage::new().await;
    stage.say("one", &[], "yes").await;
    stage.restart().await;
    let mut other = stage.engine.attach(stage.session.id()).await.unwrap();
    for _ in 0..3 {
        other.record(Author::Model, "meanwhile", "indeed", None).await.unwrap();
    }
    assert!(!stage.text().await.contains("earlier exchanges"));
}

/// A model during whose replies another process uses the session.
struct Meddled {
    store: Arc<MemStore>,
    replies: AtomicUsize,
    first_call: &'static str,
    then: Then,
}

/// What the other process does, and in which reply.
enum Then {
    SpeakInTheFirst,
    ReopenInTheSecond,
}

#[async_trait]
impl ChatModel for Meddled {
    fn name(&self) -> &str {
        "meddled"
    }

    async fn reply(&self, _request: &ModelRequest, _on_text: OnText<'_>) -> Result<ModelReply, ModelError> {
        let other = Engine::builder(self.store.clone()).build();
        let id = SessionId::parse("test").unwrap();
        match (self.replies.fetch_add(1, Ordering::Relaxed), &self.then) {
            (0, Then::SpeakInTheFirst) => {
                other.attach(&id).await.unwrap().record(Author::Model, "meanwhile", "indeed", None).await.unwrap();
            }
            (1, Then::ReopenInTheSecond) => {
                other.resume(&id, &SessionOptions::default()).await.unwrap();
            }
            _ => return Ok(ModelReply { text: "Done so.".into(), calls: Vec::new(), is_truncated: false }),
        }
        let calls = vec![ToolCall {
            id: "c".into(),
            name: self.first_call.into(),
            arguments: r#"{"name":"mine"}"#.into(),
        }];
        Ok(ModelReply { text: String::new(), calls, is_truncated: false })
    }
}

struct Pages;

#[async_trait]
impl HostTools for Pages {
    fn specs(&self) -> Vec<ToolSpec> {
        vec![ToolSpec {
            name: "fetch".into(),
            description: "Fetches.".into(),
            parameters: json!({"type": "object"}),
        }]
    }

    async fn call(&self, _call: &ToolCall) -> ToolAnswer {
        "the page".into()
    }
}

async fn meddled(first_call: &'static str, then: Then) -> (Engine, Session) {
    let store = Arc::new(MemStore::default());
    let model = Meddled { store: store.clone(), replies: AtomicUsize::new(0), first_call, then };
    let engine = Engine::builder(store).model(Arc::new(model)).host_tools(Arc::new(Pages)).build();
    let session = engine.resume(&SessionId::parse("test").unwrap(), &SessionOptions::default()).await.unwrap();
    (engine, session)
}

/// A turn of another process that began later hid which effort this turn had opened: its exchange went astray.
#[tokio::test]
async fn an_exchange_goes_to_the_effort_its_turn_opened_whoever_else_speaks() {
    let (_, mut session) = meddled("open_effort", Then::SpeakInTheFirst).await;
    let reply = session.turn(Author::Person, "let us begin", &mut NullObserver).await.unwrap();
    assert_eq!(reply.scope, Scope::Effort(effort("mine")));
    assert_eq!(reply.turn, TurnNo(1));
}

/// A turn that another process took for dead lost what the host's tools had answered in it.
#[tokio::test]
async fn a_turn_taken_for_dead_keeps_its_tool_rounds() {
    let (engine, mut session) = meddled("fetch", Then::ReopenInTheSecond).await;
    // The first reply calls nothing; the second turn's first reply is the model's second.
    session.turn(Author::Person, "hello", &mut NullObserver).await.unwrap();
    let reply = session.turn(Author::Person, "fetch it", &mut NullObserver).await.unwrap();
    assert_eq!(reply.turn, TurnNo(3), "the second was taken for dead");
    let live = session.assemble(Some("now?")).await.unwrap();
    let mut anew = engine.attach(session.id()).await.unwrap();
    assert_eq!(live, anew.assemble(Some("now?")).await.unwrap());
    assert!(live.request_messages().iter().any(|message| *message.content == *"the page"));
}
