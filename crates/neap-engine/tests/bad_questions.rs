//! A question can be anything: nothing, one word, or a page of a hundred kilobytes; and the clock may jump. No surface fails, and
//! none gives more than its budget.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::sync::Arc;

use crate::stage::Stage;
use crate::stage::draft::fact;
use neap_core::base::ids::{SessionId, Stamp};
use neap_core::base::message::Message;
use neap_core::base::tokens::Tokens;
use neap_core::memory::learn::{MemoryCommand, MemoryResponse};
use neap_core::recall::Filter;
use neap_engine::agent_memory::{AgentMemory, Role, VectorMemory};
use neap_engine::{Author, EngineError, RetrievalRequest};
use neap_model::bpe::counter_for;
use neap_store::MemStore;

/// Tokens of every page that is asked for.
const BUDGET: Tokens = Tokens(600);
const YEAR_MS: i64 = 365 * 86_400_000;

async fn stage() -> Stage {
    let mut stage = Stage::of_agent(Arc::new(MemStore::default()), &[]).await;
    stage.say("The staging database is called heron, on port 7411.", &[], "Noted.").await;
    stage.teach(fact("staging database", "The staging database is called heron")).await;
    let told = [Message::user("Which port has heron?"), Message::assistant("Heron listens on port 7411.")];
    let told: Vec<_> = told.into_iter().map(|message| (Stamp(5), message)).collect();
    stage.engine.record(&SessionId::parse("another").unwrap(), Author::Model, &told).await.unwrap();
    stage
}

/// What each surface answers; `None` where it refuses in words.
async fn ask_everywhere(stage: &mut Stage, question: &str) -> Vec<(&'static str, Option<String>)> {
    let (engine, session) = (stage.engine.clone(), stage.session.id().clone());
    let mut said = Vec::new();
    let retrieved = engine.retrieve(&RetrievalRequest::new(question, BUDGET)).await.unwrap();
    said.push(("retrieve", Some(retrieved.text)));
    let hits = engine.search(question, Filter::default(), 5).await.unwrap();
    said.push(("search", Some(hits.iter().map(|hit| hit.text.as_str()).collect())));
    said.push(("get_context", Some(engine.brief(&session, Some(question), BUDGET).await.unwrap().text)));
    said.push(("hook", Some(engine.prompt_context(&session, question).await.unwrap())));
    let page = stage.agent().await.context(question, None, Some(BUDGET)).await.unwrap();
    said.push(("context", Some(page.knowledge.text())));
    let command = MemoryCommand::Recall {
        query: question.to_owned(),
        kinds: Vec::new(),
        time: None,
        project: None,
        superseded: false,
        lists: false,
        max: 9,
    };
    let found = stage.agent().await.run_command(command).await.unwrap();
    said.push(("recall", (!matches!(found, MemoryResponse::Refused(_))).then(|| found.to_json())));
    let mut vector = VectorMemory::open(&engine, &session, BUDGET).await.unwrap();
    let recalled = vector.fetch_relevant(question, 4).await.unwrap();
    said.push(("VectorMemory", Some(recalled.iter().map(|message| &*message.content).collect())));
    said
}

#[tokio::test]
async fn nothing_one_word_and_a_hundred_kilobytes() {
    let counter = counter_for("o200k_base");
    let page =
        format!("{} Which port has heron?", "All of this was pasted from a page about trees. ".repeat(2_100));
    assert!(page.len() > 100_000);
    let unbroken = "x".repeat(100_000);
    for (question, finds) in
        [("", false), (" \n\t", false), ("heron", true), (page.as_str(), true), (&unbroken, false)]
    {
        let mut stage = stage().await;
        for (surface, said) in ask_everywhere(&mut stage, question).await {
            let shown: String = question.chars().take(30).collect();
            let text = said.unwrap_or_default();
            // A hook's reply has a budget of its own.
            let budget = if surface == "hook" { Tokens(2_000) } else { BUDGET };
            assert!(counter.count(&text) <= budget, "{surface} for {shown:?}: {} tokens", counter.count(&text));
            if surface == "retrieve" || surface == "search" {
                assert_eq!(
                    text.contains("heron") || text.contains("Heron"),
                    finds,
                    "{surface} for {shown:?}: {text}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_session_that_is_gone_is_named() {
    let stage = stage().await;
    let gone = SessionId::parse("gone").unwrap();
    let brief = stage.engine.brief(&gone, Some("heron"), BUDGET).await;
    assert!(matches!(brief, Err(EngineError::NoSession(_))), "{brief:?}");
    // A hook may come before anything of its session is recorded.
    stage.engine.prompt_context(&gone, "which port has heron?").await.unwrap();
    let filter = Filter::for_stream(&gone.into());
    assert_eq!(stage.engine.search("heron", filter, 5).await.unwrap(), []);
}

/// What was said in the future, or decades ago by the clock, is found and shown like anything else.
#[tokio::test]
async fn a_clock_that_jumps() {
    for jump in [30 * YEAR_MS, -50 * YEAR_MS, i64::MAX / 4, -i64::MAX / 4] {
        let mut stage = stage().await;
        stage.clock.advance(jump);
        stage.say("Osprey is the production database.", &[], "Noted.").await;
        stage.clock.advance(-jump);
        let mut vector =
            VectorMemory::open(&stage.engine, &SessionId::parse("third").unwrap(), BUDGET).await.unwrap();
        for at in [Stamp(i64::MIN), Stamp(0), Stamp(i64::MAX)] {
            vector.add(Role::User, "Osprey is backed up at night.", at).await.unwrap();
        }
        for question in
            ["osprey", "What is the production database, since yesterday?", "what did we say last week"]
        {
            let said = ask_everywhere(&mut stage, question).await;
            if question == "osprey" {
                let found = &said.iter().find(|(surface, _)| *surface == "retrieve").unwrap().1;
                assert!(found.as_deref().unwrap().contains("Osprey"), "{jump}: {found:?}");
            }
        }
    }
}
