//! Text that lies far behind is packed. Nobody can tell, but by the size of the file.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]
#![allow(clippy::disallowed_methods, reason = "tests set the scene by hand")]

use std::path::{Path, PathBuf};

use crate::disk::Disk;
use crate::scene::{block_on, tree};
use neap_core::base::ids::{Seq, Stamp, TurnNo};
use neap_core::base::message::Scope;
use neap_core::recall::Query;
use neap_core::session::log::LogRequest;
use neap_core::text::terms::query_terms;
use neap_sqlite::SqliteStore;
use neap_store::contract::{TestStream, faults, tools_called, turn_completed, turn_started};
use neap_store::folder::rewrite_folder;
use neap_store::{EventStore, Maintenance, MemStore, SearchStore, Severity, Store, StoreError, StoredEvent};
use rusqlite::Connection;

/// Events at the end of a stream that are never packed.
const WARM: usize = 32;
/// Fewer than these may wait.
const WAITING: usize = 128;

fn fresh() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("neap.db");
    (dir, path)
}

fn said(n: u64) -> String {
    format!(
        "message {n}: the quick report of day {} says {} and nothing else",
        n / 7,
        "more ".repeat(n as usize % 40)
    )
}

/// Ten turns in one commit, of three events each.
async fn ten_turns(store: &dyn Store, told: &mut TestStream) -> Result<(), StoreError> {
    let first = told.state.turn().0;
    let events = (first + 1..=first + 10).flat_map(|n| {
        let turn = TurnNo(n);
        let answer = format!("answer {n}: {}", said(n * 3));
        [
            turn_started(turn, &said(n), None),
            tools_called(turn, &said(n * 2)),
            turn_completed(turn, &answer, Scope::Ambient),
        ]
    });
    told.append(store, events.collect()).await
}

/// A session of that many events or more, and the store closed again.
fn long(path: &Path, events: usize) -> TestStream {
    block_on(async {
        let store = SqliteStore::open(path).unwrap();
        let mut told = TestStream::create(&store, "long").await;
        while told.events.len() < events {
            ten_turns(&store, &mut told).await.unwrap();
        }
        told
    })
}

/// The first and last event of each block.
fn blocks(path: &Path, name: &str) -> Vec<(i64, i64)> {
    let db = Connection::open(path).unwrap();
    let mut statement = db
        .prepare("SELECT first_seq, last_seq FROM blocks JOIN sessions USING (stream) WHERE name = ? ORDER BY 2")
        .unwrap();
    statement.query_map([name], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().collect::<Result<_, _>>().unwrap()
}

/// Places of packed events.
fn packed(path: &Path, name: &str) -> Vec<i64> {
    blocks(path, name).into_iter().flat_map(|(first, last)| first..=last).collect()
}

/// What bodies take, packed or not.
fn body_bytes(path: &Path) -> i64 {
    let db = Connection::open(path).unwrap();
    db.query_row(
        "SELECT (SELECT sum(octet_length(body)) FROM events) + (SELECT sum(octet_length(body)) FROM blocks)",
        [],
        |row| row.get(0),
    )
    .unwrap()
}

async fn check(store: &dyn Store, told: &TestStream) {
    assert_eq!(store.load(&told.id).await.unwrap().as_ref(), Some(&told.state));
    let events: Vec<_> = told.events.iter().cloned().map(StoredEvent::Whole).collect();
    assert_eq!(store.events(&told.id, Seq(1), usize::MAX).await.unwrap(), events);
    assert_eq!(faults(store).await, []);
}

#[test]
fn packed_text_is_read_as_it_was_written() {
    let (dir, path) = fresh();
    let mut told = long(&path, 1_500);
    let cold = packed(&path, "long");
    assert!(cold.len() + WAITING + WARM >= told.events.len(), "{} of {}", cold.len(), told.events.len());
    assert!(cold.iter().all(|seq| *seq as usize + WARM <= told.events.len()));
    let plain: usize = told.events.iter().map(|e| serde_json::to_vec(&e.event).unwrap().len()).sum();
    assert!(body_bytes(&path) < plain as i64 / 3, "{} of {plain}", body_bytes(&path));
    let (store, mem) = (SqliteStore::open(&path).unwrap(), MemStore::new());
    block_on(async {
        mem.commit(TestStream::new("long").build_commit(told.events.iter().map(|e| e.event.clone()).collect()).0)
            .await
            .unwrap();
        check(&store, &told).await;
        for request in [
            LogRequest::turns(Scope::Ambient, TurnNo(3), TurnNo(200)),
            LogRequest::turns(Scope::Ambient, TurnNo(0), TurnNo(u64::MAX)),
        ] {
            assert_eq!(store.log(&told.id, &request).await.unwrap(), mem.log(&told.id, &request).await.unwrap());
        }
        for at in (0..told.events.len()).step_by(61) {
            let one = store.events(&told.id, Seq(at as u64 + 1), 1).await.unwrap();
            assert_eq!(one, [StoredEvent::Whole(told.events[at].clone())]);
        }
        for kinds in [&["session_created"][..], &["tools_called", "turn_completed"], &["scrubbed"]] {
            for before in [None, Some(Seq(1_400)), Some(Seq(700)), Some(Seq(1))] {
                for max in [0, 1, 40, usize::MAX] {
                    let found = store.events_of_kinds(&told.id, kinds, before, max).await.unwrap();
                    assert_eq!(found, mem.events_of_kinds(&told.id, kinds, before, max).await.unwrap());
                }
            }
        }
        let query = Query::new(query_terms("report 17"));
        assert_eq!(store.find_candidates(&query).await.unwrap(), mem.find_candidates(&query).await.unwrap());
        let (packed, plain) = (store.footprint(None).await.unwrap(), mem.footprint(None).await.unwrap());
        assert_eq!(packed.said, plain.said);
        assert!(packed.events < plain.events && packed.file >= packed.events, "{packed:?} {plain:?}");
        let folders = [dir.path().join("a"), dir.path().join("b")];
        rewrite_folder(&store, &folders[0], &told.id).await.unwrap();
        rewrite_folder(&mem, &folders[1], &told.id).await.unwrap();
        assert_eq!(tree(&folders[0]), tree(&folders[1]));
        assert_eq!(store.rebuild(&told.id).await.unwrap(), []);
        ten_turns(&store, &mut told).await.unwrap();
        check(&store, &told).await;
    });
}

/// A flipped bit in a block costs the events of that block, and no more.
#[test]
fn damage_to_a_block_costs_that_block() {
    let (_dir, path) = fresh();
    let told = long(&path, 900);
    let blocks = blocks(&path, "long");
    assert!(blocks.len() > 4, "the scene is set");
    for (at, (first, last)) in blocks.iter().flat_map(|block| [block; 5]).enumerate() {
        let db = Connection::open(&path).unwrap();
        let body: Vec<u8> =
            db.query_row("SELECT body FROM blocks WHERE last_seq = ?", [last], |row| row.get(0)).unwrap();
        let mut harmed = body.clone();
        let place = at * 311 % body.len();
        harmed[place] ^= 1 << (at % 8);
        db.execute("UPDATE blocks SET body = ? WHERE last_seq = ?", (&harmed, last)).unwrap();
        let store = SqliteStore::open(&path).unwrap();
        let stored = block_on(store.events(&told.id, Seq(1), usize::MAX)).unwrap();
        assert_eq!(stored.len(), told.events.len());
        let mut lost = Vec::new();
        for (found, written) in stored.iter().zip(&told.events) {
            match found {
                StoredEvent::Whole(recorded) => assert_eq!(recorded, written),
                StoredEvent::Damaged { seq, .. } => lost.push(seq.0 as i64),
            }
        }
        // A bit that means nothing to zstd may be flipped without harm; then everything is whole.
        assert!(lost.is_empty() || lost == (*first..=*last).collect::<Vec<_>>(), "{lost:?}");
        let found = block_on(faults(&store));
        let damaged: Vec<_> = found.iter().filter(|f| f.severity == Severity::Damaged).collect();
        let expected = format!("events {first} to {last} are damaged: ");
        assert!(damaged.iter().all(|f| f.what.starts_with(&expected)), "{damaged:?}");
        assert_eq!(damaged.len(), usize::from(!lost.is_empty()));
        let kind = block_on(store.events_of_kinds(&told.id, &["turn_started"], None, usize::MAX)).unwrap();
        assert_eq!(kind.iter().filter(|s| matches!(s, StoredEvent::Damaged { .. })).count(), damaged.len());
        db.execute("UPDATE blocks SET body = ? WHERE last_seq = ?", (&body, last)).unwrap();
    }
}

/// A row that is damaged when its time comes stays as it is, and is still found to be.
#[test]
fn damage_is_not_packed() {
    let (_dir, path) = fresh();
    let mut told = long(&path, 60);
    assert_eq!(packed(&path, "long"), [0; 0]);
    Connection::open(&path)
        .unwrap()
        .execute_batch("UPDATE events SET body = replace(body, 'message 3:', 'massage 3:') WHERE seq = 8")
        .unwrap();
    {
        let store = SqliteStore::open(&path).unwrap();
        while told.events.len() < 900 {
            block_on(ten_turns(&store, &mut told)).unwrap();
        }
    }
    let cold = packed(&path, "long");
    assert!(cold.contains(&7) && !cold.contains(&8) && cold.contains(&9), "{cold:?}");
    let store = SqliteStore::open(&path).unwrap();
    let stored = block_on(store.events(&told.id, Seq(8), 1)).unwrap();
    assert!(matches!(stored[..], [StoredEvent::Damaged { seq: Seq(8), .. }]), "{stored:?}");
}

/// Erasure takes what was packed, and what was there before it was packed.
#[test]
fn an_erased_packed_word_is_in_no_file() {
    const CANARY: &str = "zqxcanaryqz";
    let (dir, path) = fresh();
    let store = SqliteStore::open(&path).unwrap();
    let (mut gone, mut kept) =
        block_on(async { (TestStream::create(&store, "gone").await, TestStream::create(&store, "kept").await) });
    block_on(async {
        for part in 0..45_u64 {
            let events = (1..=20).map(|n| {
                let text = format!("{CANARY}{part} {} {CANARY}{n}", said(part * n));
                turn_started(TurnNo(part * 20 + n), &text, None)
            });
            gone.append(&store, events.collect()).await.unwrap();
            ten_turns(&store, &mut kept).await.unwrap();
        }
    });
    drop(store);
    assert!(!packed(&path, "gone").is_empty() && !packed(&path, "kept").is_empty());
    let db = Connection::open(&path).unwrap();
    let mut statement =
        db.prepare("SELECT body FROM blocks JOIN sessions USING (stream) WHERE name = 'gone'").unwrap();
    let blobs: Vec<Vec<u8>> =
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    drop(statement);
    drop(db);
    let found = |dir: &Path| {
        let files = tree(dir);
        let has = |what: &[u8]| files.values().any(|bytes| memmem(bytes, what));
        // The last bytes of a body: those are on one page.
        let bodies = blobs.iter().filter(|body| has(&body[body.len() - 24..])).count();
        (has(CANARY.as_bytes()), bodies)
    };
    assert_eq!(found(dir.path()), (true, blobs.len()), "the scene is set");
    let store = SqliteStore::open(&path).unwrap();
    block_on(store.scrub(&gone.id, Stamp(1))).unwrap();
    assert_eq!(found(dir.path()), (false, 0));
    block_on(check(&store, &kept));
}

fn memmem(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|window| window == what)
}

/// Packing needs room as well; where there is none, nothing is lost and it is done later.
#[test]
fn a_disk_that_fills_while_packing_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = Disk::mount(dir.path(), "size=1500k") else { return };
    let path = dir.path().join("neap.db");
    let store = SqliteStore::open(&path).unwrap();
    block_on(async {
        let mut told = TestStream::create(&store, "full").await;
        let mut refused = 0;
        while refused < 20 {
            match ten_turns(&store, &mut told).await {
                Ok(()) => {}
                Err(StoreError::Full { .. }) => refused += 1,
                Err(other) => panic!("{other}"),
            }
        }
        check(&store, &told).await;
        disk.remount("size=32m");
        for _ in 0..60 {
            ten_turns(&store, &mut told).await.unwrap();
        }
        check(&store, &told).await;
    });
    drop(store);
    assert!(!packed(&path, "full").is_empty());
}

/// Many writers, each with a store of its own as processes have, and all of them pack: every acknowledged commit
/// is there once, in order.
#[test]
fn many_writers_pack_at_once() {
    let (_dir, path) = fresh();
    drop(SqliteStore::open(&path).unwrap());
    let acknowledged: Vec<Vec<String>> = std::thread::scope(|scope| {
        let writer = |writer: usize| {
            let path = &path;
            scope.spawn(move || {
                let store = SqliteStore::open(path).unwrap();
                let mut acknowledged = Vec::new();
                block_on(async {
                    for n in 0..40 {
                        let text = format!("{writer}-{n} {}", said(n));
                        loop {
                            let mut told = TestStream::new("shared");
                            told.state = store.load(&told.id).await.unwrap().unwrap_or_default();
                            let created = told.state.head().stream.is_none().then(|| told.created_event());
                            let turn = told.state.turn().0;
                            let turns = (1..=10).flat_map(|k| {
                                let turn = TurnNo(turn + k);
                                [turn_started(turn, &text, None), turn_completed(turn, &text, Scope::Ambient)]
                            });
                            match told.append(&store, created.into_iter().chain(turns).collect()).await {
                                Ok(()) => break,
                                Err(StoreError::Conflict { .. }) => {}
                                Err(other) => panic!("{other}"),
                            }
                        }
                        acknowledged.push(text);
                    }
                });
                acknowledged
            })
        };
        let writers: Vec<_> = (0..3).map(writer).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    assert!(packed(&path, "shared").len() > 1_000);
    let store = SqliteStore::open(&path).unwrap();
    let stored = block_on(store.events(&TestStream::new("shared").id, Seq(1), usize::MAX)).unwrap();
    assert_eq!(stored.len(), 1 + 3 * 40 * 20);
    for (writer, texts) in acknowledged.iter().enumerate() {
        let kept: Vec<String> = stored
            .iter()
            .map(|s| if let StoredEvent::Whole(recorded) = s { recorded } else { panic!("{s:?}") })
            .filter(|recorded| recorded.event.kind() == "turn_started")
            .flat_map(|recorded| recorded.event.transcript_messages())
            .map(|said| said.message.content.to_string())
            .filter(|text| text.starts_with(&format!("{writer}-")))
            .collect();
        let expected: Vec<String> = texts.iter().flat_map(|text| vec![text.clone(); 10]).collect();
        assert_eq!(kept, expected);
    }
    assert_eq!(block_on(faults(&store)), []);
}
