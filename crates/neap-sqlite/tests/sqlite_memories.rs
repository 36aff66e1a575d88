//! What only a file can suffer: words that stay in it after an erasure, rows that are lost or misplaced.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use std::path::Path;

use crate::disk::Disk;
use crate::older::write_older;
use crate::scene::{block_on, tree};
use neap_core::base::ids::{Seq, Stamp};
use neap_core::memory::{Body, Change, Memory, MemoryKind, MemoryWrite, RecallRequest};
use neap_core::text::terms::query_terms;
use neap_sqlite::SqliteStore;
use neap_store::contract::{TestStream, agent, faults, memory, memory_id};
use neap_store::{EventStore, Maintenance, MemoryStore, Severity};
use rusqlite::Connection;

const CANARY: &str = "xyzzycanard";

/// The files under a directory that hold the canary.
fn with_canary(dir: &Path) -> Vec<String> {
    let holds = |bytes: &[u8]| bytes.windows(CANARY.len()).any(|w| w.eq_ignore_ascii_case(CANARY.as_bytes()));
    tree(dir).into_iter().filter(|(_, bytes)| holds(bytes)).map(|(name, _)| name).collect()
}

/// A decision that says the canary, pending and pinned, so that it is in the agent's row as well.
fn canary(n: usize) -> Memory {
    Memory { pinned: true, ..memory("d1", &format!("{CANARY} {CANARY}{n} {}", "and more ".repeat(n * 20)), 1) }
}

/// Erasure on request: the bytes are gone from every file, not only from what a query sees. Also when so much came
/// after them that they lie far behind.
#[test]
fn an_erased_memory_is_in_no_file() {
    for after in [0, 1_000] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("neap.db");
        let store = SqliteStore::open(&path).unwrap();
        block_on(async {
            let mut told = TestStream::create_agent(&store, "newton").await;
            told.add_memory(&store, &canary(0)).await;
            for n in 1..=9 {
                let fact = memory(&format!("f{n}"), "this stays", 2);
                told.add_memory(&store, &fact).await;
                let event = MemoryWrite::update(Change::Edited, &canary(n - 1), canary(n)).into();
                // Another fact quotes it.
                let evidence = format!("stays → {CANARY}");
                let contested = Change::Contested { with: memory_id("d1"), evidence };
                let quoting = MemoryWrite::update(contested, &fact, fact.clone()).into();
                told.append(&store, vec![event, quoting]).await.unwrap();
            }
            for part in 0..after / 100 {
                let says = |n| memory(&format!("f{n}"), &format!("word{n} and word{}", n * 7), 3);
                let events = (0..100).map(|n| MemoryWrite::new(says(10 + part * 100 + n)).into());
                told.append(&store, events.collect()).await.unwrap();
            }
        });
        drop(store);
        assert!(!with_canary(dir.path()).is_empty() || after > 0, "the scene is set");
        let store = SqliteStore::open(&path).unwrap();
        block_on(async {
            let newton = agent("newton");
            assert_eq!(store.memory_history(&newton, memory_id("d1")).await.unwrap().len(), 10);
            assert_eq!(store.erase_memory(&newton, memory_id("d1"), Stamp(1)).await.unwrap(), 19);
            assert_eq!(with_canary(dir.path()), Vec::<String>::new());
            assert_eq!(faults(&store).await, []);
            let left = store.memory_history(&newton, memory_id("d1")).await.unwrap();
            assert_eq!(left.len(), 11);
            assert!(!format!("{left:?}").contains(CANARY));
            let events = store.events(&newton, Seq(1), 10_000).await.unwrap();
            assert!(!format!("{events:?}").contains(CANARY), "not even packed");
            let request = RecallRequest::new(query_terms("stays"), vec![(MemoryKind::Fact, 99)]);
            assert_eq!(store.recall(&newton, &request).await.unwrap().memories.len(), 9);
        });
        drop(store);
        assert_eq!(with_canary(dir.path()), Vec::<String>::new());
    }
}

/// Each loss is found, mended by a rebuild, and costs no more than itself until then.
#[test]
fn lost_rows_of_memories_are_found_and_mended() {
    for (harm, words) in [
        ("DELETE FROM memories WHERE text & 134217727 = 2", "memories differ"),
        ("UPDATE memories SET body = 'no json' WHERE text & 134217727 = 2", "memories differ"),
        ("UPDATE memories SET due = 7", "memories differ"),
        ("UPDATE memories SET at = 7", "memories differ"),
        ("UPDATE memories SET text = text + 134217728 * 5 WHERE text & 134217727 = 2", "memories differ"),
        ("UPDATE shelves SET memories = memories + 1", "differs from its count"),
        ("DELETE FROM shelves", "differs from its count"),
        ("DELETE FROM memory_events WHERE seq = 3", "histories of memories differ"),
        ("DELETE FROM words WHERE rowid & 134217727 = 2", "indexed texts differ"),
        ("INSERT INTO words(rowid, terms) SELECT max(text) + 5, 'apple' FROM memories", "belong to no memory"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("neap.db");
        let store = SqliteStore::open(&path).unwrap();
        let told = block_on(async {
            let mut told = TestStream::create_agent(&store, "newton").await;
            for n in 1..=3 {
                told.add_memory(&store, &memory(&format!("f{n}"), "apple", n)).await;
            }
            told
        });
        drop(store);
        let changed = Connection::open(&path).unwrap().execute(harm, []).unwrap();
        assert!(changed > 0, "{harm}");
        let store = SqliteStore::open(&path).unwrap();
        block_on(async {
            let found = faults(&store).await;
            assert!(found.iter().any(|finding| finding.what.contains(words)), "{harm}: {found:?}");
            assert!(found.iter().all(|finding| finding.severity == Severity::Repairable), "{found:?}");
            let one = store.memories(&told.id, &[memory_id("f1")]).await.unwrap();
            assert!(matches!(&one[0].body, Body::Fact(fact) if fact.content == "apple"), "{harm}");
            assert_eq!(store.rebuild(&told.id).await.unwrap(), []);
            assert_eq!(faults(&store).await, [], "{harm}");
            let request = RecallRequest::new(query_terms("apple"), vec![(MemoryKind::Fact, 9)]);
            assert_eq!(store.recall(&told.id, &request).await.unwrap().memories.len(), 3, "{harm}");
        });
    }
}

#[test]
fn a_store_from_before_memories_gets_them() {
    let dir = tempfile::tempdir().unwrap();
    let (today, path) = (dir.path().join("today.db"), dir.path().join("neap.db"));
    let session = block_on(TestStream::create(&SqliteStore::open(&today).unwrap(), "main"));
    write_older(&today, &path, 2);
    let store = SqliteStore::open(&path).unwrap();
    block_on(async {
        assert_eq!(store.load(&session.id).await.unwrap().as_ref(), Some(&session.state));
        let mut told = TestStream::create_agent(&store, "newton").await;
        told.add_memory(&store, &memory("f1", "apple", 1)).await;
        let request = RecallRequest::new(query_terms("apple"), vec![(MemoryKind::Fact, 9)]);
        assert_eq!(store.recall(&told.id, &request).await.unwrap().memories.len(), 1);
        assert_eq!(faults(&store).await, []);
    });
}

/// Where nothing can be written it stays as it is, and nobody knows anything.
#[test]
fn a_store_from_before_memories_can_be_read_where_nothing_can_be_written() {
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = Disk::mount(dir.path(), "size=16m") else { return };
    let (today, path) = (dir.path().join("today.db"), dir.path().join("neap.db"));
    // Only a name: what an agent knew could not have been written then.
    let told = block_on(TestStream::create_agent(&SqliteStore::open(&today).unwrap(), "newton"));
    write_older(&today, &path, 2);
    disk.remount("ro");
    let store = SqliteStore::open(&path).unwrap();
    block_on(async {
        let id = memory_id("f1");
        for terms in ["apple", ""] {
            let request = RecallRequest::new(query_terms(terms), vec![(MemoryKind::Fact, 9)]);
            assert_eq!(store.recall(&told.id, &request).await.unwrap().text_count, 0);
        }
        assert_eq!(store.memories(&told.id, &[id]).await.unwrap(), []);
        assert_eq!(store.list_memories(&told.id, None, None, 9).await.unwrap(), []);
        assert_eq!(store.memories_due(&told.id, Stamp(9), 9).await.unwrap(), []);
        assert_eq!(store.memory_history(&told.id, id).await.unwrap(), []);
        assert_eq!(store.agents().await.unwrap()[0].memories, 0);
        assert_eq!(store.last_seq(&told.id).await.unwrap(), Seq(1));
        assert!(store.footprint(None).await.unwrap().derived > 0);
        assert_eq!(faults(&store).await, []);
    });
}
