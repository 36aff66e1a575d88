//! What tools answer enters the memory signed for its call, or not at all.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::path::Path;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use neap_core::base::ids::{Seq, SessionId, Stamp};
use neap_core::base::message::{Role, Seal, ToolCall, ToolRound};
use neap_core::context::tools::ToolSpec;
use neap_core::session::event::{Event, RecordedEvent, TurnEvent};
use neap_core::turn::{ModelReply, ModelRequest};
use neap_engine::{
    Author, Clock, Engine, FixedClock, HostTools, NullObserver, Session, SessionOptions, ToolAnswer,
    verify_results,
};
use neap_model::envelope::{CallBinding, EXPIRY_MS, Entropy, Envelope, Key, KeyError, Keyring, SystemEntropy};
use neap_model::{ChatModel, ModelError, OnText};
use neap_sqlite::SqliteStore;
use neap_store::{Severity, StoredEvent};
use serde_json::json;
use tempfile::TempDir;

/// What a good answer says, and a bad one would.
const PAGE: &str = "canary 4711: the pump takes 12 Nm";
const ARGUMENTS: &str = r#"{"page":"pumps"}"#;

fn session(name: &str) -> SessionId {
    SessionId::parse(name).unwrap()
}

/// Calls the tool once in a turn, always under the same id, and then answers.
struct Caller;

#[async_trait]
impl ChatModel for Caller {
    fn name(&self) -> &str {
        "caller"
    }

    async fn reply(&self, request: &ModelRequest, _on_text: OnText<'_>) -> Result<ModelReply, ModelError> {
        if request.messages.last().is_some_and(|last| last.role == Role::Tool) {
            return Ok(ModelReply { text: "I see.".into(), calls: Vec::new(), is_truncated: false });
        }
        let call = ToolCall { id: "c".into(), name: "fetch".into(), arguments: ARGUMENTS.into() };
        Ok(ModelReply { text: String::new(), calls: vec![call], is_truncated: false })
    }
}

type Answer = Box<dyn Fn(&ToolCall, Stamp) -> ToolAnswer + Send + Sync>;

/// Brings what it is told to.
struct Courier {
    answer: Mutex<Answer>,
    clock: Arc<FixedClock>,
}

#[async_trait]
impl HostTools for Courier {
    fn specs(&self) -> Vec<ToolSpec> {
        let parameters = json!({"type": "object"});
        vec![ToolSpec { name: "fetch".into(), description: "Fetches.".into(), parameters }]
    }

    async fn call(&self, call: &ToolCall) -> ToolAnswer {
        (self.answer.lock().unwrap())(call, self.clock.now())
    }
}

struct Place {
    folder: TempDir,
    engine: Engine,
    courier: Arc<Courier>,
    keyring: Arc<Keyring>,
}

impl Place {
    fn new() -> Self {
        Self::with(Keyring::generate().unwrap())
    }

    fn with(keyring: Keyring) -> Self {
        let (folder, keyring) = (tempfile::tempdir().unwrap(), Arc::new(keyring));
        let clock = Arc::new(FixedClock::at(Stamp(1_771_000_000_000)));
        let answer: Mutex<Answer> = Mutex::new(Box::new(|_, _| PAGE.into()));
        let courier = Arc::new(Courier { answer, clock: clock.clone() });
        let store = Arc::new(SqliteStore::open(&folder.path().join("neap.db")).unwrap());
        let builder = Engine::builder(store).model(Arc::new(Caller)).clock(clock);
        let engine = builder.host_tools(courier.clone()).keyring(keyring.clone()).build();
        Self { folder, engine, courier, keyring }
    }

    fn brings(&self, answer: impl Fn(&ToolCall, Stamp) -> ToolAnswer + Send + Sync + 'static) {
        *self.courier.answer.lock().unwrap() = Box::new(answer);
    }

    async fn open(&self, name: &str) -> Session {
        self.engine.resume(&session(name), &SessionOptions::default()).await.unwrap()
    }

    async fn events(&self, name: &str) -> Vec<Event> {
        let stored = self.engine.store().events(&session(name), Seq(1), 1_000).await.unwrap();
        let whole = stored.into_iter().map(|stored| match stored {
            StoredEvent::Whole(RecordedEvent { event, .. }) => event,
            StoredEvent::Damaged { seq, why } => panic!("event {seq}: {why}"),
        });
        whole.collect()
    }

    async fn rounds(&self, name: &str) -> Vec<ToolRound> {
        let mut rounds = Vec::new();
        for event in self.events(name).await {
            if let Event::Turn(TurnEvent::ToolsCalled { round, .. }) = event {
                rounds.push(round);
            }
        }
        rounds
    }
}

/// Seals as a tool elsewhere would, for a call in the session "work".
fn sealed(keyring: &Keyring, call: &ToolCall, now: Stamp) -> Envelope {
    let binding = CallBinding { session: "work", call_id: &call.id, tool: &call.name, arguments: &call.arguments };
    keyring.seal(&binding, PAGE.to_owned(), now).unwrap()
}

/// Events without their seals, which hold random numbers.
fn unsealed(events: Vec<Event>) -> Vec<Event> {
    let strip = |mut event: Event| {
        if let Event::Turn(TurnEvent::ToolsCalled { round, .. }) = &mut event {
            round.seals.clear();
        }
        event
    };
    events.into_iter().map(strip).collect()
}

/// Whether any file under a folder has these words in it.
fn holds(folder: &Path, words: &str) -> bool {
    std::fs::read_dir(folder).unwrap().any(|entry| {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        bytes.windows(words.len()).any(|window| window == words.as_bytes())
    })
}

/// A bad answer leaves the stream that the words of its refusal would have left, and nothing of itself.
async fn check(why: &str, bad: impl Fn(&Keyring, &ToolCall, Stamp) -> Envelope + Send + Sync + 'static) {
    let place = Place::new();
    let keyring = place.keyring.clone();
    place.brings(move |call, now| bad(&keyring, call, now).into());
    place.open("work").await.turn(Author::Person, "fetch it", &mut NullObserver).await.unwrap();

    let refusal = json!({"error": format!("Tool result refused: {why}.")}).to_string();
    let told = Place::new();
    let words = refusal.clone();
    told.brings(move |_, _| words.clone().into());
    told.open("work").await.turn(Author::Person, "fetch it", &mut NullObserver).await.unwrap();
    assert_eq!(unsealed(place.events("work").await), unsealed(told.events("work").await));
    assert_eq!(&*place.rounds("work").await[0].results[0].message.content, refusal);
    assert!(holds(place.folder.path(), "Tool result refused"), "the files were looked at");
    assert!(!holds(place.folder.path(), "canary"), "nothing of a refused answer is on disk");
}

#[tokio::test]
async fn an_altered_answer_is_refused() {
    check("its signature does not fit", |ring, call, now| {
        let envelope = sealed(ring, call, now);
        Envelope { payload: PAGE.replace("12", "13"), ..envelope }
    })
    .await;
}

#[tokio::test]
async fn an_answer_moved_from_elsewhere_is_refused() {
    let moved = |ring: &Keyring, call: &ToolCall, now, session, tool: &str| {
        let binding = CallBinding { session, call_id: &call.id, tool, arguments: &call.arguments };
        ring.seal(&binding, PAGE.to_owned(), now).unwrap()
    };
    check("it was issued for another session", move |ring, call, now| moved(ring, call, now, "play", "fetch"))
        .await;
    check("it was issued by another tool", move |ring, call, now| moved(ring, call, now, "work", "search")).await;
    check("it was issued for another call", |ring, call, now| {
        sealed(ring, &ToolCall { id: "d".into(), ..call.clone() }, now)
    })
    .await;
    check("it was issued for other arguments", |ring, call, now| {
        sealed(ring, &ToolCall { arguments: "{}".into(), ..call.clone() }, now)
    })
    .await;
}

#[tokio::test]
async fn an_answer_out_of_its_time_is_refused() {
    check("it was issued too long ago", |ring, call, now| sealed(ring, call, Stamp(now.0 - EXPIRY_MS))).await;
    check("it was issued in the future", |ring, call, now| sealed(ring, call, Stamp(now.0 + 60_000))).await;
    // Young enough, and older than the call that it should answer.
    check("it was used before", |ring, call, now| sealed(ring, call, Stamp(now.0 - 60_000))).await;
}

#[tokio::test]
async fn an_answer_with_a_key_of_nobody_here_is_refused() {
    let theirs = Keyring::generate().unwrap();
    check("it is signed with a key that is not known here", move |_, call, now| sealed(&theirs, call, now)).await;
}

/// The same envelope again, for a call of the same id and the same arguments.
#[tokio::test]
async fn a_replayed_answer_is_refused() {
    let place = Place::new();
    let (keyring, kept) = (place.keyring.clone(), Mutex::new(None));
    place.brings(move |call, now| {
        kept.lock().unwrap().get_or_insert_with(|| sealed(&keyring, call, now)).clone().into()
    });
    let mut session = place.open("work").await;
    for _ in 0..2 {
        session.turn(Author::Person, "fetch it", &mut NullObserver).await.unwrap();
    }
    let rounds = place.rounds("work").await;
    assert_eq!(&*rounds[0].results[0].message.content, PAGE);
    assert_eq!(&*rounds[1].results[0].message.content, r#"{"error":"Tool result refused: it was used before."}"#);
}

#[tokio::test]
async fn a_good_answer_is_stored_with_its_seal() {
    let place = Place::new();
    let (keyring, sent) = (place.keyring.clone(), Arc::new(Mutex::new(Vec::new())));
    let log = sent.clone();
    place.brings(move |call, now| {
        let envelope = sealed(&keyring, call, now);
        log.lock().unwrap().push(envelope.to_seal());
        envelope.into()
    });
    place.open("work").await.turn(Author::Person, "fetch it", &mut NullObserver).await.unwrap();
    let rounds = place.rounds("work").await;
    assert_eq!(&*rounds[0].results[0].message.content, PAGE);
    let sent: Vec<Seal> = sent.lock().unwrap().clone();
    assert_eq!(rounds[0].seals, sent, "the tool's own seal is kept");
}

#[tokio::test]
async fn a_plain_answer_is_sealed_where_it_enters_and_verifies_later() {
    let place = Place::new();
    place.open("work").await.turn(Author::Person, "fetch it", &mut NullObserver).await.unwrap();
    let round = place.rounds("work").await.remove(0);
    assert_eq!((&*round.results[0].message.content, round.seals.len()), (PAGE, 1));
    let store = place.engine.store().as_ref();
    assert_eq!(verify_results(store, &session("work"), &place.keyring).await.unwrap(), []);

    let found = verify_results(store, &session("work"), &Keyring::generate().unwrap()).await.unwrap();
    assert_eq!(found.len(), 1);
    let key = place.keyring.current().id();
    assert_eq!(found[0].what, format!("1 tool result is sealed with key {key}, which is missing: not verified"));
    assert_eq!(found[0].severity, Severity::Note);

    let ring = Keyring::from_keys(Key::generate(&SystemEntropy).unwrap(), [copy(&place.keyring)]);
    assert_eq!(verify_results(store, &session("work"), &ring).await.unwrap(), [], "an older key verifies");
}

fn copy(keyring: &Keyring) -> Key {
    Key::from_hex(&keyring.current().expose_hex()).unwrap()
}

/// Someone rewrites what is stored, checksums and all: the seal tells.
#[tokio::test]
async fn a_result_rewritten_in_the_store_is_found() {
    let place = Place::new();
    place.open("work").await.turn(Author::Person, "fetch it", &mut NullObserver).await.unwrap();
    let store = place.engine.store();
    let stored = store.events(&session("work"), Seq(1), 1_000).await.unwrap();
    let rewritten = stored.into_iter().map(|stored| match stored {
        StoredEvent::Whole(mut recorded) => {
            if let Event::Turn(TurnEvent::ToolsCalled { round, .. }) = &mut recorded.event {
                round.results[0].message.content = PAGE.replace("12", "13").into();
            }
            recorded
        }
        StoredEvent::Damaged { .. } => panic!("nothing is damaged"),
    });
    let other = Place::with(Keyring::from_keys(copy(&place.keyring), []));
    other.engine.import_events(rewritten.collect(), None).await.unwrap();
    let found = verify_results(other.engine.store().as_ref(), &session("work"), &other.keyring).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Damaged);
    assert!(found[0].what.ends_with("the result of call c does not match its seal"), "{}", found[0].what);
}

/// A seal is for a session of one name; in a copy under another it would look like damage.
#[tokio::test]
async fn a_copy_under_another_name_leaves_its_seals_behind_and_says_so() {
    let place = Place::new();
    place.open("work").await.turn(Author::Person, "fetch it", &mut NullObserver).await.unwrap();
    let stored = place.engine.store().events(&session("work"), Seq(1), 1_000).await.unwrap();
    let events = stored.into_iter().filter_map(|stored| match stored {
        StoredEvent::Whole(recorded) => Some(recorded),
        StoredEvent::Damaged { .. } => None,
    });
    let imported = place.engine.import_events(events.collect(), Some(session("copy"))).await.unwrap();
    assert_eq!(
        imported.notes,
        ["tool results imported without their seals, which are for another session or an unmasked text: 1"]
    );
    assert_eq!(place.rounds("copy").await[0].seals, []);
    let store = place.engine.store().as_ref();
    assert_eq!(verify_results(store, &session("copy"), &place.keyring).await.unwrap(), []);
}

/// What is too long is cut; what is left of it is signed.
#[tokio::test]
async fn a_result_that_is_cut_still_verifies() {
    let place = Place::new();
    let keyring = place.keyring.clone();
    let long = "ab ".repeat(1_000);
    let whole = long.clone();
    place.brings(move |call, now| {
        let binding = CallBinding { session: "work", call_id: &call.id, tool: "fetch", arguments: ARGUMENTS };
        keyring.seal(&binding, whole.clone(), now).unwrap().into()
    });
    let mut talk = place.open("work").await;
    talk.set("message_bytes_max", "1024").await.unwrap();
    talk.turn(Author::Person, "fetch it", &mut NullObserver).await.unwrap();
    assert_eq!(&*place.rounds("work").await[0].results[0].message.content, &long[..1_024]);
    assert_eq!(place.rounds("work").await[0].seals.len(), 1);
    let store = place.engine.store().as_ref();
    assert_eq!(verify_results(store, &session("work"), &place.keyring).await.unwrap(), []);
}

struct NoEntropy;

impl Entropy for NoEntropy {
    fn fill(&self, _bytes: &mut [u8]) -> Result<(), KeyError> {
        Err(KeyError::Entropy)
    }
}

#[tokio::test]
async fn without_random_bytes_nothing_is_taken_in_and_the_turn_goes_on() {
    let place = Place::with(Keyring::generate().unwrap().with_entropy(Arc::new(NoEntropy)));
    let reply = place.open("work").await.turn(Author::Person, "fetch it", &mut NullObserver).await.unwrap();
    assert_eq!(reply.text, "I see.");
    assert!(!holds(place.folder.path(), "canary"));
}

/// Seed 9-B: what a tool returns to a host is an envelope, signed for that call.
#[tokio::test]
async fn the_reply_to_a_host_is_an_envelope() {
    let place = Place::new();
    let mut session = place.open("work").await;
    let reply = session.call_tool("open_effort", r#"{"name":"pump"}"#).await.unwrap();
    assert_eq!(reply.envelope.payload, reply.text);
    let binding = CallBinding {
        session: "work",
        call_id: &reply.envelope.call_id.clone(),
        tool: "open_effort",
        arguments: r#"{"name":"pump"}"#,
    };
    assert_eq!(place.keyring.verify(&reply.envelope, &binding), Ok(()));
    assert!(place.keyring.verify(&reply.envelope, &CallBinding { arguments: "{}", ..binding }).is_err());
}
