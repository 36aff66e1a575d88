//! Doors beside a proxy of several callers (I11).
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use neap_store::EventStore;
use neap_store::Maintenance;
use std::sync::Arc;

use neap_core::base::ids::{SessionId, StreamId};
use neap_core::base::message::ToolCall;
use neap_core::base::tokens::Tokens;
use neap_core::client::offered_tools;
use neap_engine::Engine;
use neap_model::caller::Tenancy;
use neap_model::wire::request::ToolOffer;
use neap_store::Store;
use serde_json::{Value, json};

use crate::tenants::{CANARY, Client, Shared, engine, events, owner, put, run};

/// Beside a proxy of several callers, whoever serves the owner of the store shows none of theirs.
#[test]
fn callers_sessions_are_hidden_from_other_doors() {
    run(async {
        let store = Shared::default();
        let mut caller = Client::new(&[("x-api-key", "sk-one-4f9aT7bQ2mX8"), ("x-neap-session", "desk")]);
        let theirs = caller.talk(&engine(&store, Tenancy::Multi), CANARY).await.session.unwrap();
        let mut own = Client::new(&[("x-neap-session", "mine")]);
        let mine =
            own.talk(&engine(&store, Tenancy::Single), "the heron nests at pier nine").await.session.unwrap();
        let all = engine(&store, Tenancy::Multi);
        assert_eq!(all.sessions().await.unwrap().len(), 2);
        let door = Engine::builder(store.clone() as Arc<dyn Store>).hide_callers().build();
        let seen: Vec<SessionId> = door.sessions().await.unwrap().into_iter().map(|info| info.session).collect();
        assert_eq!(seen, std::slice::from_ref(&mine));
        assert!(door.attach(&theirs).await.is_err() && door.attach(&mine).await.is_ok());
        assert!(door.resume(&theirs, &Default::default()).await.is_err());
        let brief = door.brief(&mine, Some("heron vault code"), Tokens(2_000)).await.unwrap().text;
        assert!(brief.contains("pier nine") && !brief.contains("QX-7714"), "{brief}");
        let hits = door.search("heron", Default::default(), 9).await.unwrap();
        assert!(!hits.is_empty() && hits.iter().all(|hit| hit.session == mine), "{hits:?}");
    });
}

/// Every stream that a store has, sessions' and agents'.
async fn streams(store: &Shared) -> Vec<StreamId> {
    let sessions = store.sessions().await.unwrap().into_iter().map(|info| info.session.into());
    let agents = store.agents().await.unwrap().into_iter().map(|info| info.agent.stream());
    sessions.chain(agents).collect()
}

/// Uses all that a proxy keeps for a caller: a session, its memories, its files. Gives what it was sent and told.
async fn use_everything(engine: &Engine, key: &str, text: &str) -> String {
    let offer = ToolOffer { tools: offered_tools(), has_memory_tool: true };
    let mut client = Client::new(&[("x-api-key", key), ("x-neap-session", "desk")]);
    client.history.push(json!({"role": "user", "content": text}));
    let plan = client.send_with(engine, Some(&offer)).await;
    let mut seen = client.sent(&plan);
    let file = json!({"command": "create", "path": "/memories/own.txt", "file_text": text});
    let calls = [
        ("recall", json!({"query": "vault code heron"})),
        ("memory", json!({"command": "view", "path": "/memories"})),
        ("memory", json!({"command": "view", "path": "/memories/own.txt"})),
        ("remember", json!({"kind": "fact", "text": text})),
        ("memory", file),
        ("recall", json!({"query": "vault code heron"})),
    ];
    for (name, arguments) in calls {
        let arguments: Value = arguments;
        let call = ToolCall { id: "c1".to_owned(), name: name.to_owned(), arguments: arguments.to_string() };
        seen += &engine.call_own_tool(&plan, &call).await;
    }
    seen
}

/// As if digests collided: whichever of a caller's streams is somebody else's, nothing of it is shown, and nothing is written to it.
#[test]
fn whichever_id_collides_the_owner_is_compared() {
    run(async {
        let (victim, thief) = ("sk-victim-4f9aT7bQ2mX8", "sk-thief-4f9aT7bQ2mX8");
        let theirs = Shared::default();
        assert!(use_everything(&engine(&theirs, Tenancy::Multi), victim, CANARY).await.contains("QX-7714"));
        let own = Shared::default();
        use_everything(&engine(&own, Tenancy::Multi), thief, "the tide turns at six").await;
        let (mut tried, kind) = (0, |id: &StreamId| id.as_str().rsplit_once('-').map(|(kind, _)| kind.to_owned()));
        for id in streams(&own).await {
            let all = streams(&theirs).await;
            let Some(stolen) = all.iter().find(|other| kind(other) == kind(&id)) else { continue };
            let store = Shared::default();
            put(&store, &id, events(theirs.as_ref(), stolen).await).await;
            assert!(owner(&store, &id).await.is_some(), "{id} has an owner");
            let before = store.last_seq(&id).await.unwrap();
            let seen = use_everything(&engine(&store, Tenancy::Multi), thief, "the tide turns at six").await;
            assert!(!seen.contains("QX-7714"), "{id}: {seen}");
            assert_eq!(store.last_seq(&id).await.unwrap(), before, "{id}: nothing is written to it");
            tried += 1;
        }
        assert_eq!(tried, 3, "a session, memories and files");
    });
}
