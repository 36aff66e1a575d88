//! A large request never holds the thread that others wait on: the work on it is handed over before it begins.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread::ThreadId;

use async_trait::async_trait;
use neap_core::base::ids::{SessionId, Stamp};
use neap_core::base::message::Message;
use neap_core::base::tokens::Tokens;
use neap_core::memory::Author;
use neap_core::recall::Embedding;
use neap_core::session::summary::SummaryRequest;
use neap_engine::{Engine, IncomingRequest, SessionOptions};
use neap_model::caller::Tenancy;
use neap_model::embed::LocalEmbedder;
use neap_model::{Embedder, ModelError, Summarizer};
use neap_store::MemStore;
use serde_json::json;

/// Hard to count, to split and to look through.
fn hostile() -> String {
    (0..40_000_u32).filter_map(|n| char::from_u32(0x4e00 + n * 7 % 20_000)).collect()
}

fn body(text: &str) -> String {
    json!({"model": "m", "messages": [{"role": "user", "content": text}]}).to_string()
}

fn incoming<'a>(headers: &'a [(String, String)], body: &'a str) -> IncomingRequest<'a> {
    IncomingRequest::new("/v1/messages", headers, body, Tokens(1_000_000))
}

/// How often a future gives the thread back before it is ready. The store in memory never waits: whatever does is work that was
/// handed over.
fn times_given_back<T>(future: impl Future<Output = T>) -> (usize, T) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut future = Box::pin(future);
        let mut times = 0;
        let done = std::future::poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(done) => Poll::Ready(done),
            Poll::Pending => {
                times += 1;
                Poll::Pending
            }
        })
        .await;
        (times, done)
    })
}

fn engine() -> Engine {
    Engine::builder(Arc::new(MemStore::default())).callers(Tenancy::Single).build()
}

#[test]
fn a_large_request_is_read_and_written_down_off_the_workers() {
    let (engine, headers) = (engine(), vec![("x-neap-session".to_owned(), "s".to_owned())]);
    let large = body(&hostile());
    let (times, plan) = times_given_back(engine.ingest(&incoming(&headers, &large)));
    assert_eq!(plan.fault, None);
    assert!(times >= 2, "reading and writing down were handed over: {times}");
    // What is small is done at once.
    let small = body("hello");
    let (times, _) = times_given_back(engine.ingest(&incoming(&headers, &small)));
    assert_eq!(times, 0);
}

/// The very first look at a large request gives the thread back: nothing of it was read before.
#[tokio::test]
async fn whoever_is_ready_does_not_wait_for_a_large_request() {
    let (engine, headers) = (engine(), Vec::new());
    let large = body(&hostile());
    let request = incoming(&headers, &large);
    let mut hearing = Box::pin(engine.ingest(&request));
    let first = std::future::poll_fn(|cx| Poll::Ready(hearing.as_mut().poll(cx).is_pending())).await;
    assert!(first);
    assert_eq!(hearing.await.fault, None);
}

#[test]
fn long_turns_are_masked_and_counted_off_the_workers() {
    let engine = engine();
    let (_, session) =
        times_given_back(engine.resume(&SessionId::parse("s").unwrap(), &SessionOptions::default()));
    let mut session = session.unwrap();
    let text = hostile();
    let (times, recorded) = times_given_back(session.record(Author::Model, &text, &text, None));
    assert!(recorded.is_ok() && times >= 2, "{times}");
    let said = [(Stamp(1), Message::user(hostile()))];
    let (times, told) = times_given_back(engine.record(&SessionId::parse("t").unwrap(), Author::Import, &said));
    assert!(told.is_ok() && times >= 1, "{times}");
}

/// Without a runtime all is done in place, and done.
#[test]
fn no_runtime_is_needed() {
    let (engine, headers) = (engine(), Vec::new());
    let large = body(&hostile());
    let request = incoming(&headers, &large);
    let mut hearing = Box::pin(engine.ingest(&request));
    let mut cx = Context::from_waker(Waker::noop());
    let Poll::Ready(plan) = hearing.as_mut().poll(&mut cx) else { panic!("nobody is there to wake it") };
    assert_eq!(plan.fault, None);
}

/// Says on which thread it was asked.
struct Where(std::sync::Mutex<Vec<ThreadId>>);

#[async_trait]
impl Summarizer for Where {
    async fn summarize(&self, _request: &SummaryRequest) -> Result<String, ModelError> {
        self.0.lock().unwrap().push(std::thread::current().id());
        Ok("They spoke of the harbour at length.".to_owned())
    }
}

/// A summariser that computes has a thread of its own for a long text.
#[tokio::test]
async fn long_summaries_are_made_off_the_workers() {
    let asked = Arc::new(Where(std::sync::Mutex::default()));
    let builder = Engine::builder(Arc::new(MemStore::default())).summarizer(asked.clone());
    let engine = builder.summary_timeout(None).build();
    let set = vec![("context_tokens_max".to_owned(), "2000".to_owned())];
    let mut session = engine
        .resume(&SessionId::parse("s").unwrap(), &SessionOptions { set, ..SessionOptions::default() })
        .await
        .unwrap();
    let page = "The harbour master wrote that the tide turns at nine. ".repeat(600);
    session.call_tool("open_effort", "{\"name\":\"harbour\"}").await.unwrap();
    session.record(Author::Model, &page, "Noted.", None).await.unwrap();
    session.call_tool("close_effort", "{}").await.unwrap();
    let here = std::thread::current().id();
    let asked = asked.0.lock().unwrap();
    assert!(!asked.is_empty() && asked.iter().all(|thread| *thread != here), "{asked:?}");
}

/// Counts its texts and says how long the longest was.
struct Counting(AtomicUsize);

#[async_trait]
impl Embedder for Counting {
    fn identity(&self) -> &str {
        "counting/1"
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, ModelError> {
        let longest = texts.iter().map(|text| text.len()).max().unwrap_or(0);
        self.0.fetch_max(longest, Ordering::Relaxed);
        Ok(texts.iter().map(|_| Embedding::quantize(&[1.0, 0.0])).collect())
    }
}

/// However long a text or a question is, what is embedded of it is bounded.
#[tokio::test]
async fn what_is_embedded_is_bounded() {
    let embedder = Arc::new(Counting(AtomicUsize::new(0)));
    let engine = Engine::builder(Arc::new(MemStore::default())).embedder(embedder.clone()).build();
    engine.embed_query(&hostile()).await.unwrap();
    engine
        .record(&SessionId::parse("t").unwrap(), Author::Import, &[(Stamp(1), Message::user(hostile()))])
        .await
        .unwrap();
    engine.index_all().await.unwrap();
    assert!(embedder.0.load(Ordering::Relaxed) <= 4_096, "{embedder:?}", embedder = embedder.0);
}

/// The built-in embedder computes for milliseconds: not on the thread that asks.
#[test]
fn the_built_in_embedder_computes_off_the_workers() {
    let (times, made) = times_given_back(async { LocalEmbedder.embed(&["which port?"]).await });
    assert!(times >= 1 && made.is_ok_and(|made| made.len() == 1), "{times}");
}
