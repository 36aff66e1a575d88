//! Doors beside a proxy of several callers (I11).
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use std::sync::Arc;

use neap_core::ids::SessionId;
use neap_core::ingest::Callers;
use neap_core::tokens::Tokens;
use neap_engine::Engine;
use neap_store::Store;

use crate::tenants::{CANARY, Client, Shared, engine, run};

/// Beside a proxy of several callers, whoever serves the owner of the store shows none of theirs.
#[test]
fn callers_sessions_are_hidden_from_other_doors() {
    run(async {
        let store = Shared::default();
        let mut caller = Client::new(&[("x-api-key", "sk-one-4f9aT7bQ2mX8"), ("x-neap-session", "desk")]);
        let theirs = caller.talk(&engine(&store, Callers::Many), CANARY).await.session.unwrap();
        let mut own = Client::new(&[("x-neap-session", "mine")]);
        let mine = own.talk(&engine(&store, Callers::One), "the heron nests at pier nine").await.session.unwrap();
        let all = engine(&store, Callers::Many);
        assert_eq!(all.sessions().await.unwrap().len(), 2);
        let door = Engine::builder(store.clone() as Arc<dyn Store>).without_callers().build();
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
