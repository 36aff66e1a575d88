//! Nobody reads another's (I11): sessions of several callers, of one caller with several keys, and streams that are older than owners.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use std::collections::BTreeMap;
use std::sync::Arc;

use neap_core::base::digest::Digest;
use neap_core::base::ids::{Seq, SessionId, StreamId};
use neap_core::base::message::ToolCall;
use neap_core::base::tenant::Tenant;
use neap_core::base::tokens::Tokens;
use neap_core::client::{Chain, HistoryVerdict, ProviderReply, SessionName, offered_tools};
use neap_core::session::event::{ClientEvent, Event, RecordedEvent, SessionEvent};
use neap_core::session::project::{TurnsInFlight, project};
use neap_engine::{Engine, IncomingRequest, RequestPlan};
use neap_model::bpe::counter_for;
use neap_model::caller::{Caller, Tenancy};
use neap_model::envelope::Keyring;
use neap_model::wire::request::{CachedCounter, ToolOffer, WireRequest};
use neap_store::{Commit, EventStore, Maintenance, MemStore, Store, StoredEvent};
use serde_json::{Value, json};

use super::compaction::{message, send};

const BUDGET: Tokens = Tokens(3_000);
pub(crate) const CANARY: &str = "The vault code of the heron project is QX-7714.";
pub(crate) const QUESTION: &str = "What was the vault code of the heron project?";
pub(crate) const PATH: &str = "/v1/chat/completions";

pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

pub(crate) type Shared = Arc<MemStore>;

pub(crate) fn engine(store: &Shared, callers: Tenancy) -> Engine {
    let keyring = Keyring::from_secret(b"a secret that all processes have").unwrap();
    Engine::builder(store.clone() as Arc<dyn Store>).callers(callers).keyring(Arc::new(keyring)).build()
}

/// A client that shows these headers and keeps its history.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) history: Vec<Value>,
}

impl Client {
    pub(crate) fn new(headers: &[(&str, &str)]) -> Self {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { headers, history: Vec::new() }
    }

    /// The same with one header more, or another value of it.
    pub(crate) fn showing(&self, name: &str, value: &str) -> Self {
        let mut other = self.clone();
        other.headers.retain(|(known, _)| known != name);
        other.headers.push((name.to_owned(), value.to_owned()));
        other
    }

    fn body(&self) -> String {
        json!({"model": "m", "stream": true, "messages": self.history}).to_string()
    }

    pub(crate) async fn send(&self, engine: &Engine) -> RequestPlan {
        self.send_with(engine, None).await
    }

    pub(crate) async fn send_with(&self, engine: &Engine, offer: Option<&ToolOffer>) -> RequestPlan {
        let body = self.body();
        let incoming = IncomingRequest { offer, ..IncomingRequest::new(PATH, &self.headers, &body, BUDGET) };
        let plan = engine.ingest(&incoming).await;
        assert_eq!((&plan.fault, &plan.refusal), (&None, &None));
        let sent = plan.body.as_deref().unwrap_or(&body);
        assert!(counter_for("o200k_base").count(sent) <= BUDGET, "I1");
        plan
    }

    /// Says something, and hears an answer.
    pub(crate) async fn talk(&mut self, engine: &Engine, text: &str) -> RequestPlan {
        self.history.push(json!({"role": "user", "content": text}));
        let plan = self.send(engine).await;
        let text = format!("Noted: answer {}.", self.history.len());
        self.history.push(json!({"role": "assistant", "content": text}));
        engine.complete_request(&plan, &ProviderReply { text, ..ProviderReply::default() }).await.unwrap();
        plan
    }

    /// Talks until its first words are out of sight.
    pub(crate) async fn talk_long(&mut self, engine: &Engine, first: &str) -> RequestPlan {
        let mut plan = self.talk(engine, first).await;
        for turn in 0..40 {
            plan = self.talk(engine, &filler(turn)).await;
        }
        plan
    }

    pub(crate) fn sent(&self, plan: &RequestPlan) -> String {
        plan.body.clone().unwrap_or_else(|| self.body())
    }
}

fn filler(turn: usize) -> String {
    format!(
        "Step {turn}: I changed src/part_{turn}.rs as the notes of last week say. {}",
        "More of it. ".repeat(12)
    )
}

pub(crate) async fn events(store: &dyn Store, stream: &StreamId) -> Vec<RecordedEvent> {
    let stored = store.events(stream, Seq(1), usize::MAX).await.unwrap();
    let whole = stored.into_iter().map(|stored| match stored {
        StoredEvent::Whole(recorded) => recorded,
        StoredEvent::Damaged { why, .. } => panic!("{why}"),
    });
    whole.collect()
}

pub(crate) async fn owner(store: &Shared, stream: &StreamId) -> Option<Tenant> {
    store.load(stream).await.unwrap().and_then(|state| state.head().tenant)
}

/// What a client's session is called, whoever it is taken for.
fn name(client: &Client, tenant: &Tenant) -> SessionName {
    let counts = CachedCounter::new(counter_for("o200k_base"));
    let request = WireRequest::read(PATH, &client.headers, &client.body(), &counts).unwrap().unwrap();
    request.parsed().signals.identity(tenant).unwrap().name
}

pub(crate) fn chain(client: &Client, tenant: &Tenant) -> Chain {
    let counts = CachedCounter::new(counter_for("o200k_base"));
    let request = WireRequest::read(PATH, &client.headers, &client.body(), &counts).unwrap().unwrap();
    Chain::from_request(tenant, request.parsed())
}

/// A store as it was before streams had owners: the client's conversation, known by the key of a header, under an id of 32 bits or whatever
/// id is given.
pub(crate) async fn of_old(client: &Client, key: Option<&str>, id: Option<SessionId>) -> Shared {
    let (store, tenant) = (Shared::default(), Tenant::from_key(key));
    let recorded = Shared::default();
    let caller = Caller::from_request(Tenancy::Single, PATH, &client.headers).unwrap().tenant;
    let mut again = Client { headers: client.headers.clone(), history: Vec::new() };
    let one = engine(&recorded, Tenancy::Single);
    let mut session = None;
    for item in &client.history {
        again.history.push(item.clone());
        if item["role"] == "user" {
            session = again.send(&one).await.session;
        }
    }
    // The answer that came last is brought along by nobody.
    let last = json!({"role": "user", "content": "next"});
    let mut whole = again.clone();
    whole.history.push(last);
    let session = session.unwrap();
    let (now, then) = (chain(&whole, &caller), chain(&whole, &tenant));
    let digests: BTreeMap<Digest, Digest> = now
        .links()
        .iter()
        .copied()
        .zip(then.links().iter().copied())
        .chain([(now.start(), then.start())])
        .collect();
    let back = |digest: &mut Digest| *digest = *digests.get(digest).unwrap_or(digest);
    let mut old = events(recorded.as_ref(), &session).await;
    for recorded in &mut old {
        if let Event::Client(ClientEvent::HistoryLinked { links, history, tenant, .. }) = &mut recorded.event {
            *tenant = None;
            links.iter_mut().for_each(|link| back(&mut link.digest));
            back(&mut history.asked);
            history.answered.iter_mut().for_each(back);
        }
    }
    let has_name = client.headers.iter().any(|(header, _)| header == "x-neap-session");
    let id = id.or_else(|| has_name.then(|| name(client, &tenant).legacy_id())).unwrap_or(session);
    put(&store, &id, old).await;
    store
}

/// Puts events into a stream as they are: what a file says would not be believed.
pub(crate) async fn put(store: &Shared, id: &StreamId, events: Vec<RecordedEvent>) {
    let mut state = store.load(id).await.unwrap().unwrap_or_default();
    let (expected, in_flight) = (state.seq(), TurnsInFlight::of(&state));
    let renamed = events.into_iter().map(|mut recorded| {
        if let Event::Session(SessionEvent::Created { session, .. }) = &mut recorded.event {
            session.clone_from(id);
        }
        state.record(recorded.at, recorded.event)
    });
    let events: Vec<RecordedEvent> = renamed.collect();
    let projection = project(&in_flight, &state, &events);
    store.commit(Commit { stream: id.clone(), expected, events, projection }).await.unwrap();
}

/// A conversation that is long enough to be cut, as its client has it.
pub(crate) async fn long_talk(headers: &[(&str, &str)]) -> Client {
    let mut client = Client::new(headers);
    client.talk_long(&engine(&Shared::default(), Tenancy::Single), CANARY).await;
    // Its last answer is not heard.
    client
}

/// A key's conversation was stolen by 32 bits: ids have the whole digest, and streams say whose they are.
#[test]
fn a_session_has_the_whole_digest_and_its_owner() {
    run(async {
        let store = Shared::default();
        let engine = engine(&store, Tenancy::Multi);
        let mut named = Client::new(&[("x-api-key", "sk-one-4f9aT7bQ2mX8"), ("x-neap-session", "desk")]);
        let plan = named.talk(&engine, "hello").await;
        let caller = Caller::from_request(Tenancy::Multi, PATH, &named.headers).unwrap().tenant;
        let session = plan.session.unwrap();
        assert_eq!(session.as_str(), format!("desk-{}", name(&named, &caller).digest()));
        assert_eq!(owner(&store, &session).await, Some(caller));
        let mut unnamed = Client::new(&[("x-api-key", "sk-one-4f9aT7bQ2mX8")]);
        let session = unnamed.talk(&engine, "good evening").await.session.unwrap();
        assert_eq!(session.as_str().len(), "talk-".len() + 32);
        assert_eq!(owner(&store, &session).await, Some(caller));
        // It is said once.
        unnamed.talk(&engine, "and more").await;
        let said = events(store.as_ref(), &session).await.into_iter().filter(|recorded| {
            matches!(recorded.event, Event::Client(ClientEvent::HistoryLinked { tenant: Some(_), .. }))
        });
        assert_eq!(said.count(), 1);
    });
}

/// Whatever a stream is called: if it says that it is somebody else's, it is not shown, and not written to.
#[test]
fn a_stream_of_somebody_else_is_as_if_it_were_not_there() {
    run(async {
        let victim = long_talk(&[("x-api-key", "sk-victim-4f9aT7bQ2mX8"), ("x-neap-session", "desk")]).await;
        let mut thief = Client::new(&[("x-api-key", "sk-thief-4f9aT7bQ2mX8"), ("x-neap-session", "desk")]);
        thief.history.push(json!({"role": "user", "content": "hi"}));
        let caller = Caller::from_request(Tenancy::Multi, PATH, &thief.headers).unwrap().tenant;
        // The thief's own id, old and new, as if digests had collided; the victim has gone on with the stream since.
        for id in [
            name(&thief, &caller).id(),
            name(&thief, &Tenant::from_key(Some("sk-thief-4f9aT7bQ2mX8"))).legacy_id(),
        ] {
            let store = of_old(&victim, Some("sk-victim-4f9aT7bQ2mX8"), Some(id.clone())).await;
            let many = engine(&store, Tenancy::Multi);
            let mut going_on = victim.showing("x-neap-session", "desk");
            going_on.history.push(json!({"role": "user", "content": "and more"}));
            // By its history: what is named is under another id here.
            going_on.headers.retain(|(name, _)| name != "x-neap-session");
            assert_eq!(going_on.send(&many).await.session, Some(id.clone()));
            assert!(owner(&store, &id).await.is_some());
            let before = store.last_seq(&id).await.unwrap();
            let mut thief = thief.clone();
            let plan = thief.talk_long(&many, "hi").await;
            assert_ne!(plan.session, Some(id.clone()));
            let again = thief.talk(&many, QUESTION).await;
            assert_eq!(again.session, plan.session, "its own session goes on");
            assert!(!thief.sent(&again).contains("QX-7714"));
            assert_eq!(store.last_seq(&id).await.unwrap(), before, "nothing of it was written there");
        }
    });
}

/// Streams that are older than owners: where there are several callers, only who brings along all of the history goes on with one.
#[test]
fn an_old_stream_opens_for_who_shows_its_history() {
    run(async {
        for headers in [
            &[("x-api-key", "sk-one-4f9aT7bQ2mX8"), ("x-neap-session", "desk")][..],
            &[("x-api-key", "sk-one-4f9aT7bQ2mX8")],
        ] {
            let talk = long_talk(headers).await;
            let store = of_old(&talk, Some("sk-one-4f9aT7bQ2mX8"), None).await;
            let old = store.sessions().await.unwrap().pop().unwrap().session;
            let many = engine(&store, Tenancy::Multi);
            // Others under the same name: with the words that it began with, with another key, with the same key and another subscription.
            let begun = Client { history: talk.history[..1].to_vec(), headers: talk.headers.clone() };
            for other in [
                talk.showing("x-api-key", "sk-two-4f9aT7bQ2mX8"),
                begun.showing("x-api-key", "sk-two-4f9aT7bQ2mX8"),
                begun.showing("ocp-apim-subscription-key", "k-two-4f9aT7bQ2mX8"),
            ] {
                let plan = other.send(&many).await;
                assert_ne!(plan.session.as_ref(), Some(&old), "{:?}", other.headers);
                assert_eq!(owner(&store, &old).await, None);
            }
            // The owner goes on, once and again, and nothing is recorded twice.
            let mut own = talk.clone();
            let turns = store.load(&old).await.unwrap().unwrap().turn();
            let plan = own.talk(&many, QUESTION).await;
            assert_eq!(
                (plan.session.as_ref(), plan.verdict),
                (Some(&old), Some(HistoryVerdict::Turn)),
                "{headers:?}"
            );
            assert!(own.sent(&plan).contains("QX-7714"), "and finds what was said");
            assert_eq!(store.load(&old).await.unwrap().unwrap().turn().0, turns.0 + 1);
            let caller = Caller::from_request(Tenancy::Multi, PATH, &own.headers).unwrap().tenant;
            assert_eq!(owner(&store, &old).await, Some(caller));
            let fresh = engine(&store, Tenancy::Multi);
            let plan = own.talk(&fresh, "thank you").await;
            assert_eq!((plan.session.as_ref(), plan.verdict), (Some(&old), Some(HistoryVerdict::Turn)));
            let findings = store.examine(None).await.unwrap();
            assert!(findings.iter().all(|finding| finding.severity == neap_store::Severity::Note), "{findings:?}");
        }
    });
}

/// docs/decisions/0005-proxy.md: on one's own machine a renewed token, or a second key, is the same caller.
#[test]
fn one_caller_may_show_any_key() {
    run(async {
        for headers in
            [&[("authorization", "Bearer t1"), ("x-neap-session", "desk")][..], &[("authorization", "Bearer t1")]]
        {
            let store = Shared::default();
            let one = engine(&store, Tenancy::Single);
            let mut client = Client::new(headers);
            let first = client.talk_long(&one, CANARY).await.session;
            for (name, value) in [("authorization", "Bearer t2"), ("x-api-key", "sk-second"), ("cookie", "sid=1")]
            {
                client = client.showing(name, value);
                let plan = client.talk(&one, QUESTION).await;
                assert_eq!((&plan.session, plan.verdict), (&first, Some(HistoryVerdict::Turn)));
                assert!(client.sent(&plan).contains("QX-7714"));
            }
            client.headers.retain(|(name, _)| name == "x-neap-session");
            assert_eq!(client.talk(&one, "without any").await.session, first);
            assert_eq!(owner(&store, &first.unwrap()).await, Some(Tenant::local()));
        }
    });
}

/// What one's own machine recorded while keys told callers apart goes on, and then for any key.
#[test]
fn one_caller_goes_on_with_what_a_key_recorded() {
    run(async {
        for (headers, key) in [
            (&[("authorization", "Bearer t1"), ("x-neap-session", "desk")][..], Some("t1")),
            (&[("authorization", "Bearer t1")], Some("t1")),
            (&[("x-neap-session", "desk")], None),
            (&[("x-trace", "0")], None),
        ] {
            let talk = long_talk(headers).await;
            let store = of_old(&talk, key, None).await;
            let old = store.sessions().await.unwrap().pop().unwrap().session;
            let mut client = talk.clone();
            for token in ["t1", "t2", "t3"] {
                let one = engine(&store, Tenancy::Single);
                if key.is_some() {
                    client = client.showing("authorization", &format!("Bearer {token}"));
                }
                let turns = store.load(&old).await.unwrap().unwrap().turn();
                let plan = client.talk(&one, QUESTION).await;
                assert_eq!(
                    (plan.session.as_ref(), plan.verdict),
                    (Some(&old), Some(HistoryVerdict::Turn)),
                    "{headers:?} {token}"
                );
                assert!(client.sent(&plan).contains("QX-7714"));
                assert_eq!(store.load(&old).await.unwrap().unwrap().turn().0, turns.0 + 1);
            }
            // By its name alone, where it has one: the client has cleared its history.
            if headers.iter().any(|(name, _)| *name == "x-neap-session") {
                let mut cleared = Client { history: Vec::new(), headers: client.headers.clone() };
                assert_eq!(cleared.talk(&engine(&store, Tenancy::Single), "anew").await.session, Some(old));
            }
        }
    });
}

/// Of whom nothing is known, nothing is kept; and nothing of others is shown.
#[test]
fn a_stranger_is_bounded_and_leaves_no_trace() {
    run(async {
        let store = Shared::default();
        let many = engine(&store, Tenancy::Multi);
        let mut known = Client::new(&[("x-api-key", "sk-one-4f9aT7bQ2mX8"), ("x-neap-session", "desk")]);
        known.talk_long(&many, CANARY).await;
        let before = store.sessions().await.unwrap();
        let mut stranger = Client::new(&[("x-neap-session", "desk"), ("authorization", "Bearer EMPTY")]);
        for _ in 0..2 {
            let plan = stranger.talk_long(&many, "My own word is KESTREL-22.").await;
            assert_eq!(
                (plan.session.as_ref(), plan.turn, &plan.recorded),
                (None, None, &neap_engine::RecordingOutcome::NotRetained)
            );
            let plan = stranger.talk(&many, QUESTION).await;
            let sent = stranger.sent(&plan);
            assert!(!sent.contains("QX-7714") && plan.body.is_some(), "cut, and by itself alone");
        }
        let plan = stranger.talk(&many, "What is my own word?").await;
        assert!(stranger.sent(&plan).contains("KESTREL-22"), "what it brings along is recalled from it");
        assert_eq!(store.sessions().await.unwrap(), before);
        let hits = many.search("KESTREL-22", Default::default(), 50).await.unwrap();
        assert!(hits.iter().all(|hit| !hit.text.contains("KESTREL")), "{hits:?}");
    });
}

/// What a model remembers is its caller's; one caller's keys share it.
#[test]
fn memories_are_a_callers_own() {
    run(async {
        let offer = ToolOffer { tools: offered_tools(), has_memory_tool: true };
        let call = |name: &str, arguments: Value| ToolCall {
            id: "c1".to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_string(),
        };
        let remember = call("remember", json!({"kind": "fact", "text": CANARY}));
        let recall = call("recall", json!({"query": "vault code heron"}));
        let create = call("memory", json!({"command": "create", "path": "/memories/a.txt", "file_text": CANARY}));
        let view = call("memory", json!({"command": "view", "path": "/memories/a.txt"}));
        for (callers, is_shared) in [(Tenancy::Multi, false), (Tenancy::Single, true)] {
            let store = Shared::default();
            let engine = engine(&store, callers);
            let mut one = Client::new(&[("x-api-key", "sk-one-4f9aT7bQ2mX8")]);
            one.history.push(json!({"role": "user", "content": "hello"}));
            let mine = one.send_with(&engine, Some(&offer)).await;
            for call in [&remember, &create] {
                let told = engine.call_own_tool(&mine, call).await;
                assert!(!told.to_lowercase().contains("error"), "{told}");
            }
            let other = one.showing("x-api-key", "sk-two-4f9aT7bQ2mX8");
            let theirs = other.send_with(&engine, Some(&offer)).await;
            for call in [&recall, &view] {
                assert!(engine.call_own_tool(&mine, call).await.contains("QX-7714"));
                assert_eq!(
                    engine.call_own_tool(&theirs, call).await.contains("QX-7714"),
                    is_shared,
                    "{callers:?}"
                );
            }
            let agents = store.agents().await.unwrap();
            assert!(agents.iter().all(|info| info.agent.as_str().len() == "proxy-".len() + 32), "{agents:?}");
        }
    });
}

/// An item that was put in short belongs to whom it was made for; on one's own machine, to its one caller.
#[test]
fn what_was_put_in_short_is_its_callers() {
    run(async {
        for (callers, opens) in [(Tenancy::Multi, false), (Tenancy::Single, true)] {
            let store = Shared::default();
            let engine = engine(&store, callers);
            let input = [message("user", CANARY), message("assistant", "Noted."), message("user", "go on")];
            let plan = send(&engine, "/v1/responses/compact", "t1-4f9aT7bQ2mX8", &input).await;
            let answer: Value = serde_json::from_str(&plan.own_answer.unwrap().body).unwrap();
            let item =
                answer["output"].as_array().unwrap().iter().find(|item| item["type"] == "compaction").unwrap();
            let after = [item.clone(), message("user", QUESTION)];
            assert_eq!(send(&engine, "/v1/responses", "t1-4f9aT7bQ2mX8", &after).await.refusal, None);
            assert_eq!(
                send(&engine, "/v1/responses", "t2-4f9aT7bQ2mX8", &after).await.refusal.is_none(),
                opens,
                "{callers:?}"
            );
            // Of whom nothing is known, nothing is opened.
            if callers == Tenancy::Multi {
                assert!(send(&engine, "/v1/responses", "EMPTY", &after).await.refusal.is_some());
            }
        }
    });
}
