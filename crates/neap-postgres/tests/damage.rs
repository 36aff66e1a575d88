//! What a damaged row costs.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use neap_core::base::ids::{Seq, Stamp};
use neap_postgres::PostgresServer;
use neap_store::contract::{TestStream, faults, memory};
use neap_store::{EventStore, Maintenance, StoredEvent};

use crate::scene::{block_on, connect_to, new_tenant, url};

/// Erasing a memory replaces its damaged events as well; what the agent's row says afterwards follows from the result.
#[test]
fn a_memory_with_damaged_events_can_be_erased() {
    let Some(url) = url("damaged memories") else { return };
    block_on(async {
        let store = new_tenant(&PostgresServer::open(&url).await.unwrap());
        let mut stream = TestStream::create_agent(&store, "newton").await;
        let damaged = stream.seq().next();
        let lost = memory("f1", "zqxcanary is secret", 1_000);
        stream.add_memory(&store, &lost).await;
        stream.add_memory(&store, &memory("f2", "the last fact", 2_000)).await;
        damage(&url, &store, damaged).await;
        assert_ne!(faults(&store).await, []);
        assert_eq!(store.erase_memory(&stream.id, lost.id, Stamp(9)).await.unwrap(), 1);
        assert_eq!(faults(&store).await, []);
        let stored = store.events(&stream.id, Seq(1), 100).await.unwrap();
        assert!(stored.iter().all(|event| matches!(event, StoredEvent::Whole(_))), "{stored:?}");
        assert!(!format!("{stored:?}").contains("zqxcanary"));
        let before = store.load(&stream.id).await.unwrap();
        assert_eq!(store.rebuild(&stream.id).await.unwrap(), []);
        assert_eq!(store.load(&stream.id).await.unwrap(), before);
    });
}

async fn damage(url: &str, store: &neap_postgres::PostgresStore, seq: Seq) {
    let client = connect_to(url, store.tenant().as_str()).await;
    let sql = "UPDATE neap.events SET body = body || 'x' WHERE tenant = $1 AND seq = $2";
    let seq = i64::try_from(seq.0).unwrap();
    assert_eq!(client.execute(sql, &[&store.tenant().as_str(), &seq]).await.unwrap(), 1);
    client.batch_execute("COMMIT").await.unwrap();
}
