//! What a person says to hold from now on is always loaded afterwards, in every conversation, until it is taken back.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::sync::Arc;

use crate::stage::{Stage, banners};
use neap_core::base::ids::SessionId;
use neap_core::memory::{Author, MemoryId};
use neap_engine::SessionOptions;
use neap_store::{MemStore, Store};

/// What the model was sent last, as one text.
fn sent(stage: &Stage) -> String {
    let request = stage.model.requests().pop().unwrap();
    request.messages.iter().map(|m| format!("{}\n", m.content)).collect()
}

async fn elsewhere(stage: &mut Stage, name: &str) {
    let id = SessionId::parse(name).unwrap();
    stage.session = stage.engine.resume(&id, &SessionOptions::default()).await.unwrap();
}

#[tokio::test]
async fn a_standing_instruction_reaches_every_conversation_without_a_word_in_common() {
    let store: Arc<dyn Store> = Arc::new(MemStore::default());
    let mut stage = Stage::of_agent(store, &[]).await;
    let reply = stage.say("Thanks. From now on, answer in French.", &[], "D'accord.").await;
    assert_eq!(
        banners(&reply),
        ["--- Remembered f1: standing instruction: From now on, answer in French. (person) ---"]
    );
    elsewhere(&mut stage, "another").await;
    stage.say("How tall is the lighthouse?", &[], "Trente mètres.").await;
    assert!(sent(&stage).contains("From now on, answer in French."), "{}", sent(&stage));

    let id: MemoryId = "f1".parse().unwrap();
    let kept = stage.agent().await.get(id).await.unwrap().unwrap();
    assert!(kept.pinned && kept.provenance.author == Author::Person);
    assert_eq!(kept.provenance.turn.map(|turn| turn.0), Some(1));
    stage.agent().await.erase(id).await.unwrap();
    elsewhere(&mut stage, "third").await;
    stage.say("And the tower?", &[], "Fifty metres.").await;
    assert!(!sent(&stage).contains("answer in French"), "{}", sent(&stage));
}

#[tokio::test]
async fn a_story_is_no_instruction_and_saying_it_again_is_not_another() {
    let mut stage = Stage::of_agent(Arc::new(MemStore::default()), &[]).await;
    for story in ["Never mind.", "I always thought so.", "Do you prefer tabs?"] {
        assert_eq!(banners(&stage.say(story, &[], "I see.").await), Vec::<String>::new(), "{story}");
    }
    stage.say("I prefer short answers.", &[], "Fine.").await;
    stage.say("I prefer short answers.", &[], "I know.").await;
    assert_eq!(stage.agent().await.list(None, None, 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn without_an_agent_nothing_is_kept() {
    let mut stage = Stage::new().await;
    assert_eq!(banners(&stage.say("I prefer short answers.", &[], "Fine.").await), Vec::<String>::new());
}
