//! I9: whatever was written, every backend recalls the same memories in the same order.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use neap_sqlite::SqliteStore;
use neap_store::contract::recall_alike;

use crate::scene::block_on;

#[test]
fn every_backend_recalls_the_same() {
    for seed in [1, 7, 1_234_567] {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&dir.path().join("neap.db")).unwrap();
        block_on(recall_alike(&store, seed));
    }
}
