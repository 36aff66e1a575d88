//! Recall through the engine: a real store, an embedder that knows a few words, and what may go wrong.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use neap_core::base::ids::{AgentId, SessionId, Stamp};
use neap_core::base::message::{Message, Role};
use neap_core::base::tokens::Tokens;
use neap_core::memory::knowledge::AgentProfile;
use neap_core::memory::learn::{MemoryCommand, MemoryResponse};
use neap_core::memory::{Author, Body, Confidence, Fact, MemoryDraft, Provenance};
use neap_core::recall::{Embedding, Filter, TextKind};
use neap_engine::{CurrentSession, Engine, RetrievalRequest};
use neap_model::{Embedder, ModelError};
use neap_sqlite::SqliteStore;
use neap_store::{MemStore, Store};
use tokio::runtime::Handle;
use tokio::task::block_in_place;

use crate::wait::wait_until;

const DAY: i64 = 86_400_000;

/// Knows three things, and by which words they go.
struct Concepts {
    name: &'static str,
    fails: AtomicBool,
    asked: AtomicUsize,
}

impl Concepts {
    fn new(name: &'static str) -> Arc<Self> {
        Arc::new(Self { name, fails: AtomicBool::new(false), asked: AtomicUsize::new(0) })
    }
}

#[async_trait]
impl Embedder for Concepts {
    fn identity(&self) -> &str {
        self.name
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, ModelError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if self.fails.load(Ordering::Relaxed) {
            return Err(ModelError::Refused("no".to_owned()));
        }
        let groups = [["car", "automobile", "vehicle"], ["cake", "baking", "dessert"], ["river", "boat", "water"]];
        let of = |text: &&str| {
            let text = text.to_lowercase();
            let has = |group: &[&str; 3]| if group.iter().any(|word| text.contains(word)) { 1.0 } else { 0.05 };
            Embedding::quantize(&groups.each_ref().map(has))
        };
        Ok(texts.iter().map(of).collect())
    }
}

fn id(name: &str) -> SessionId {
    SessionId::from_name(name).unwrap()
}

fn stores(folder: &Path) -> [Arc<dyn Store>; 2] {
    [Arc::new(SqliteStore::open(&folder.join("recall.db")).unwrap()), Arc::new(MemStore::new())]
}

async fn tell(engine: &Engine, session: &str, day: i64, texts: &[&str]) {
    let said: Vec<(Stamp, Message)> = texts
        .iter()
        .enumerate()
        .map(|(at, text)| {
            let role = if at % 2 == 0 { Role::User } else { Role::Assistant };
            (Stamp(day * DAY + at as i64), Message { role, ..Message::user(*text) })
        })
        .collect();
    engine.record(&id(session), Author::Import, &said).await.unwrap();
}

async fn a_few_talks(engine: &Engine) {
    tell(engine, "monday", 1, &["My automobile makes a noise.", "Have the brakes looked at."]).await;
    tell(engine, "tuesday", 2, &["The dessert was too sweet.", "Use less sugar next time."]).await;
    tell(engine, "friday", 5, &["We went along the shore.", "That sounds nice."]).await;
}

/// A question to everything, with what it means.
async fn ask(engine: &Engine, question: &str) -> String {
    let embedding = engine.embed_query(question).await;
    let asking =
        RetrievalRequest { embedding, now: Some(Stamp(9 * DAY)), ..RetrievalRequest::new(question, Tokens(300)) };
    engine.retrieve(&asking).await.unwrap().text
}

#[tokio::test]
async fn words_find_at_once_and_meaning_a_moment_later() {
    let folder = tempfile::tempdir().unwrap();
    for store in stores(folder.path()) {
        let engine = Engine::builder(store).embedder(Concepts::new("concepts")).build();
        a_few_talks(&engine).await;
        assert!(ask(&engine, "automobile").await.contains("My automobile makes a noise."));
        assert_eq!(ask(&engine, "trouble with a vehicle").await, "");
        assert_eq!(engine.index_all().await.unwrap(), 6);
        let page = ask(&engine, "trouble with a vehicle").await;
        let (car, cake) = (page.find("automobile"), page.find("dessert"));
        assert!(car.is_some() && (cake.is_none() || car < cake), "{page}");
        assert_eq!(engine.index_all().await.unwrap(), 0, "nothing waits any more");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_indexer_embeds_what_others_write_and_ends_when_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let [store, _] = stores(folder.path());
    let writer = Engine::builder(Arc::new(SqliteStore::open(&folder.path().join("recall.db")).unwrap())).build();
    let reader = Engine::builder(store).embedder(Concepts::new("concepts")).build();
    let indexer = reader.start_indexer();
    a_few_talks(&writer).await;
    let ask_now = || block_in_place(|| Handle::current().block_on(ask(&reader, "vehicle")));
    wait_until("what others wrote is embedded", || !ask_now().is_empty());
    drop(indexer);
}

#[tokio::test]
async fn without_an_embedder_or_with_one_that_fails_words_find() {
    let folder = tempfile::tempdir().unwrap();
    let concepts = Concepts::new("concepts");
    concepts.fails.store(true, Ordering::Relaxed);
    for store in stores(folder.path()) {
        let engine = Engine::builder(store).embedder(concepts.clone()).build();
        a_few_talks(&engine).await;
        assert!(engine.index_all().await.is_err());
        assert!(ask(&engine, "sugar in a dessert").await.contains("too sweet"));
        concepts.fails.store(false, Ordering::Relaxed);
        assert_eq!(engine.index_all().await.unwrap(), 6, "it is made up for");
        concepts.fails.store(true, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn another_embedder_takes_over_while_search_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    for store in stores(folder.path()) {
        let old = Engine::builder(store.clone()).embedder(Concepts::new("old")).build();
        a_few_talks(&old).await;
        old.index_all().await.unwrap();
        let new = Engine::builder(store).embedder(Concepts::new("new")).build();
        assert_eq!(ask(&new, "vehicle").await, "", "what another made of it says nothing");
        assert!(ask(&new, "automobile").await.contains("noise"), "words find all the while");
        assert_eq!(new.index_all().await.unwrap(), 6);
        assert!(ask(&new, "vehicle").await.contains("automobile"));
    }
}

/// I9: the same page on every backend.
#[tokio::test]
async fn every_backend_gives_the_same_page() {
    let folder = tempfile::tempdir().unwrap();
    let mut pages = Vec::new();
    for store in stores(folder.path()) {
        let engine = Engine::builder(store).embedder(Concepts::new("concepts")).build();
        a_few_talks(&engine).await;
        engine.index_all().await.unwrap();
        let mut of_one = Vec::new();
        for question in ["vehicle noise", "what was too sweet last week?", "shore", "brakes sugar nice"] {
            of_one.push(ask(&engine, question).await);
        }
        pages.push(of_one);
    }
    assert_eq!(pages[0], pages[1]);
}

#[tokio::test]
async fn in_a_conversation_that_goes_on_what_is_in_sight_is_not_recalled() {
    let engine = Engine::builder(Arc::new(MemStore::new())).build();
    tell(&engine, "work", 1, &["read config.rs", "done", "now the tests", "they pass", "read config.rs again"])
        .await;
    let current = Some(CurrentSession { session: id("work").into(), visible_texts: 2 });
    let found = engine
        .retrieve(&RetrievalRequest { current, ..RetrievalRequest::new("config.rs", Tokens(400)) })
        .await
        .unwrap();
    assert!(found.text.contains("read config.rs\n") && !found.text.contains("again"), "{}", found.text);
    assert!(found.text.contains("now the tests"), "what was said lately comes along: {}", found.text);
}

#[tokio::test]
async fn any_question_gets_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    for store in stores(folder.path()) {
        let engine = Engine::builder(store).embedder(Concepts::new("concepts")).build();
        a_few_talks(&engine).await;
        engine.index_all().await.unwrap();
        let long = "sugar ".repeat(200_000);
        let odd =
            ["", " ", "the of and", "🙂🙂", "\"", "* - NEAR( OR", "a\0b", "日本語 ошибка über", "-sugar", &long];
        for question in odd {
            let page = ask(&engine, question).await;
            assert!(page.is_empty() || page.ends_with("§[End of what was said before]"), "{page}");
            engine.search(question, Filter::default(), 5).await.unwrap();
        }
        let none = engine.retrieve(&RetrievalRequest::new("sugar", Tokens(0))).await.unwrap();
        assert_eq!((none.text.as_str(), none.tokens), ("", Tokens(0)));
    }
}

#[tokio::test]
async fn a_search_can_be_narrowed() {
    let engine = Engine::builder(Arc::new(MemStore::new())).build();
    a_few_talks(&engine).await;
    tell(&engine, "saturday", 6, &["Sugar again?", "A little sugar."]).await;
    let found = async |filter: Filter| {
        let hits = engine.search("sugar", filter, 9).await.unwrap();
        hits.into_iter().map(|hit| (hit.session.to_string(), hit.kind.as_str())).collect::<Vec<_>>()
    };
    assert_eq!(found(Filter::default()).await.len(), 3);
    assert_eq!(found(Filter::for_stream(&id("tuesday"))).await, [("tuesday".to_owned(), "assistant")]);
    let since = Filter { from: Some(Stamp(6 * DAY)), ..Filter::default() };
    assert_eq!(found(since).await.len(), 2);
    let kinds = Filter { kinds: Some([TextKind::User].into()), ..Filter::default() };
    assert_eq!(found(kinds).await, [("saturday".to_owned(), "user")]);
}

/// A memory answers a question that has no word in common with it, in the tool and on the page.
#[tokio::test]
async fn memories_are_recalled_by_what_they_mean() {
    let folder = tempfile::tempdir().unwrap();
    for store in stores(folder.path()) {
        let agent = AgentId::from_name("newton").unwrap();
        let build =
            |store: &Arc<dyn Store>| Engine::builder(store.clone()).agent(agent.clone(), AgentProfile::default());
        let engine = build(&store).embedder(Concepts::new("concepts")).build();
        let mut memory = engine.agent().await.unwrap().unwrap();
        for said in ["Tim owns an automobile", "The baking was a success", "The boat has seven windows"] {
            let fact = Body::Fact(Fact::new("home", said, Confidence::FULL));
            let draft = MemoryDraft::new(fact, Provenance::from_author(Author::Person));
            memory.run_command(MemoryCommand::Remember(Box::new(draft))).await.unwrap();
        }
        let recall = || MemoryCommand::Recall {
            query: "which vehicle?".to_owned(),
            kinds: Vec::new(),
            time: None,
            project: None,
            superseded: false,
            lists: false,
            max: 9,
        };
        let ids = |answer: MemoryResponse| {
            let MemoryResponse::Found { hits } = answer else { panic!("{answer:?}") };
            hits.iter().map(|hit| hit.id.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(ids(memory.run_command(recall()).await.unwrap()), Vec::<String>::new(), "not embedded yet");
        assert_eq!(engine.index_all().await.unwrap(), 3);
        assert_eq!(ids(memory.run_command(recall()).await.unwrap()), ["f1"]);
        let page = memory.context("which vehicle?", None, None).await.unwrap().knowledge;
        assert_eq!(page.items.iter().map(|item| item.id.to_string()).collect::<Vec<_>>(), ["f1"]);
        let by_words = build(&store).build().agent().await.unwrap().unwrap();
        assert_eq!(by_words.context("which vehicle?", None, None).await.unwrap().knowledge.items, []);
    }
}

/// What was said and what is known are searched for the same question: it is embedded once.
#[tokio::test]
async fn a_question_is_embedded_once() {
    let concepts = Concepts::new("concepts");
    let engine = Engine::builder(Arc::new(MemStore::new())).embedder(concepts.clone()).build();
    let car = engine.embed_query("a vehicle").await;
    assert!(car.is_some() && engine.embed_query("a vehicle").await == car);
    assert_eq!(concepts.asked.load(Ordering::Relaxed), 1);
    assert_ne!(engine.embed_query("a dessert").await, car);
    assert_eq!(engine.embed_query("a vehicle").await, car);
    assert_eq!(concepts.asked.load(Ordering::Relaxed), 3);
}
