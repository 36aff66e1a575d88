//! Behind pgbouncer in transaction mode: each transaction gets any connection, and nothing is prepared on one.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use neap_postgres::PostgresServer;
use neap_store::contract::{self, recall_alike};

use crate::scene::{block_on, bouncer_url, new_tenant};

macro_rules! behind_a_bouncer {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            let Some(url) = bouncer_url() else { return };
            block_on(async {
                let server = PostgresServer::open(&url).await.unwrap();
                contract::$name(&new_tenant(&server)).await;
            });
        })*
    };
}

behind_a_bouncer! {
    a_commit_is_read_back
    a_stale_commit_changes_nothing
    a_turn_id_counts_once
    a_log_is_read_from_either_end
    a_rebuild_gives_the_same
    a_question_is_answered_at_once
    what_was_said_beside_is_found
    an_erased_memory_is_gone
}

#[test]
fn it_recalls_what_memory_recalls() {
    let Some(url) = bouncer_url() else { return };
    block_on(async {
        let server = PostgresServer::open(&url).await.unwrap();
        recall_alike(&new_tenant(&server), 7).await;
    });
}

/// Tenants share the few connections, one transaction after the other.
#[test]
fn tenants_stay_apart() {
    let Some(url) = bouncer_url() else { return };
    block_on(async {
        let server = PostgresServer::open(&url).await.unwrap();
        let mut writers = Vec::new();
        for nth in 0..8 {
            let store = new_tenant(&server);
            writers.push(tokio::spawn(async move {
                let mut stream = contract::TestStream::create(&store, "same name").await;
                for turn in 0..8 {
                    let text = format!("tenant {nth} turn {turn}");
                    stream.add_turn(&store, &text, "yes", neap_core::base::message::Scope::Ambient).await;
                }
                let stored = neap_store::EventStore::load(&store, &stream.id).await.unwrap();
                assert_eq!(stored, Some(stream.state));
                assert_eq!(contract::faults(&store).await, []);
            }));
        }
        for writer in writers {
            writer.await.unwrap();
        }
    });
}
