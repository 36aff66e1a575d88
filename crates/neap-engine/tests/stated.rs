//! What a person states in passing is remembered by one rule on every surface where it is said live, and nowhere else.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::sync::Arc;

use crate::ingest::Client;
use neap_core::base::ids::{AgentId, SessionId, Stamp};
use neap_core::base::message::Message;
use neap_core::client::transcript::TranscriptCount;
use neap_core::memory::knowledge::AgentProfile;
use neap_core::memory::{Author, Memory};
use neap_engine::agent_memory::{AgentMemory, Role, Tokens, WindowMemory};
use neap_engine::{Engine, SessionOptions};
use neap_model::caller::Tenancy;
use neap_model::hook::HookEvent;
use neap_store::{MemStore, Store};
use serde_json::json;

const SAID: &str = "From now on, answer in French. I can't stand coriander. Is it far?";
const TOLD: [&str; 2] = ["From now on, answer in French.", "I can't stand coriander."];

fn engine() -> Engine {
    let agent = AgentId::parse("desk").unwrap();
    Engine::builder(Arc::new(MemStore::default())).agent(agent, AgentProfile::default()).build()
}

fn session() -> SessionId {
    SessionId::parse("talk").unwrap()
}

fn contents(memories: Vec<Memory>) -> Vec<(String, Author, bool)> {
    let mut all: Vec<_> = (memories.iter())
        .map(|memory| (memory.content(), memory.provenance.author, memory.pinned && memory.is_person_approved()))
        .collect();
    all.sort();
    all
}

async fn known(engine: &Engine) -> Vec<(String, Author, bool)> {
    contents(engine.agent().await.unwrap().unwrap().list(None, None, 99).await.unwrap())
}

fn want(author: Author) -> Vec<(String, Author, bool)> {
    let is_pinned = author == Author::Person;
    vec![(TOLD[0].to_owned(), author, is_pinned), (TOLD[1].to_owned(), author, false)]
}

/// As `record_turn` of MCP does.
#[tokio::test]
async fn a_turn_that_a_host_reports() {
    for author in [Author::Model, Author::Person] {
        let engine = engine();
        let mut session = engine.resume(&session(), &SessionOptions::default()).await.unwrap();
        session.record(author, SAID, "Oui.", None).await.unwrap();
        assert_eq!(known(&engine).await, want(author));
    }
}

#[tokio::test]
async fn a_message_that_a_library_adds() {
    let engine = engine();
    let mut memory = WindowMemory::open(&engine, &session(), Tokens(2_000)).await.unwrap();
    memory.add(Role::User, SAID, Stamp(1)).await.unwrap();
    memory.add(Role::Assistant, "I can't stand parsley.", Stamp(2)).await.unwrap();
    assert_eq!(known(&engine).await, want(Author::Model));
}

/// Of a conversation that is recorded at once, only the end is live: what came before may have changed since.
#[tokio::test]
async fn the_end_of_a_recorded_conversation() {
    let engine = engine();
    let messages = ["I can't stand parsley.", SAID].map(|text| (Stamp(1), Message::user(text)));
    engine.record(&session(), Author::Model, &messages).await.unwrap();
    assert_eq!(known(&engine).await, want(Author::Model));
}

#[tokio::test]
async fn a_prompt_that_a_hook_reports_once_or_twice() {
    let engine = engine();
    let event = json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": SAID});
    let event = HookEvent::parse(None, &event.to_string()).unwrap();
    let hook = event.to_transcript(Stamp(1_700_000_000_000)).unwrap();
    for _ in 0..2 {
        engine.import_hook_event(&hook, TranscriptCount::default()).await.unwrap();
    }
    assert_eq!(known(&engine).await, want(Author::Person));
    let confirmed = engine.agent().await.unwrap().unwrap().list(None, None, 9).await.unwrap();
    assert!(confirmed.iter().all(|memory| memory.status.as_str() == "new"), "it was said once");
}

/// A file tells what held when it was written.
#[tokio::test]
async fn what_a_transcript_tells_is_not_live() {
    let engine = engine();
    let event = json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": SAID});
    let hook = HookEvent::parse(None, &event.to_string()).unwrap().to_transcript(Stamp(5)).unwrap();
    let mut transcript = hook.transcript;
    transcript.author = Author::Import;
    engine.import_transcript(&transcript).await.unwrap();
    assert_eq!(known(&engine).await, Vec::new());
}

async fn proxy_memories(store: &Arc<dyn Store>) -> Vec<(String, Author, bool)> {
    let mut all = Vec::new();
    for info in store.agents().await.unwrap() {
        all.extend(store.list_memories(&info.agent.stream(), None, None, 99).await.unwrap());
    }
    contents(all)
}

/// A client resends its history with every request; its newest message is live, once.
#[tokio::test]
async fn the_newest_message_of_a_proxied_request() {
    for path in ["/v1/messages", "/v1/responses", "/v1/chat/completions"] {
        let store: Arc<dyn Store> = Arc::new(MemStore::default());
        let engine = Engine::builder(store.clone()).callers(Tenancy::Single).build();
        let mut client = Client::new(path);
        client.says("I can't stand parsley.");
        client.hears("Noted.");
        client.says(SAID);
        for _ in 0..2 {
            let body = client.body();
            let plan = engine.ingest(&client.incoming(&body)).await;
            assert_eq!(proxy_memories(&store).await.len() % 2, 0, "nothing waits for it");
            let reply = client.hears("Oui.");
            engine.complete_request(&plan, &reply).await.unwrap();
            client.says("And by bus?");
        }
        assert_eq!(proxy_memories(&store).await, want(Author::Model), "{path}");
    }
}

/// A subagent's order is a program's text.
#[tokio::test]
async fn what_a_program_orders_is_no_persons_word() {
    let store: Arc<dyn Store> = Arc::new(MemStore::default());
    let engine = Engine::builder(store.clone()).callers(Tenancy::Single).build();
    let mut client = Client::new("/v1/messages");
    client.headers.push(("x-claude-code-agent-id".to_owned(), "a1".to_owned()));
    client.says(SAID);
    let body = client.body();
    let plan = engine.ingest(&client.incoming(&body)).await;
    engine.complete_request(&plan, &client.hears("Oui.")).await.unwrap();
    assert_eq!(proxy_memories(&store).await, Vec::new());
}
