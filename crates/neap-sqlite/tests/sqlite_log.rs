//! The log of writes beside the file is copied into it while others write, and does not grow for ever.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]
#![allow(clippy::disallowed_methods, reason = "tests set the scene by hand")]

use crate::scene::block_on;
use neap_core::base::ids::TurnNo;
use neap_core::base::message::Scope;
use neap_sqlite::SqliteStore;
use neap_store::contract::{TestStream, faults, tools_called, turn_completed, turn_started};

const PAGE_BYTES: u64 = 4_096;

#[test]
fn a_log_begins_anew_where_nobody_pauses() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("neap.db");
    let size = |name: &str| std::fs::metadata(dir.path().join(name)).unwrap().len() / PAGE_BYTES;
    let store = SqliteStore::open(&path).unwrap();
    block_on(async {
        let mut told = TestStream::create(&store, "long").await;
        let text = "the same few words again and again ".repeat(6_000);
        let mut most = 0;
        for n in 1..=300 {
            let turn = TurnNo(n);
            let events = vec![
                turn_started(turn, "go", None),
                tools_called(turn, &text),
                turn_completed(turn, "yes", Scope::Ambient),
            ];
            told.append(&store, events).await.unwrap();
            most = most.max(size("neap.db-wal"));
        }
        // 300 times 50 pages were written at least; the log has 8,000 when it must begin anew, and one commit more.
        assert!((1_000..9_000).contains(&most), "{most} pages");
        assert_eq!(faults(&store).await, []);
    });
    drop(store);
    assert!(!dir.path().join("neap.db-wal").exists(), "the last to close leaves the file in order");
}
