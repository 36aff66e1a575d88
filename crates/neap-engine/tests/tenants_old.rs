//! What is older than owners, shared by two who showed one key before, and what a file says of itself (I11).
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use neap_core::base::ids::{AgentId, SessionId};
use neap_core::base::message::ToolCall;
use neap_core::base::tenant::Tenant;
use neap_core::client::{HistoryHead, HistoryLink, ProviderReply, offered_tools};
use neap_core::session::event::{ClientEvent, Event};
use neap_engine::{Engine, IncomingRequest, RequestPlan};
use neap_model::caller::Tenancy;
use neap_model::wire::request::ToolOffer;
use neap_store::EventStore;
use neap_store::Maintenance;
use serde_json::{Value, json};

use crate::tenants::{Client, Shared, chain, engine, events, of_old, owner, put, run};

const SHARED: &str = "sk-gateway-4f9aT7bQ2mX8";
/// What two callers with one key differ in, before which it did not count.
const OTHERS: [(&str, &str); 3] = [
    ("ocp-apim-subscription-key", "k-9d3eR5wK1pZ7"),
    ("x-passphrase", "k-9d3eR5wK1pZ7"),
    ("cookie", "sid=k-9d3eR5wK1pZ7"),
];

fn said(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

/// A stream of a greeting and its answer is not taken by whoever greets.
#[test]
fn a_greeting_is_no_history() {
    run(async {
        let mut own = Client::new(&[("x-api-key", SHARED)]);
        own.history = vec![said("user", "hi"), said("assistant", "Hello, the vault code is QX-7714.")];
        own.history.push(said("user", "thanks"));
        for (name, value) in OTHERS {
            for greeting in ["hi", "thanks"] {
                let store = of_old(&own, Some(SHARED), None).await;
                let old = store.sessions().await.unwrap().pop().unwrap().session;
                // As if the last question had been answered.
                let mut events = events(store.as_ref(), &old).await;
                let store = Shared::default();
                let mut whole = own.clone();
                whole.history.push(said("assistant", "Any time."));
                let end = *chain(&whole, &Tenant::from_key(Some(SHARED))).links().last().unwrap();
                if let Some(Event::Client(ClientEvent::HistoryLinked { history, .. })) =
                    events.last_mut().map(|last| &mut last.event)
                {
                    history.answered = vec![end];
                }
                put(&store, &old, events).await;
                let mut thief = own.showing(name, value);
                thief.history = match greeting {
                    "hi" => vec![said("user", "hi")],
                    _ => own.history.clone(),
                };
                let many = engine(&store, Tenancy::Multi);
                assert_ne!(thief.send(&many).await.session.as_ref(), Some(&old), "{name} {greeting}");
                assert_eq!(owner(&store, &old).await, None);
                whole.history.push(said("user", "go on"));
                assert_eq!(whole.send(&many).await.session, Some(old), "its owner goes on");
            }
        }
    });
}

async fn respond(engine: &Engine, headers: &[(String, String)], body: &Value) -> RequestPlan {
    let body = body.to_string();
    let incoming = IncomingRequest::new("/v1/responses", headers, &body, neap_core::base::tokens::Tokens(3_000));
    engine.ingest(&incoming).await
}

/// The id of an answer is no history either.
#[test]
fn an_answers_id_opens_no_old_stream() {
    run(async {
        let then = Tenant::from_key(Some(SHARED));
        for (name, value) in OTHERS {
            let store = Shared::default();
            let recorded = Shared::default();
            let own = Client::new(&[("authorization", &format!("Bearer {SHARED}"))]);
            let one = engine(&recorded, Tenancy::Single);
            let plan = respond(&one, &own.headers, &json!({"model": "m", "input": "the code is QX-7714"})).await;
            let reply = ProviderReply {
                id: Some("resp_1".to_owned()),
                text: "Noted.".to_owned(),
                ..ProviderReply::default()
            };
            one.complete_request(&plan, &reply).await.unwrap();
            let old = plan.session.unwrap();
            let mut all = events(recorded.as_ref(), &old).await;
            for recorded in &mut all {
                if let Event::Client(ClientEvent::HistoryLinked { links, tenant, .. }) = &mut recorded.event {
                    *tenant = None;
                    let here = Tenant::local().response_digest("resp_1");
                    let known = links.iter_mut().filter(|link| link.digest == here);
                    known.for_each(|link| link.digest = then.response_digest("resp_1"));
                }
            }
            put(&store, &old, all).await;
            let thief = own.showing(name, value);
            let next = json!({"model": "m", "input": "and the code?", "previous_response_id": "resp_1"});
            let plan = respond(&engine(&store, Tenancy::Multi), &thief.headers, &next).await;
            assert_ne!(plan.session.as_ref(), Some(&old), "{name}");
            assert_eq!(owner(&store, &old).await, None, "nobody is locked out of it");
            // On one's own machine it goes on.
            assert_eq!(respond(&engine(&store, Tenancy::Single), &own.headers, &next).await.session, Some(old));
        }
    });
}

/// An agent of old that two callers taught is neither's; one that a single caller taught is its own, and says so.
#[test]
fn an_old_agent_is_one_callers_or_nobodys() {
    run(async {
        let offer = ToolOffer { tools: offered_tools(), has_memory_tool: false };
        let call = |name: &str, arguments: Value| {
            let (id, name) = ("c1".to_owned(), name.to_owned());
            ToolCall { id, name, arguments: arguments.to_string() }
        };
        let recall = call("recall", json!({"query": "vault code heron"}));
        for taught_by in [1, 2] {
            let store = Shared::default();
            let many = engine(&store, Tenancy::Multi);
            let mut callers = vec![Client::new(&[("x-api-key", SHARED)])];
            callers.push(callers[0].showing("ocp-apim-subscription-key", "k-9d3eR5wK1pZ7"));
            let old =
                AgentId::from_name(&format!("proxy {}", Tenant::from_key(Some(SHARED)).digest().short_hex()))
                    .unwrap();
            let mut plans = Vec::new();
            for (nth, client) in callers.iter_mut().enumerate() {
                client.history.push(said("user", &format!("hello {nth}")));
                let plan = client.send_with(&many, Some(&offer)).await;
                if nth == 0 {
                    many.call_own_tool(
                        &plan,
                        &call("remember", json!({"kind": "fact", "text": "Pier nine is closed."})),
                    )
                    .await;
                }
                if nth < taught_by {
                    let text = format!("The vault code of heron {nth} is QX-{nth}.");
                    many.call_own_tool(&plan, &call("remember", json!({"kind": "fact", "text": text}))).await;
                }
                plans.push(plan);
            }
            // As it was: both wrote to the agent of the key.
            let then = Shared::default();
            for info in store.sessions().await.unwrap() {
                put(&then, &info.session, events(store.as_ref(), &info.session).await).await;
            }
            // What they remember is numbered: the second one's only record takes the place of the first one's first.
            let mut agents = store.agents().await.unwrap();
            agents.sort_by_key(|info| std::cmp::Reverse(info.events));
            for info in agents {
                // Streams of then said nothing of whose they are.
                let mut all = events(store.as_ref(), &info.agent.stream()).await;
                all.retain(|recorded| !matches!(recorded.event, Event::Client(ClientEvent::HistoryLinked { .. })));
                put(&then, &old.stream(), all).await;
            }
            let many = engine(&then, Tenancy::Multi);
            let told =
                [many.call_own_tool(&plans[0], &recall).await, many.call_own_tool(&plans[1], &recall).await];
            assert_eq!(told[0].contains("QX-0"), taught_by == 1, "{taught_by} {told:?}");
            assert!(!told[0].contains("QX-1") && !told[1].contains("QX-0"), "{taught_by} {told:?}");
            let claimed = then.load(&old.stream()).await.unwrap().unwrap().head().tenant;
            assert_eq!(claimed.is_some(), taught_by == 1);
            // And what is learnt from now on is its own.
            many.call_own_tool(
                &plans[1],
                &call("remember", json!({"kind": "fact", "text": "The heron vault code is QX-9."})),
            )
            .await;
            assert!(!many.call_own_tool(&plans[0], &recall).await.contains("QX-9"));
            assert!(many.call_own_tool(&plans[1], &recall).await.contains("QX-9"));
        }
    });
}

/// Whatever a file says of whose history it is and where it ends, or calls itself: no conversation goes on in it.
#[test]
fn no_conversation_goes_on_in_a_file() {
    run(async {
        for headers in [&[("x-neap-session", "desk")][..], &[("x-trace", "0")]] {
            let mut hostile = Client::new(headers);
            let made = Shared::default();
            hostile.talk(&engine(&made, Tenancy::Single), "hi").await;
            let id = made.sessions().await.unwrap().pop().unwrap().session;
            let mut export = events(made.as_ref(), &id).await;
            if let Some(Event::Client(ClientEvent::HistoryLinked { links, history, .. })) =
                export.last_mut().map(|last| &mut last.event)
            {
                let common = ["hello", "help", "good morning"].map(|text| {
                    let client = Client { headers: hostile.headers.clone(), history: vec![said("user", text)] };
                    chain(&client, &Tenant::local()).stable_digest()
                });
                let turn = neap_core::base::ids::TurnNo(1);
                links.extend(common.map(|digest| HistoryLink { digest, turn }));
                *history = HistoryHead { asked: common[0], answered: common.to_vec() };
            }
            let other = SessionId::from_name("copy").unwrap();
            for name in [None, Some(other)] {
                let store = Shared::default();
                let one = engine(&store, Tenancy::Single);
                let taken = one.import_events(export.clone(), name).await.unwrap().session;
                assert_eq!(owner(&store, &taken).await, None);
                for text in ["hi", "hello", "help", "good morning"] {
                    let mut client = Client::new(headers);
                    let plan = client.talk(&one, text).await;
                    assert_ne!(plan.session.as_ref(), Some(&taken), "{headers:?} {text}");
                }
            }
        }
    });
}

/// A question that is answered again and again: its last ends are kept, and the client goes on from one of them.
#[test]
fn answers_that_are_asked_for_again_do_not_pile_up() {
    run(async {
        let store = Shared::default();
        let many = engine(&store, Tenancy::Multi);
        let mut client = Client::new(&[("x-api-key", SHARED)]);
        client.history.push(said("user", "tell me a story"));
        let mut session = None;
        for nth in 0..40 {
            let plan = client.send(&many).await;
            let reply = ProviderReply { text: format!("Story {nth}."), ..ProviderReply::default() };
            many.complete_request(&plan, &reply).await.unwrap();
            session = plan.session;
        }
        let session = session.unwrap();
        let line = store.load(&session).await.unwrap().unwrap().head().history.clone().unwrap();
        assert_eq!(line.answered.len(), HistoryHead::REPLIES_MAX);
        client.history.extend([said("assistant", "Story 39."), said("user", "and then?")]);
        assert_eq!(client.send(&many).await.session, Some(session));
    });
}
