//! Clients that ask for their history in short: they get what only we can open, and it is opened when they send it back.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use std::sync::Arc;

use neap_core::base::tokens::Tokens;
use neap_core::client::{HistoryVerdict, ProviderReply};
use neap_core::recall::Filter;
use neap_engine::{Engine, IncomingRequest, RequestPlan};
use neap_model::bpe::counter_for;
use neap_model::caller::Tenancy;
use neap_model::envelope::Keyring;
use neap_store::{MemStore, Store};
use serde_json::{Value, json};

const BUDGET: Tokens = Tokens(6_000);
const FACT: &str = "The staging database is called heron-7 and listens on port 6543.";

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn engine(store: &Arc<MemStore>) -> Engine {
    let keyring = Keyring::from_secret(b"a secret that both processes have").unwrap();
    Engine::builder(store.clone() as Arc<dyn Store>).keyring(Arc::new(keyring)).build()
}

/// A key that nobody guesses.
const KEY: &str = "k-4f9aT7bQ2mX8";

pub(crate) fn message(role: &str, text: &str) -> Value {
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
}

pub(crate) async fn send(engine: &Engine, path: &str, key: &str, input: &[Value]) -> RequestPlan {
    let body = json!({"model": "m", "stream": true, "input": input, "prompt_cache_key": "talk"}).to_string();
    let headers = [("authorization".to_owned(), format!("Bearer {key}"))];
    let incoming = IncomingRequest::new(path, &headers, &body, BUDGET);
    engine.ingest(&incoming).await
}

/// A history of many turns, each heard and answered.
async fn talk(engine: &Engine, turns: usize) -> Vec<Value> {
    let mut history = vec![message("developer", "You are careful.")];
    for turn in 1..=turns {
        let said = match turn {
            3 => FACT.to_owned(),
            _ => format!(
                "Step {turn}: I changed src/part_{turn}.rs as the notes of last week say, and all is well."
            ),
        };
        history.push(message("user", &said));
        let plan = send(engine, "/v1/responses", KEY, &history).await;
        assert_eq!(plan.fault, None);
        let text = format!("Noted {turn}.");
        history.push(message("assistant", &text));
        engine.complete_request(&plan, &ProviderReply { text, ..ProviderReply::default() }).await.unwrap();
    }
    history
}

/// The item that came back, from a stream of events.
fn compaction(plan: &RequestPlan) -> Value {
    let answer = plan.own_answer.as_ref().unwrap_or_else(|| panic!("no answer: {plan:?}"));
    assert!(answer.is_stream);
    let events: Vec<Value> = answer
        .body
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    let done: Vec<&Value> = events.iter().filter(|event| event["type"] == "response.output_item.done").collect();
    assert_eq!(done.len(), 1, "exactly one item");
    let last = events.last().unwrap();
    assert_eq!(last["type"], "response.completed");
    assert_eq!(last["response"]["output"], json!([done[0]["item"]]));
    assert!(last["response"]["usage"]["total_tokens"].as_u64() > Some(0));
    done[0]["item"].clone()
}

/// What a client keeps: what was said by people, and the item.
fn kept(history: &[Value], item: &Value) -> Vec<Value> {
    let mut kept: Vec<Value> =
        history.iter().filter(|item| item["role"] == "developer" || item["role"] == "user").cloned().collect();
    // Of old messages a client keeps some.
    kept.drain(2..kept.len() - 2);
    kept.push(item.clone());
    kept
}

fn input(plan: &RequestPlan) -> Vec<Value> {
    let body: Value = serde_json::from_str(plan.body.as_ref().unwrap()).unwrap();
    assert!(counter_for("o200k_base").count(&body.to_string()) <= BUDGET);
    body["input"].as_array().unwrap().clone()
}

#[test]
fn a_history_is_put_in_short_and_opened_again() {
    run(async {
        let store = Arc::new(MemStore::new());
        let first = engine(&store);
        let mut history = talk(&first, 30).await;
        let asked = [history.clone(), vec![json!({"type": "compaction_trigger"})]].concat();
        let plan = send(&first, "/v1/responses", KEY, &asked).await;
        assert_eq!((plan.fault.as_deref(), plan.body.as_deref()), (None, None));
        let item = compaction(&plan);
        // Another process has the same key.
        let second = engine(&store);
        history = kept(&history, &item);
        history.push(message("user", "What is the staging database called, and which port?"));
        let plan = send(&second, "/v1/responses", KEY, &history).await;
        assert_eq!((plan.fault.as_deref(), plan.verdict), (None, Some(HistoryVerdict::ClientCompaction)));
        let sent = input(&plan);
        let text = json!(sent).to_string();
        assert!(!text.contains("neap1:") && !text.contains("compaction"), "{text}");
        assert!(text.contains("heron-7") && text.contains("6543"), "{text}");
        assert!(text.contains("Noted 30."), "what was said last is there word for word: {text}");
        second
            .complete_request(&plan, &ProviderReply { text: "heron-7".to_owned(), ..ProviderReply::default() })
            .await
            .unwrap();
        // From here on it only grows.
        history.extend([message("assistant", "heron-7"), message("user", "And who said so?")]);
        let plan = send(&second, "/v1/responses", KEY, &history).await;
        assert_eq!(plan.verdict, Some(HistoryVerdict::Turn));
        let grown = input(&plan);
        assert!(grown.starts_with(&sent), "{grown:?}\n{sent:?}");
        // What the client kept was not said twice.
        let hits = second.search("part_30", Filter::default(), 20).await.unwrap();
        let said = hits.iter().filter(|hit| json!(hit).to_string().contains("Step 30:")).count();
        assert_eq!(said, 1, "{hits:?}");
        assert_eq!(second.sessions().await.unwrap().len(), 1);
    });
}

/// On one's own machine a token may be renewed at any moment: in the middle of a session, when its history is put in short, and when
/// the client compacts by itself. It stays one session, and what was sent is sent again.
#[test]
fn a_renewed_token_loses_neither_the_session_nor_a_compaction() {
    let single = |store: &Arc<MemStore>| {
        let keyring = Keyring::from_secret(b"a secret that both processes have").unwrap();
        let store = store.clone() as Arc<dyn Store>;
        Engine::builder(store).callers(Tenancy::Single).keyring(Arc::new(keyring)).build()
    };
    let went = |plan: &RequestPlan| (plan.fault.clone(), plan.refusal.clone(), plan.session.clone(), plan.verdict);
    run(async {
        let store = Arc::new(MemStore::new());
        let first = single(&store);
        let mut history = talk(&first, 120).await;
        history.push(message("user", "Go on."));
        let plan = send(&first, "/v1/responses", KEY, &history).await;
        let (session, before) = (plan.session.clone(), input(&plan));
        assert!(plan.epoch > 0, "it was cut");
        let like = |verdict| (None, None, session.clone(), Some(verdict));
        // In the middle: the cut holds.
        history.extend([message("assistant", "Yes."), message("user", "And then?")]);
        let plan = send(&first, "/v1/responses", "renewed-1-7bQ2mX8", &history).await;
        assert_eq!(went(&plan), like(HistoryVerdict::Turn));
        assert!(input(&plan).starts_with(&before), "what was sent is sent again");
        // In short under one token, opened under the next, in another process.
        let asked = [history.clone(), vec![json!({"type": "compaction_trigger"})]].concat();
        let item = compaction(&send(&first, "/v1/responses", "renewed-2-7bQ2mX8", &asked).await);
        let second = single(&store);
        history = kept(&history, &item);
        history.push(message("user", "What is the staging database called, and which port?"));
        let plan = send(&second, "/v1/responses", "renewed-3-7bQ2mX8", &history).await;
        assert_eq!(went(&plan), like(HistoryVerdict::ClientCompaction));
        let opened = input(&plan);
        assert!(json!(opened).to_string().contains("heron-7"), "what is behind it is recalled");
        history.extend([message("assistant", "heron-7"), message("user", "And who said so?")]);
        let plan = send(&second, "/v1/responses", "renewed-4-7bQ2mX8", &history).await;
        assert_eq!(went(&plan), like(HistoryVerdict::Turn));
        assert!(input(&plan).starts_with(&opened), "it only grows");
        // The client's own summary, without our item.
        let own = [message("user", "So far: the parts were changed."), message("user", "Now the last one.")];
        let plan = send(&second, "/v1/responses", "renewed-5-7bQ2mX8", &own).await;
        assert_eq!(went(&plan), like(HistoryVerdict::ClientCompaction));
        assert_eq!(second.sessions().await.unwrap().len(), 1);
    });
}

#[test]
fn what_was_not_given_is_refused() {
    run(async {
        let store = Arc::new(MemStore::new());
        let engine = engine(&store);
        let history = talk(&engine, 4).await;
        let asked = [history.clone(), vec![json!({"type": "compaction_trigger"})]].concat();
        let item = compaction(&send(&engine, "/v1/responses", KEY, &asked).await);
        let content = item["encrypted_content"].as_str().unwrap();
        let table = [
            ("as it is", KEY, content.to_owned(), true),
            ("of somebody else", "other-4f9aT7bQ2mX8", content.to_owned(), false),
            ("other words", KEY, content.replace("Noted", "Hated"), false),
            ("no signature", KEY, "neap1:{}".to_owned(), false),
            ("the provider's own", KEY, "gAAAAABo".to_owned(), true),
        ];
        for (name, key, content, is_taken) in table {
            let given = json!({"type": "compaction", "encrypted_content": content});
            let asked = [history[0].clone(), given, message("user", "Go on.")];
            let plan = send(&engine, "/v1/responses", key, &asked).await;
            assert_eq!(plan.refusal.is_none(), is_taken, "{name}: {:?}", plan.refusal);
            assert!(plan.refusal.is_none() || plan.body.is_none(), "{name}");
        }
    });
}

/// What a provider put in short, only it can open: it is asked for the next one as well, or that part would be lost.
#[test]
fn a_history_that_is_partly_closed_to_us_is_left_to_its_provider() {
    run(async {
        let engine = engine(&Arc::new(MemStore::new()));
        let closed = json!({"type": "compaction", "encrypted_content": "gAAAAABo"});
        let trigger = json!({"type": "compaction_trigger"});
        let asked = [message("developer", "Be brief."), closed, message("user", "Go on."), trigger];
        let plan = send(&engine, "/v1/responses", KEY, &asked).await;
        assert_eq!((plan.fault.as_deref(), plan.refusal.as_deref()), (None, None));
        assert!(plan.own_answer.is_none() && plan.body.is_none(), "{plan:?}");
    });
}

/// A client that asks without a stream is given its own messages, as they are, and the item last.
#[test]
fn the_endpoint_gives_a_history_to_go_on_with() {
    run(async {
        let engine = engine(&Arc::new(MemStore::new()));
        let history = talk(&engine, 6).await;
        let plan = send(&engine, "/v1/responses/compact", KEY, &history).await;
        let answer = plan.own_answer.as_ref().unwrap();
        assert!(!answer.is_stream);
        let body: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(body["object"], "response.compaction");
        let output = body["output"].as_array().unwrap();
        assert_eq!(output.last().unwrap()["type"], "compaction");
        let said: Vec<&Value> = history.iter().filter(|item| item["role"] == "user").collect();
        assert_eq!(output[..output.len() - 1].iter().collect::<Vec<_>>(), said);
        let mut next = output.clone();
        next.push(message("user", "Go on."));
        let plan = send(&engine, "/v1/responses", KEY, &next).await;
        assert_eq!((plan.refusal.as_deref(), plan.verdict), (None, Some(HistoryVerdict::ClientCompaction)));
        assert!(plan.body.unwrap().contains("Noted 6."));
    });
}
