//! Efforts of a model that calls no tools, and conclusions that nobody waits for.

#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::sync::Arc;

use async_trait::async_trait;
use neap_core::base::ids::SessionId;
use neap_core::session::summary::SummaryRequest;
use neap_engine::{Author, Engine, NullObserver, Session, SessionOptions, TurnReply};
use neap_model::scripted::ScriptedModel;
use neap_model::{ModelError, Summarizer};
use neap_store::MemStore;
use serde_json::json;

use crate::stage::{banners, effort};

const LOGIN: &str = "Users get a 401 an hour after login, help me find out why.";
const BACKUP: &str = "New topic: the nightly backup of the billing database fails.";
const DETAIL: &str = "The backup job writes to /var/backup/billing and stops at 41 GB.";
const DONE: &str = "That fixed it, the backup is done. Thanks!";

async fn session(engine: Engine) -> Session {
    engine.resume(&SessionId::parse("s").unwrap(), &SessionOptions::default()).await.unwrap()
}

/// A session whose model only talks.
async fn mute(by_rule: bool) -> (Arc<ScriptedModel>, Session) {
    let model = Arc::new(ScriptedModel::new());
    let builder = Engine::builder(Arc::new(MemStore::default())).model(model.clone());
    let builder = if by_rule { builder.keep_efforts_by_rule() } else { builder };
    (model, session(builder.build()).await)
}

async fn say(model: &ScriptedModel, session: &mut Session, text: &str) -> TurnReply {
    model.push_turn(Vec::<(String, String)>::new(), "I see.");
    session.turn(Author::Person, text, &mut NullObserver).await.unwrap()
}

#[tokio::test]
async fn efforts_begin_and_end_by_what_the_person_says() {
    let (model, mut session) = mute(true).await;
    assert_eq!(banners(&say(&model, &mut session, LOGIN).await), Vec::<String>::new());
    let taken = banners(&say(&model, &mut session, BACKUP).await);
    assert!(taken[0].contains("calls no tools") && taken[1].starts_with("--- Started effort:"), "{taken:?}");
    let id = session.state().active_effort().unwrap().id.clone();
    let said = banners(&say(&model, &mut session, DETAIL).await);
    assert_eq!(said, Vec::<String>::new(), "it is said once");
    let closed = banners(&say(&model, &mut session, DONE).await);
    assert!(closed[0].starts_with(&format!("--- Concluded effort: {id} ---")), "{closed:?}");
    let concluded = session.state().effort(&id).unwrap();
    assert_eq!((concluded.is_concluded(), concluded.log.exchanges), (true, 2), "the detail and the end");
    assert!(concluded.summary.as_ref().unwrap().text.contains("41 GB"), "{:?}", concluded.summary);
    // The next work begins before the model reads of it, so that the message belongs to it.
    say(&model, &mut session, "New topic: the garden irrigation leaks.").await;
    assert_eq!(session.state().active_effort().unwrap().log.exchanges, 1);
    let asked = model.requests().pop().unwrap();
    assert!(asked.messages.iter().all(|message| message.tool_calls.is_empty()), "the model is shown no calls");
}

#[tokio::test]
async fn without_the_rules_a_mute_model_has_no_efforts() {
    let (model, mut session) = mute(false).await;
    for text in [LOGIN, BACKUP, DETAIL, DONE, LOGIN] {
        say(&model, &mut session, text).await;
    }
    assert_eq!(session.state().efforts().len(), 0);
}

/// A model whose summaries are told apart.
struct Marked;

#[async_trait]
impl Summarizer for Marked {
    async fn summarize(&self, _request: &SummaryRequest) -> Result<String, ModelError> {
        Ok("By the model: the backup stops at 41 GB in /var/backup/billing.".to_owned())
    }
}

#[tokio::test]
async fn a_person_who_closes_an_effort_does_not_wait_for_a_model() {
    let model = Arc::new(ScriptedModel::new());
    let builder = Engine::builder(Arc::new(MemStore::default())).model(model.clone());
    let mut session = session(builder.summarizer(Arc::new(Marked)).build()).await;
    session.command("open_effort", &json!({"name": "backup"}).to_string(), &mut NullObserver).await.unwrap();
    for text in [BACKUP, DETAIL, "It ran for 3 hours before that, each night of the last week."] {
        say(&model, &mut session, text).await;
    }
    session.command("close_effort", "{}", &mut NullObserver).await.unwrap();
    let summary =
        |session: &Session| session.state().effort(&effort("backup")).unwrap().summary.clone().unwrap().text;
    assert!(!summary(&session).starts_with("By the model"), "{}", summary(&session));
    session.run_upkeep().await.unwrap();
    assert!(summary(&session).starts_with("By the model"), "{}", summary(&session));
}
