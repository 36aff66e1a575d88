//! A secret goes in by every door of the library; what is stored, shown in folders or named never has it, and a host's own tool
//! still gets what the model meant for it.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use neap_core::base::ids::{Seq, SessionId, Stamp};
use neap_core::base::message::{Message, Role, ToolCall};
use neap_core::base::tokens::Tokens;
use neap_core::client::ProviderReply;
use neap_core::context::tools::ToolSpec;
use neap_core::memory::Author;
use neap_core::session::event::RecordedEvent;
use neap_core::text::secrets::{Masking, count_masks};
use neap_core::turn::{ModelReply, ModelRequest};
use neap_engine::agent_memory::{AgentMemory, WindowMemory};
use neap_engine::{Engine, HostTools, IncomingRequest, NullObserver, SessionOptions, ToolAnswer, verify_results};
use neap_model::envelope::Keyring;
use neap_model::{ChatModel, ModelError, OnText};
use neap_sqlite::SqliteStore;
use neap_store::folder::FolderViews;
use neap_store::{MemStore, Store, StoredEvent};
use serde_json::json;
use tempfile::TempDir;

use crate::outage::faulty::{Fault, FaultyStore};

/// What is looked for, in small letters.
const PART: &str = "ca7na4ry9tq8lm3xz6vb";

/// Put together here, so that no scanner takes it for real.
fn key() -> String {
    format!("{}{}{}", concat!("gs", "k_"), "Ca7Na4Ry9Tq8Lm3Xz6Vb", "2Hj5Kd8Pw1Rt4Yb7Nc3Mv6Qs9")
}

/// Longer than what is looked through where it comes in.
fn long() -> String {
    format!(
        "{} {} {}",
        "The harbour office writes invoices at night. ".repeat(1_000),
        key(),
        "And so on. ".repeat(1_000)
    )
}

struct Place {
    folder: TempDir,
    engine: Engine,
    keyring: Arc<Keyring>,
    /// What the host's tool was given.
    given: Arc<Mutex<Vec<String>>>,
}

/// Repeats the key in all that it says, and calls a tool of the host with it.
struct Leaks;

#[async_trait]
impl ChatModel for Leaks {
    fn name(&self) -> &str {
        "leaks"
    }

    async fn reply(&self, request: &ModelRequest, _on_text: OnText<'_>) -> Result<ModelReply, ModelError> {
        if request.messages.last().is_some_and(|last| last.role == Role::Tool) {
            return Ok(ModelReply { text: format!("It says {}.", key()), calls: Vec::new(), is_truncated: false });
        }
        let call = |name: &str, arguments: serde_json::Value| ToolCall {
            id: format!("c-{name}"),
            name: name.to_owned(),
            arguments: arguments.to_string(),
        };
        let calls = vec![
            call("fetch", json!({"with": key()})),
            call("open_effort", json!({"name": format!("rotate {}", key())})),
        ];
        Ok(ModelReply { text: format!("I call it with {}.", key()), calls, is_truncated: false })
    }
}

struct Fetch(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl HostTools for Fetch {
    fn specs(&self) -> Vec<ToolSpec> {
        vec![ToolSpec {
            name: "fetch".into(),
            description: "Fetches.".into(),
            parameters: json!({"type": "object"}),
        }]
    }

    async fn call(&self, call: &ToolCall) -> ToolAnswer {
        self.0.lock().unwrap().push(call.arguments.clone());
        format!("{{\"token\": \"{}\"}}", key()).into()
    }
}

impl Place {
    fn new(masking: Masking) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("neap.db")).unwrap().with_masking(masking);
        let store: Arc<dyn Store> = Arc::new(store);
        let views = FolderViews::start(folder.path().join("sessions"), store.clone());
        let keyring = Arc::new(Keyring::generate().unwrap());
        let given = Arc::default();
        let builder =
            Engine::builder(store).model(Arc::new(Leaks)).host_tools(Arc::new(Fetch(Arc::clone(&given))));
        let engine = builder.views(views).keyring(keyring.clone()).build();
        Self { folder, engine, keyring, given }
    }

    /// All that is stored of a session, as JSON.
    async fn stored(&self, session: &str) -> String {
        let id = SessionId::parse(session).unwrap();
        let events = self.engine.store().events(&id, Seq(1), 10_000).await.unwrap();
        let whole: Vec<RecordedEvent> = events
            .into_iter()
            .map(|stored| match stored {
                StoredEvent::Whole(recorded) => recorded,
                StoredEvent::Damaged { .. } => panic!("a damaged event"),
            })
            .collect();
        serde_json::to_string(&whole).unwrap()
    }

    /// Files, and names of files, that hold what is looked for; and sessions that do.
    async fn found(&self) -> Vec<String> {
        self.engine.flush().await;
        let mut found = Vec::new();
        look(self.folder.path(), &mut found);
        for session in self.engine.sessions().await.unwrap() {
            let stored = self.stored(session.session.as_str()).await;
            if stored.to_lowercase().contains(PART) {
                found.push(format!("session {}", session.session));
            }
        }
        found
    }
}

fn look(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().to_lowercase();
        if name.contains(PART) {
            found.push(format!("the name of {}", path.display()));
        }
        if path.is_dir() {
            look(&path, found);
        } else if String::from_utf8_lossy(&std::fs::read(&path).unwrap()).to_lowercase().contains(PART) {
            found.push(path.display().to_string());
        }
    }
}

fn id(name: &str) -> SessionId {
    SessionId::parse(name).unwrap()
}

/// Everything that can be said to a library, with the key in each text.
async fn say_all(place: &Place) {
    let engine = &place.engine;
    let mut session = engine.resume(&id("chat"), &SessionOptions::default()).await.unwrap();
    session.turn(Author::Person, &format!("use {}", key()), &mut NullObserver).await.unwrap();
    session.turn(Author::Person, &long(), &mut NullObserver).await.unwrap();
    session.record(Author::Model, &format!("told {}", key()), &long(), Some(&key())).await.unwrap();
    session.call_tool("open_effort", &json!({"name": format!("work on {}", key())}).to_string()).await.unwrap();
    session.call_tool("close_effort", "{}").await.unwrap();
    session.run_upkeep().await.unwrap();
    engine
        .record(
            &id("told"),
            Author::Import,
            &[(Stamp(1), Message::user(key())), (Stamp(2), Message::assistant(long()))],
        )
        .await
        .unwrap();
    let mut memory = WindowMemory::open(engine, &id("memory"), Tokens(2_000)).await.unwrap();
    memory.add(Role::User, &format!("mine is {}", key()), Stamp(1)).await.unwrap();
    memory.add(Role::Assistant, &long(), Stamp(2)).await.unwrap();
    memory.reserve_tokens(Tokens(1_000)).await.unwrap();
    for path in ["/v1/chat/completions", "/v1/responses", "/v1/messages"] {
        let list = if path.ends_with("responses") { "input" } else { "messages" };
        let mut body = json!({"model": "m", "tools": [{"name": "run"}]});
        body[list] = json!([{"role": "user", "content": long()}]);
        let (body, name) = (body.to_string(), path.replace('/', "-"));
        let headers = vec![("x-neap-session".to_owned(), name), ("x-api-key".to_owned(), key())];
        let incoming = IncomingRequest::new(path, &headers, &body, Tokens(100_000));
        let plan = engine.ingest(&incoming).await;
        assert_eq!((plan.fault.as_deref(), plan.body.as_deref()), (None, None), "it goes on as it came");
        let call = ToolCall { id: "c1".into(), name: "run".into(), arguments: json!({"key": key()}).to_string() };
        let reply =
            ProviderReply { text: format!("with {}", key()), calls: vec![call], ..ProviderReply::default() };
        engine.complete_request(&plan, &reply).await.unwrap();
    }
}

#[tokio::test]
async fn no_door_of_the_library_lets_a_secret_in() {
    let place = Place::new(Masking::On);
    say_all(&place).await;
    assert_eq!(place.found().await, Vec::<String>::new());
    for session in ["chat", "told", "memory"] {
        assert!(count_masks(&place.stored(session).await) >= 2, "{session}");
    }
    // The tool had to have it.
    assert!(place.given.lock().unwrap().iter().any(|arguments| arguments.contains(&key())));
    // What proves a result is of what is kept.
    let findings = verify_results(place.engine.store().as_ref(), &id("chat"), &place.keyring).await.unwrap();
    assert_eq!(findings, Vec::new());
}

/// What waits for a store that fails is recorded without secrets as well, the request and its reply.
#[tokio::test]
async fn what_is_recorded_late_has_no_secret() {
    let inner: Arc<dyn Store> = Arc::new(MemStore::new());
    let store = Arc::new(FaultyStore::new(inner.clone()));
    let engine = Engine::builder(store.clone()).build();
    store.breaks(Fault::ReadOnly, true, 0);
    let headers =
        vec![("x-neap-session".to_owned(), key()), ("x-api-key".to_owned(), "sk-one-4f9aT7bQ2mX8".to_owned())];
    let body = json!({"model": "m", "messages": [{"role": "user", "content": long()}]}).to_string();
    let incoming = IncomingRequest::new("/v1/messages", &headers, &body, Tokens(100_000));
    let plan = engine.ingest(&incoming).await;
    assert!(matches!(plan.recorded, neap_engine::RecordingOutcome::Deferred(_)), "{:?}", plan.recorded);
    let reply = ProviderReply { text: format!("with {}", key()), ..ProviderReply::default() };
    assert!(engine.complete_request(&plan, &reply).await.is_err(), "it waits");
    store.is_mended();
    assert_eq!(engine.wait_until_recorded(Duration::from_secs(60)).await, 0);
    let sessions = inner.sessions().await.unwrap();
    assert_eq!(sessions.len(), 1);
    assert!(!sessions[0].session.as_str().contains(PART), "{}", sessions[0].session);
    let events = inner.events(&sessions[0].session, Seq(1), 1_000).await.unwrap();
    let stored = format!("{events:?}");
    assert!(!stored.to_lowercase().contains(PART) && count_masks(&stored) >= 2, "{stored}");
}

/// Who turns it off keeps what was said as it was said; names and ids stay without.
#[tokio::test]
async fn the_owner_of_a_store_may_turn_it_off() {
    let place = Place::new(Masking::Off);
    say_all(&place).await;
    for session in ["chat", "told", "memory"] {
        assert!(place.stored(session).await.contains(&key()), "{session}");
    }
    let mut names = Vec::new();
    look(place.folder.path(), &mut names);
    assert_eq!(names.iter().filter(|name| name.starts_with("the name")).count(), 0, "{names:?}");
}
