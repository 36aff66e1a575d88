//! Clients' histories through an engine: bounded, recorded, and the same after a retry, a restart and a fault.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use std::collections::BTreeMap;
use std::sync::Arc;

use neap_core::base::handle::Handle;
use neap_core::base::ids::{Seq, SessionId, Stamp};
use neap_core::base::message::ToolCall;
use neap_core::base::tokens::Tokens;
use neap_core::client::{HistoryVerdict, ProviderReply};
use neap_core::recall::Filter;
use neap_core::session::indexed_text;
use neap_engine::{Engine, IncomingRequest, RecordingOutcome, RequestPlan};
use neap_model::bpe::counter_for;
use neap_sqlite::SqliteStore;
use neap_store::{EventStore, MemStore, Store, StoredEvent};
use serde_json::{Value, json};

pub(crate) const BUDGET: Tokens = Tokens(4_000);

pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// A client that keeps its history, in one of three formats.
#[derive(Clone)]
pub(crate) struct Client {
    path: &'static str,
    pub(crate) headers: Vec<(String, String)>,
    history: Vec<Value>,
    calls: usize,
}

impl Client {
    pub(crate) fn new(path: &'static str) -> Self {
        let headers = vec![
            ("x-neap-session".to_owned(), "desk".to_owned()),
            ("x-api-key".to_owned(), "k-4f9aT7bQ2mX8".to_owned()),
        ];
        let system = json!({"role": "system", "content": "You are a careful helper."});
        let history = if path.ends_with("messages") { Vec::new() } else { vec![system] };
        Self { path, headers, history, calls: 0 }
    }

    pub(crate) fn body(&self) -> String {
        let list = if self.path.ends_with("responses") { "input" } else { "messages" };
        let mut body =
            json!({"model": "m", "stream": true, "x_unknown": {"kept": [1, 2.50]}, "tools": [{"name": "run"}]});
        body[list] = Value::Array(self.history.clone());
        if self.path.ends_with("messages") {
            body["system"] =
                json!([{"type": "text", "text": "You are careful.", "cache_control": {"type": "ephemeral"}}]);
        }
        body.to_string()
    }

    pub(crate) fn incoming<'a>(&'a self, body: &'a str) -> IncomingRequest<'a> {
        IncomingRequest::new(self.path, &self.headers, body, BUDGET)
    }

    /// The plan for a request that goes on as it came.
    async fn send_as_it_is(&self, engine: &Engine) -> RequestPlan {
        let body = self.body();
        let plan = engine.ingest(&self.incoming(&body)).await;
        assert_eq!((&plan.fault, &plan.body, &plan.recorded), (&None, &None, &RecordingOutcome::Durable));
        plan
    }

    async fn send(&self, engine: &Engine, shadow: bool) -> (RequestPlan, Value) {
        let body = self.body();
        let plan = engine.ingest(&IncomingRequest { shadow_mode: shadow, ..self.incoming(&body) }).await;
        assert_eq!(plan.fault, None);
        let sent = plan.body.clone().unwrap_or(body);
        (plan, serde_json::from_str(&sent).unwrap())
    }

    pub(crate) fn says(&mut self, text: &str) {
        self.history.push(json!({"role": "user", "content": text, "x_more": true}));
    }

    /// A call, what it answers, and the item as the model said it.
    pub(crate) fn works(&mut self, output: &str) -> ProviderReply {
        self.calls += 1;
        let (id, arguments) = (format!("call_{}", self.calls), json!({"command": format!("step {}", self.calls)}));
        match self.path {
            "/v1/messages" => {
                let thought = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
                let call = json!({"type": "tool_use", "id": id, "name": "run", "input": arguments});
                self.history.push(json!({"role": "assistant", "content": [thought, call]}));
                let answer = json!({"type": "tool_result", "tool_use_id": id, "content": output});
                self.history.push(json!({"role": "user", "content": [answer]}));
            }
            "/v1/responses" => {
                self.history
                    .push(json!({"type": "reasoning", "id": format!("rs_{id}"), "encrypted_content": "e"}));
                let call = json!({"type": "function_call", "call_id": id, "name": "run", "arguments": arguments.to_string()});
                self.history.push(call);
                self.history.push(json!({"type": "function_call_output", "call_id": id, "output": output}));
            }
            _ => {
                let function = json!({"name": "run", "arguments": arguments.to_string()});
                let call = json!({"id": id, "type": "function", "function": function});
                self.history.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
                self.history.push(json!({"role": "tool", "tool_call_id": id, "content": output}));
            }
        }
        ProviderReply {
            calls: vec![ToolCall { id, name: "run".to_owned(), arguments: arguments.to_string() }],
            ..ProviderReply::default()
        }
    }

    pub(crate) fn hears(&mut self, text: &str) -> ProviderReply {
        let message = match self.path {
            "/v1/responses" => {
                json!({"type": "message", "id": "m1", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
            }
            "/v1/messages" => json!({"role": "assistant", "content": [{"type": "text", "text": text}]}),
            _ => json!({"role": "assistant", "content": text}),
        };
        self.history.push(message);
        ProviderReply { text: text.to_owned(), ..ProviderReply::default() }
    }

    pub(crate) fn items<'a>(&self, body: &'a Value) -> &'a [Value] {
        let list = if self.path.ends_with("responses") { "input" } else { "messages" };
        body[list].as_array().unwrap()
    }
}

/// What a request costs, counted by itself: the whole body as it is sent.
pub(crate) fn recounted(body: &Value) -> Tokens {
    counter_for("o200k_base").count(&body.to_string())
}

/// Every call has its answer and every answer its call.
pub(crate) fn check_pairs(items: &[Value]) {
    let mut open: BTreeMap<String, i64> = BTreeMap::new();
    let mut see = |value: &Value, call: &str, answer: &str| {
        let kind = value["type"].as_str().unwrap_or_default();
        let count = |key: &str, by: i64, open: &mut BTreeMap<String, i64>| {
            *open.entry(value[key].as_str().unwrap().to_owned()).or_default() += by;
        };
        if kind == "tool_use" || kind == "function" {
            count(call, 1, &mut open);
        } else if kind == "function_call" {
            count("call_id", 1, &mut open);
        } else if kind == "tool_result" || kind == "function_call_output" {
            count(answer, -1, &mut open);
        } else if value["role"] == "tool" {
            count("tool_call_id", -1, &mut open);
        }
    };
    for item in items {
        see(item, "id", if item["type"] == "function_call_output" { "call_id" } else { "tool_use_id" });
        for list in ["content", "tool_calls"] {
            for part in item[list].as_array().into_iter().flatten() {
                see(part, "id", "tool_use_id");
            }
        }
    }
    assert!(open.values().all(|count| *count == 0), "I7: {open:?}");
}

/// Two hundred turns with calls, far over the budget.
fn two_hundred_turns(path: &'static str, store: Arc<dyn Store>) {
    run(async {
        let engine = Engine::builder(store.clone()).build();
        let mut client = Client::new(path);
        let (mut last, mut epoch, mut largest): (Vec<Value>, u64, Tokens) = (Vec::new(), 0, Tokens::ZERO);
        for turn in 1..=200 {
            client.says(&match turn {
                3 => "Remember: the launch code of the heron project is QX-7714.".to_owned(),
                200 => "What was the launch code of the heron project?".to_owned(),
                n => format!(
                    "Please look at module {n} and tell me about its parser, its tests and what is left to do."
                ),
            });
            for step in 0..2 {
                let (plan, body) = client.send(&engine, false).await;
                assert_eq!(
                    plan.verdict,
                    Some(if turn == 1 && step == 0 { HistoryVerdict::NewSession } else { HistoryVerdict::Turn })
                );
                largest = largest.max(recounted(&body));
                assert!(recounted(&body) <= BUDGET, "I1: turn {turn}: {} of {BUDGET}", recounted(&body));
                assert!(plan.tokens_sent >= recounted(&body), "{} {}", plan.tokens_sent, recounted(&body));
                assert_eq!(body["x_unknown"], json!({"kept": [1, 2.50]}));
                let items = client.items(&body);
                check_pairs(items);
                assert!(items.iter().filter(|item| item["x_more"] == true).count() > 0, "unknown members stay");
                if plan.epoch == epoch {
                    assert_eq!(items[..last.len()], last, "turn {turn}: what was sent stays as it was");
                }
                if plan.epoch == 0 {
                    assert_eq!((plan.body.as_deref(), plan.changes.total()), (None, 0));
                }
                (last, epoch) = (items.to_vec(), plan.epoch);
                if turn == 200 && step == 0 {
                    assert!(body.to_string().contains("QX-7714"), "{body}");
                }
                let reply = if step == 0 {
                    client.works(&format!(
                        "module {turn}: 3 files, 41 functions, parser ok, 2 tests ignored. {}",
                        "detail ".repeat(20)
                    ))
                } else {
                    client.hears(&format!("Module {turn} has 41 functions; 2 of its tests are ignored."))
                };
                engine.complete_request(&plan, &reply).await.unwrap();
            }
        }
        assert!((5..60).contains(&epoch), "{epoch} epochs");
        let sessions = engine.sessions().await.unwrap();
        assert_eq!(sessions.len(), 1);
        // Everything that was heard is stored, once, and found.
        let id = &sessions[0].session;
        let state = store.load(id).await.unwrap().unwrap();
        assert_eq!(state.violations(), Vec::<String>::new());
        let hits = engine.search("heron launch code", Filter::for_stream(id), 5).await.unwrap();
        assert!(hits.iter().any(|hit| hit.text.contains("QX-7714")));
        let said = engine.original(id, &Handle::Turn(state.turn())).await.unwrap();
        assert_eq!(said.iter().filter(|message| message.content.contains("launch code")).count(), 1);
        let findings = store.examine(None).await.unwrap();
        assert!(findings.iter().all(|finding| finding.severity == neap_store::Severity::Note), "{findings:?}");
    });
}

#[test]
fn two_hundred_turns_of_messages_stay_bounded() {
    two_hundred_turns("/v1/messages", Arc::new(MemStore::new()));
}

#[test]
fn two_hundred_turns_of_chat_stay_bounded() {
    two_hundred_turns("/v1/chat/completions", Arc::new(MemStore::new()));
}

#[test]
fn two_hundred_turns_of_responses_stay_bounded_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    two_hundred_turns("/v1/responses", Arc::new(SqliteStore::open(&folder.path().join("neap.db")).unwrap()));
}

/// The same request again gives the same body, and is recorded once.
#[test]
fn a_retry_changes_nothing() {
    run(async {
        let store = Arc::new(MemStore::new());
        let engine = Engine::builder(store.clone()).build();
        let mut client = Client::new("/v1/messages");
        for turn in 0..60 {
            client.says(&format!("question {turn} {}", "and more ".repeat(20)));
            let (plan, first) = client.send(&engine, false).await;
            let before = store.last_seq(plan.session.as_ref().unwrap()).await.unwrap();
            let (again, second) = client.send(&engine, false).await;
            assert_eq!((again.verdict, &first), (Some(HistoryVerdict::Retry), &second));
            assert_eq!(store.last_seq(plan.session.as_ref().unwrap()).await.unwrap(), before);
            let reply = client.hears("an answer");
            engine.complete_request(&plan, &reply).await.unwrap();
            let before = store.last_seq(plan.session.as_ref().unwrap()).await.unwrap();
            engine.complete_request(&plan, &reply).await.unwrap();
            assert_eq!(store.last_seq(plan.session.as_ref().unwrap()).await.unwrap(), before);
        }
    });
}

/// A process that ends between a request and its answer loses nothing: the client brings the answer along.
#[test]
fn what_was_never_told_comes_with_the_next_request() {
    run(async {
        let store = Arc::new(MemStore::new());
        let mut client = Client::new("/v1/chat/completions");
        client.says("where are the keys?");
        let (plan, _) = client.send(&Engine::builder(store.clone()).build(), false).await;
        client.hears("The keys are under the fern.");
        client.says("thanks");
        // Another process.
        let engine = Engine::builder(store.clone()).build();
        let (next, _) = client.send(&engine, false).await;
        assert_eq!((next.session.as_ref(), next.verdict), (plan.session.as_ref(), Some(HistoryVerdict::Turn)));
        let hits = engine.search("fern keys", Filter::default(), 5).await.unwrap();
        assert!(hits.iter().any(|hit| hit.text.contains("under the fern")));
    });
}

/// After a restart a history that does not fit is cut anew, and stays bounded.
#[test]
fn a_restart_begins_an_epoch() {
    run(async {
        let store = Arc::new(MemStore::new());
        let mut client = Client::new("/v1/messages");
        for turn in 0..80 {
            let engine = Engine::builder(store.clone()).build();
            client.says(&format!("question {turn} {}", "and more ".repeat(20)));
            let (plan, body) = client.send(&engine, false).await;
            assert!(recounted(&body) <= BUDGET, "I1");
            assert_eq!(plan.overflow, None);
            let reply = client.hears("an answer");
            engine.complete_request(&plan, &reply).await.unwrap();
        }
    });
}

#[test]
fn a_shadow_measures_and_changes_nothing() {
    run(async {
        let engine = Engine::builder(Arc::new(MemStore::new())).build();
        let mut client = Client::new("/v1/messages");
        let mut planned = false;
        for turn in 0..60 {
            client.says(&format!("question {turn} {}", "and more ".repeat(20)));
            let (plan, body) = client.send(&engine, true).await;
            assert_eq!((plan.body.as_deref(), plan.tokens_sent), (None, plan.tokens_in));
            assert_eq!(body, serde_json::from_str::<Value>(&client.body()).unwrap());
            planned |= plan.tokens_planned < plan.tokens_in;
            assert!(plan.tokens_planned <= BUDGET);
            client.hears("an answer");
        }
        assert!(planned);
    });
}

/// What cannot be read, or is not about a history, goes on as it came.
#[test]
fn what_is_not_understood_goes_on_as_it_came() {
    run(async {
        let engine = Engine::builder(Arc::new(MemStore::new())).build();
        for (path, body) in [
            ("/v1/models", ""),
            ("/v1/embeddings", "{}"),
            ("/v1/messages", "not json"),
            ("/v1/messages", "[1]"),
            ("/v1/messages", r#"{"messages": 7}"#),
            ("/v1/messages", r#"{"messages": [1, "two", null, [], {"role": 5, "content": {"a": 1}}]}"#),
            ("/v1/chat/completions", r#"{"messages": [{"role": "user", "content": [{"type": 3}]}]}"#),
            ("/v1/responses", r#"{"input": {"odd": true}}"#),
        ] {
            let incoming = IncomingRequest::new(path, &[], body, BUDGET);
            let plan = engine.ingest(&incoming).await;
            assert_eq!(
                (plan.body, plan.changes.total(), plan.overflow.is_none()),
                (None, 0, true),
                "{path} {body}"
            );
        }
    });
}

/// Programs put the time of day into their instructions: that is no other history.
#[test]
fn instructions_that_change_are_no_other_history() {
    run(async {
        let store = Arc::new(MemStore::new());
        let engine = Engine::builder(store.clone()).build();
        let mut client = Client::new("/v1/chat/completions");
        let mut last = 0;
        for turn in 0..30 {
            client.history[0] = json!({"role": "system", "content": format!("It is {turn} o'clock.")});
            client.says(&format!("question {turn}"));
            let (plan, _) = client.send(&engine, false).await;
            assert_eq!(
                plan.verdict,
                Some(if turn == 0 { HistoryVerdict::NewSession } else { HistoryVerdict::Turn })
            );
            client.hears("an answer");
            let seq = store.last_seq(plan.session.as_ref().unwrap()).await.unwrap().0;
            assert!(seq - last <= 6, "turn {turn}: {} events", seq - last);
            last = seq;
        }
    });
}

/// A client's model does not call our tools: what a person says begins work and ends it.
#[test]
fn work_is_grouped_and_concluded_by_rule() {
    grouped_and_concluded(false);
}

/// The same where another process writes to the session meanwhile.
#[test]
fn work_is_grouped_though_another_writes_meanwhile() {
    grouped_and_concluded(true);
}

fn grouped_and_concluded(has_other: bool) {
    run(async {
        let store = Arc::new(MemStore::new());
        let engine = Engine::builder(store.clone()).build();
        let mut client = Client::new("/v1/messages");
        let mut say = async |text: &str, reply: &str| {
            client.says(text);
            let body = client.body();
            let plan = engine.ingest(&client.incoming(&body)).await;
            let body: Value = serde_json::from_str(&plan.body.clone().unwrap_or(body)).unwrap();
            let reply = client.hears(reply);
            engine.complete_request(&plan, &reply).await.unwrap();
            (plan.session.unwrap(), body)
        };
        say("The total in cart.rs is wrong when a coupon is applied, please fix it", "It was applied twice.")
            .await;
        say("Does the coupon loop handle an empty list?", "Yes, it returns 0.").await;
        let (id, _) = say("Great, that fixed it", "Good to hear.").await;
        let state = store.load(&id).await.unwrap().unwrap();
        let cart = state.efforts().next().unwrap().clone();
        assert!(cart.is_concluded() && cart.id.as_str().contains("coupon"), "{cart:?}");
        assert_eq!(state.active_effort(), None);
        if has_other {
            let mut other = Engine::builder(store.clone()).build().attach(&id).await.unwrap();
            other.call_tool("open_effort", r#"{"name": "aside"}"#).await.unwrap();
            other.call_tool("close_effort", "{}").await.unwrap();
        }
        say("Help me plan a trip to Lisbon with two small children in April", "Gladly.").await;
        for day in 0..90 {
            say(&format!("and what about Lisbon on day {day}? {}", "more of the trip ".repeat(10)), "Walk a lot.")
                .await;
        }
        let (_, body) = say("and the trams of Lisbon?", "Line 28.").await;
        let state = store.load(&id).await.unwrap().unwrap();
        let names: Vec<&str> = state.efforts().map(|effort| effort.id.as_str()).collect();
        assert!(names.iter().any(|name| name.contains("lisbon")), "{names:?}");
        assert!(state.log_size(&neap_core::base::message::Scope::Effort(cart.id.clone())).exchanges >= 2);
        // What was concluded long ago is in the record, by its summary.
        assert!(body.to_string().contains(&format!("{}, concluded:", cart.id)), "{body}");
        let violations = state.violations();
        assert_eq!(violations, Vec::<String>::new());
    });
}

/// What people and models said in a session, as often as it is recorded.
async fn said(store: &dyn Store, plan: &RequestPlan) -> Vec<String> {
    said_in(store, plan.session.as_ref().unwrap()).await
}

pub(crate) async fn said_in(store: &dyn Store, session: &SessionId) -> Vec<String> {
    let events = store.events(session, Seq(1), usize::MAX).await.unwrap();
    let text = |stored: &StoredEvent| match stored {
        StoredEvent::Whole(recorded) => indexed_text(recorded.seq, recorded.at, &recorded.event),
        StoredEvent::Damaged { .. } => None,
    };
    events
        .iter()
        .filter_map(text)
        .filter(|text| text.kind.is_message())
        .map(|text| text.text.to_string())
        .collect()
}

/// A request that goes on as it came is not held against what other processes wrote before it is recorded: they may have heard the same.
#[test]
fn two_processes_record_one_history_once() {
    run(async {
        let store: Arc<dyn Store> = Arc::new(MemStore::new());
        let engines = [(); 2].map(|()| Engine::builder(store.clone()).build());
        let mut client = Client::new("/v1/messages");
        let mut wanted = Vec::new();
        for (nth, engine) in [0, 1, 1, 0, 0, 1, 0].into_iter().enumerate() {
            let (asked, answer) = (format!("What opens at {nth}?"), format!("Harbour number {nth}."));
            client.says(&asked);
            let plan = client.send_as_it_is(&engines[engine]).await;
            let reply = client.hears(&answer);
            wanted.extend([asked, answer]);
            // The third answer is only ever brought along.
            if nth != 2 {
                engines[engine].complete_request(&plan, &reply).await.unwrap();
                assert_eq!(said(store.as_ref(), &plan).await, wanted);
            }
        }
    });
}

/// A session that was erased meanwhile does not come back by halves: what a client still brings along is recorded whole.
#[test]
fn an_erased_history_comes_back_whole() {
    run(async {
        let store: Arc<dyn Store> = Arc::new(MemStore::new());
        let engine = Engine::builder(store.clone()).build();
        let mut client = Client::new("/v1/messages");
        let mut wanted = Vec::new();
        for nth in 0..6 {
            let (asked, answer) = (format!("What opens at {nth}?"), format!("Harbour number {nth}."));
            client.says(&asked);
            wanted.push(asked);
            let mut plan = client.send_as_it_is(&engine).await;
            if nth == 3 {
                // The client sends the same again.
                store.scrub(plan.session.as_ref().unwrap(), Stamp(0)).await.unwrap();
                plan = client.send_as_it_is(&engine).await;
            }
            assert_eq!(said(store.as_ref(), &plan).await, wanted);
            let reply = client.hears(&answer);
            wanted.push(answer);
            if nth == 4 {
                // An answer alone is not recorded: it comes with the next request.
                store.scrub(plan.session.as_ref().unwrap(), Stamp(0)).await.unwrap();
                assert!(engine.complete_request(&plan, &reply).await.is_err());
                assert_eq!(said(store.as_ref(), &plan).await, Vec::<String>::new());
                continue;
            }
            engine.complete_request(&plan, &reply).await.unwrap();
            assert_eq!(said(store.as_ref(), &plan).await, wanted);
            if nth == 1 {
                store.scrub(plan.session.as_ref().unwrap(), Stamp(0)).await.unwrap();
            }
        }
    });
}

/// Another process that hears the same once more leaves what was answered where it is.
#[test]
fn a_repeated_request_elsewhere_keeps_the_answer() {
    run(async {
        let store: Arc<dyn Store> = Arc::new(MemStore::new());
        let engines = [(); 2].map(|()| Engine::builder(store.clone()).build());
        let mut client = Client::new("/v1/messages");
        client.says("What opens at five?");
        let plan = client.send_as_it_is(&engines[1]).await;
        let reply = client.hears("The harbour.");
        engines[1].complete_request(&plan, &reply).await.unwrap();
        client.says("And at six?");
        let plan = client.send_as_it_is(&engines[0]).await;
        let asked = client.clone();
        let reply = client.hears("The market.");
        engines[0].complete_request(&plan, &reply).await.unwrap();
        asked.send_as_it_is(&engines[1]).await;
        client.says("And at seven?");
        let plan = client.send_as_it_is(&engines[1]).await;
        assert_eq!(plan.verdict, Some(HistoryVerdict::Turn));
        let wanted = ["What opens at five?", "The harbour.", "And at six?", "The market.", "And at seven?"];
        assert_eq!(said(store.as_ref(), &plan).await, wanted);
    });
}

/// Whoever sends a request is told whether it fits, also where there was no time to decide.
#[test]
fn without_time_a_request_goes_on_and_it_is_told_whether_it_fits() {
    run(async {
        let engine = Engine::builder(Arc::new(MemStore::new())).build();
        for (budget, fits) in [(Tokens(10_000), true), (Tokens(5), false)] {
            let body = r#"{"messages": [{"role": "user", "content": "hello there, how are you?"}]}"#;
            let incoming = IncomingRequest {
                timeout: Some(std::time::Duration::ZERO),
                ..IncomingRequest::new("/v1/messages", &[], body, budget)
            };
            let plan = engine.ingest(&incoming).await;
            assert_eq!((plan.body, plan.overflow.is_none(), plan.changes.total()), (None, fits, 0));
        }
    });
}
