//! Tools of ours in clients' conversations: from the first request on or never, within the budget, each caller's apart.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use std::sync::Arc;

use neap_core::base::message::ToolCall;
use neap_core::base::tokens::Tokens;
use neap_core::client::{ProviderReply, offered_tools};
use neap_engine::{ActualTurn, Engine, IncomingRequest, RequestPlan};
use neap_model::bpe::counter_for;
use neap_model::wire::request::ToolOffer;
use neap_store::{MemStore, Store};
use serde_json::{Value, json};

const BUDGET: Tokens = Tokens(6_000);

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn engine(store: &Arc<MemStore>) -> Engine {
    Engine::builder(store.clone() as Arc<dyn Store>).build()
}

async fn send(engine: &Engine, key: &str, session: &str, history: &[Value], offers: bool) -> RequestPlan {
    let body = json!({"model": "m", "max_tokens": 9, "messages": history}).to_string();
    let headers = [
        ("x-api-key".to_owned(), format!("{key}-4f9aT7bQ2mX8")),
        ("x-neap-session".to_owned(), session.to_owned()),
    ];
    let offer = ToolOffer { tools: offered_tools(), has_memory_tool: true };
    let incoming = IncomingRequest {
        offer: offers.then_some(&offer),
        ..IncomingRequest::new("/v1/messages", &headers, &body, BUDGET)
    };
    let plan = engine.ingest(&incoming).await;
    assert_eq!(plan.fault, None);
    plan
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": [{"type": "text", "text": text}]})
}

/// PROTOCOLS: "ours from the first request of a session, or never", after a restart, too.
#[test]
fn tools_come_with_the_first_request_or_never() {
    run(async {
        let store = Arc::new(MemStore::new());
        let mut history = vec![user("Hello there, how are you today?")];
        let one = engine(&store);
        assert_eq!(send(&one, "k", "without", &history, false).await.own_tools.len(), 0);
        assert_eq!(send(&one, "k", "with", &history, true).await.own_tools.len(), 10);
        history.extend([assistant("Fine."), user("And now?")]);
        for engine in [one, engine(&store)] {
            assert_eq!(send(&engine, "k", "without", &history, true).await.own_tools.len(), 0);
            assert_eq!(send(&engine, "k", "with", &history, true).await.own_tools.len(), 10);
            assert_eq!(send(&engine, "k", "with", &history, false).await.own_tools.len(), 0, "nobody offers them");
        }
    });
}

/// However long a conversation with calls of ours runs: within the budget, pairs whole, and between two cuts it only grows.
#[test]
fn what_is_put_back_is_bounded_with_the_rest() {
    run(async {
        let engine = engine(&Arc::new(MemStore::new()));
        let mut history = Vec::new();
        let (mut before, mut epoch, mut grown, mut cuts) = (Vec::new(), 0, 0, 0);
        for turn in 0..160 {
            history.push(user(&format!(
                "Step {turn}: about the parser and its tables, please go on with part {turn}."
            )));
            let plan = send(&engine, "k", "long", &history, true).await;
            let body: Value = serde_json::from_str(plan.body.as_ref().unwrap()).unwrap();
            assert!(counter_for("o200k_base").count(&body.to_string()) <= BUDGET, "turn {turn}");
            let items = body["messages"].as_array().unwrap().clone();
            let (uses, results) = (count(&items, "tool_use"), count(&items, "tool_result"));
            assert_eq!(uses, results, "turn {turn}");
            if plan.epoch == epoch && turn > 0 {
                assert!(items.starts_with(&before), "turn {turn} rewrites what was sent");
                grown += 1;
            }
            cuts += u64::from(plan.epoch != epoch);
            (before, epoch) = (items, plan.epoch);
            let id = format!("ours_{turn}");
            let call = json!({"role": "assistant", "content": [{"type": "text", "text": "I look."},
                {"type": "tool_use", "id": id, "name": "effort_status", "input": {}}]});
            let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id,
                "content": "three efforts are open, none is concluded, all of them small"}]});
            let last = json!({"role": "assistant", "content": [{"type": "text", "text": "Noted."}]});
            before.extend([call.clone(), result.clone(), last.clone()]);
            let items = [call, result, last].iter().map(Value::to_string).collect();
            let text = "I look.Noted.".to_owned();
            let said = ActualTurn { text: text.clone(), items, ..ActualTurn::default() };
            engine.store_hidden_turn(&plan, said).await.unwrap();
            engine.complete_request(&plan, &ProviderReply { text, ..ProviderReply::default() }).await.unwrap();
            history.push(json!({"role": "assistant", "content": [{"type": "text", "text": "I look."}, {"type": "text", "text": "Noted."}]}));
        }
        assert!(cuts > 1 && grown > 30, "{cuts} cuts, {grown} grew");
    });
}

fn count(items: &[Value], kind: &str) -> usize {
    items
        .iter()
        .filter_map(|item| item["content"].as_array())
        .flatten()
        .filter(|part| part["type"] == kind)
        .count()
}

/// I11: what one caller's model remembers, or keeps in files, is no other caller's.
#[test]
fn callers_share_nothing() {
    run(async {
        let engine = engine(&Arc::new(MemStore::new()));
        let history = [user("Remember the port of the gateway, please.")];
        let call = |name: &str, arguments: Value| ToolCall {
            id: "c".to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_string(),
        };
        let told = json!({"kind": "fact", "text": "The gateway listens on port 8080.", "subject": "gateway"});
        let file = json!({"command": "create", "path": "/memories/ports.md", "file_text": "8080"});
        let one = send(&engine, "one", "a", &history, true).await;
        let two = send(&engine, "two", "a", &history, true).await;
        assert_ne!(one.session, two.session);
        assert!(!engine.call_own_tool(&one, &call("remember", told)).await.contains("error"));
        assert!(engine.call_own_tool(&one, &call("memory", file)).await.starts_with("File created"));
        let (recall, view) = (
            call("recall", json!({"query": "gateway port"})),
            call("memory", json!({"command": "view", "path": "/memories/ports.md"})),
        );
        let found = [engine.call_own_tool(&one, &recall).await, engine.call_own_tool(&one, &view).await];
        assert!(found.iter().all(|text| text.contains("8080")), "{found:?}");
        let found = [engine.call_own_tool(&two, &recall).await, engine.call_own_tool(&two, &view).await];
        assert!(!found.iter().any(|text| text.contains("8080")), "{found:?}");
        let odd = engine.call_own_tool(&one, &call("memory", json!({"command": "format"}))).await;
        assert!(odd.starts_with("Error: the command cannot be read"), "{odd}");
    });
}
