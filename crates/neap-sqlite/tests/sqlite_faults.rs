//! What can befall a SQLite file: damage, other programs' files, newer formats, full and read-only disks.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]
#![allow(clippy::disallowed_methods, reason = "tests set the scene by hand")]

use std::path::{Path, PathBuf};

use crate::disk::Disk;
use crate::scene::{block_on, tree};
use neap_core::base::ids::{Seq, Stamp, TurnNo};
use neap_core::base::message::{Scope, display_text};
use neap_core::base::tokens::Tokens;
use neap_core::session::log::LogRequest;
use neap_sqlite::{OpenOptions, SqliteStore};
use neap_store::contract::{TestStream, effort, effort_concluded, effort_opened, faults, turn_started};
use neap_store::{EventStore, Maintenance, Severity, StoreError, StoredEvent};
use rusqlite::Connection;

fn fresh() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("neap.db");
    (dir, path)
}

/// A store with one session of three turns, the second in an effort.
fn told(path: &Path) -> TestStream {
    block_on(async {
        let store = SqliteStore::open(path).unwrap();
        let mut told = TestStream::create(&store, "main").await;
        told.add_turn(&store, "first question", "first answer", Scope::Ambient).await;
        told.append(&store, vec![effort_opened("auth bug", TurnNo(1))]).await.unwrap();
        told.add_turn(&store, "second question", "second answer", Scope::Effort(effort("auth bug"))).await;
        told.append(&store, vec![effort_concluded("auth bug", "Fixed.", TurnNo(2))]).await.unwrap();
        told.add_turn(&store, "third question", "third answer", Scope::Ambient).await;
        told
    })
}

fn sql(path: &Path, statements: &str) {
    Connection::open(path).unwrap().execute_batch(statements).unwrap();
}

fn words(store: &SqliteStore, told: &TestStream, scope: Scope) -> Vec<String> {
    let request = LogRequest::newest(scope, Tokens(u64::MAX));
    let log = block_on(store.log(&told.id, &request)).unwrap();
    let said = log.exchanges().flat_map(|exchange| &exchange.messages).map(|said| &said.message);
    said.map(|said| display_text(&said.content, said.incomplete.as_ref())).collect()
}

#[test]
fn a_flipped_byte_costs_one_record() {
    let (_dir, path) = fresh();
    let mut told = told(&path);
    // Event 2 is the first question; 3 its answer.
    sql(&path, "UPDATE events SET body = replace(body, 'first question', 'forst question') WHERE seq = 2");
    let store = SqliteStore::open(&path).unwrap();
    let damaged = |stored: &StoredEvent| matches!(stored, StoredEvent::Damaged { seq: Seq(2), .. });
    let stored = block_on(store.events(&told.id, Seq(1), 100)).unwrap();
    assert_eq!(stored.iter().filter(|s| damaged(s)).count(), 1);
    assert_eq!(stored.iter().filter(|s| matches!(s, StoredEvent::Whole(_))).count(), told.events.len() - 1);
    assert_eq!(block_on(store.load(&told.id)).unwrap().as_ref(), Some(&told.state));
    let log = words(&store, &told, Scope::Ambient);
    assert_eq!(&log[1..], ["first answer", "third question", "third answer"]);
    assert!(log[0].contains("damaged"), "{log:?}");
    let found = block_on(faults(&store));
    assert!(found.iter().any(|f| f.severity == Severity::Damaged && f.what.contains("event 2")), "{found:?}");
    let rebuilt = block_on(store.rebuild(&told.id)).unwrap();
    assert_eq!(rebuilt.len(), 1, "{rebuilt:?}");
    let left: Vec<_> = block_on(faults(&store)).into_iter().map(|f| f.severity).collect();
    assert_eq!(left, [Severity::Damaged]);
    assert_eq!(words(&store, &told, Scope::Ambient), log);
    // The session goes on after the repair.
    told.state = block_on(store.load(&told.id)).unwrap().unwrap();
    block_on(told.add_turn(&store, "fourth", "yes", Scope::Ambient));
    assert_eq!(block_on(faults(&store)).len(), 1);
}

#[test]
fn bytes_that_are_no_text_are_damage_and_no_panic() {
    let (_dir, path) = fresh();
    let told = told(&path);
    sql(&path, "UPDATE events SET body = x'ff00fe' WHERE seq = 3; UPDATE events SET body = NULL WHERE 0");
    sql(&path, "UPDATE events SET at = 'yesterday' WHERE seq = 5");
    let store = SqliteStore::open(&path).unwrap();
    let stored = block_on(store.events(&told.id, Seq(1), 100)).unwrap();
    assert_eq!(stored.iter().filter(|s| matches!(s, StoredEvent::Damaged { .. })).count(), 2);
    assert_eq!(block_on(store.rebuild(&told.id)).unwrap().len(), 2);
}

#[test]
fn a_missing_event_is_reported() {
    let (_dir, path) = fresh();
    let told = told(&path);
    sql(&path, "DELETE FROM events WHERE seq IN (4, 5)");
    let store = SqliteStore::open(&path).unwrap();
    let found = block_on(faults(&store));
    assert!(found.iter().any(|f| f.what == "events 4 to 5 are missing"), "{found:?}");
    block_on(store.rebuild(&told.id)).unwrap();
    assert!(block_on(store.load(&told.id)).unwrap().unwrap().violations().is_empty());
}

/// I4: whatever happens to a derived table is found and mended, and until then nothing is lost.
#[test]
fn derived_tables_are_mended() {
    for harm in [
        "DELETE FROM efforts",
        "DELETE FROM exchanges",
        "DELETE FROM turn_ids",
        "UPDATE sessions SET head = 'x'",
        "UPDATE sessions SET head = '{}'",
        "UPDATE sessions SET texts = 99",
        "UPDATE efforts SET body = replace(body, 'Fixed', 'Broken')",
        "DELETE FROM words WHERE rowid IN (SELECT id FROM words_docsize LIMIT 1)",
        "DELETE FROM sessions",
    ] {
        let (_dir, path) = fresh();
        let mut told = told(&path);
        {
            let store = SqliteStore::open(&path).unwrap();
            block_on(told.append(&store, vec![turn_started(TurnNo(4), "named", Some("id-4"))])).unwrap();
        }
        sql(&path, harm);
        let store = SqliteStore::open(&path).unwrap();
        let found: Vec<_> = block_on(faults(&store)).into_iter().map(|f| f.severity).collect();
        assert!(!found.is_empty() && found.iter().all(|s| *s == Severity::Repairable), "{harm}: {found:?}");
        if harm.contains("SET head") {
            assert_eq!(block_on(store.load(&told.id)).unwrap().as_ref(), Some(&told.state), "{harm}");
        }
        assert_eq!(block_on(store.rebuild(&told.id)).unwrap(), [], "{harm}");
        assert_eq!(block_on(faults(&store)), [], "{harm}");
        assert_eq!(block_on(store.load(&told.id)).unwrap().as_ref(), Some(&told.state), "{harm}");
    }
}

/// What was written since the last examination by the same reader is no damage.
#[test]
fn a_store_that_grew_is_examined_again() {
    let (_dir, path) = fresh();
    let store = SqliteStore::open(&path).unwrap();
    block_on(async {
        let mut told = TestStream::create(&store, "main").await;
        for part in 0..40 {
            let words = |n: u64| format!("word{n} and word{}", n * 7);
            let many =
                (1..=20).map(|n| turn_started(TurnNo(part * 20 + n), &words(part * 20 + n), None)).collect();
            told.append(&store, many).await.unwrap();
            assert_eq!(faults(&store).await, [], "after {part}");
        }
    });
}

#[test]
fn what_is_not_ours_is_left_alone() {
    for (name, scene) in [
        ("text", None),
        ("another program", Some("CREATE TABLE t(x); PRAGMA application_id = 7;")),
        ("nobody's", Some("CREATE TABLE t(x); PRAGMA journal_mode = WAL; INSERT INTO t VALUES (1);")),
    ] {
        let (dir, path) = fresh();
        match scene {
            None => std::fs::write(&path, "shopping list: apples and many other good things").unwrap(),
            Some(statements) => sql(&path, statements),
        }
        let before = tree(dir.path());
        let opened = SqliteStore::open(&path);
        assert!(matches!(opened, Err(StoreError::Unreadable { .. })), "{name}");
        assert_eq!(tree(dir.path()), before, "{name}");
    }
}

#[test]
fn a_newer_format_is_left_alone() {
    let (dir, path) = fresh();
    told(&path);
    sql(&path, "PRAGMA user_version = 99");
    let before = tree(dir.path());
    let opened = SqliteStore::open(&path);
    assert!(matches!(opened, Err(StoreError::Newer { found: 99, supported: 11, .. })));
    assert_eq!(tree(dir.path()), before);
}

#[test]
fn a_cut_file_is_not_made_anew() {
    let (dir, path) = fresh();
    told(&path);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..60]).unwrap();
    let before = tree(dir.path());
    assert!(matches!(SqliteStore::open(&path), Err(StoreError::Unreadable { .. })));
    assert_eq!(tree(dir.path()), before);
}

#[test]
fn a_path_through_a_file_is_refused() {
    let (_dir, path) = fresh();
    std::fs::write(&path, "").unwrap();
    assert!(matches!(SqliteStore::open(&path.join("neap.db")), Err(StoreError::Unreadable { .. })));
}

#[cfg(unix)]
#[test]
fn files_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let (_dir, path) = fresh();
    let path = path.with_file_name("data").join("deep").join("neap.db");
    let store = SqliteStore::open(&path).unwrap();
    block_on(TestStream::create(&store, "private"));
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    for entry in std::fs::read_dir(path.parent().unwrap()).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
}

// A word that is its own stem: the index holds it as it is.
const CANARY: &str = "xyzzycanard";

/// The files under a directory that hold the canary.
fn with_canary(dir: &Path) -> Vec<String> {
    let holds = |bytes: &[u8]| bytes.windows(CANARY.len()).any(|w| w.eq_ignore_ascii_case(CANARY.as_bytes()));
    tree(dir).into_iter().filter(|(_, bytes)| holds(bytes)).map(|(name, _)| name).collect()
}

/// Erasure on request: the bytes are gone from every file, not only from what a query sees.
#[test]
fn an_erased_word_is_in_no_file() {
    let (dir, path) = fresh();
    let store = SqliteStore::open(&path).unwrap();
    block_on(async {
        let mut kept = TestStream::create(&store, "kept").await;
        let mut gone = TestStream::create(&store, "gone").await;
        let name = format!("{CANARY} effort");
        gone.append(&store, vec![effort_opened(&name, TurnNo(0))]).await.unwrap();
        for n in 0..60 {
            let said = format!("{CANARY} {CANARY}{n} {}", "and more ".repeat(n * 20));
            gone.add_turn(&store, &said, &said, Scope::Ambient).await;
            kept.add_turn(&store, "this stays", "it does", Scope::Ambient).await;
            gone.append(&store, vec![effort_concluded(&name, &said, TurnNo(n as u64))]).await.unwrap();
        }
        assert!(!with_canary(dir.path()).is_empty());
        store.scrub(&gone.id, Stamp(1)).await.unwrap();
        assert_eq!(with_canary(dir.path()), Vec::<String>::new());
        assert_eq!(faults(&store).await, []);
        kept.add_turn(&store, "on we go", "we do", Scope::Ambient).await;
        assert_eq!(store.load(&kept.id).await.unwrap().as_ref(), Some(&kept.state));
    });
    drop(store);
    assert_eq!(with_canary(dir.path()), Vec::<String>::new());
}

/// One message among a great many of others': the word index would keep its words until it has reason to merge.
#[test]
fn a_single_erased_message_is_in_no_file() {
    let (dir, path) = fresh();
    let store = SqliteStore::open(&path).unwrap();
    block_on(async {
        let mut gone = TestStream::create(&store, "gone").await;
        gone.add_turn(&store, CANARY, "yes", Scope::Ambient).await;
        let mut kept = TestStream::create(&store, "kept").await;
        for part in 0..64 {
            let words = |n: u64| format!("word{n} and word{}", n * 7);
            let many =
                (1..=20).map(|n| turn_started(TurnNo(part * 20 + n), &words(part * 20 + n), None)).collect();
            kept.append(&store, many).await.unwrap();
        }
        assert!(!with_canary(dir.path()).is_empty());
        store.scrub(&gone.id, Stamp(1)).await.unwrap();
        assert_eq!(with_canary(dir.path()), Vec::<String>::new());
        assert_eq!(faults(&store).await, []);
    });
}

#[test]
fn a_full_disk_loses_nothing_and_recovers() {
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = Disk::mount(dir.path(), "size=1m") else { return };
    let path = dir.path().join("neap.db");
    let store = SqliteStore::open(&path).unwrap();
    block_on(async {
        let mut told = TestStream::create(&store, "full").await;
        let mut refused = 0;
        for _ in 0..200 {
            let turn = told.state.turn().next();
            match told.append(&store, vec![turn_started(turn, &"many words here ".repeat(2_000), None)]).await {
                Ok(()) => {}
                Err(StoreError::Full { .. }) => refused += 1,
                Err(other) => panic!("{other}"),
            }
            if refused > 3 {
                break;
            }
        }
        assert!(refused > 3);
        assert_eq!(store.load(&told.id).await.unwrap().as_ref(), Some(&told.state));
        disk.remount("size=16m");
        told.add_turn(&store, "there is room again", "yes", Scope::Ambient).await;
        assert_eq!(store.load(&told.id).await.unwrap().as_ref(), Some(&told.state));
        assert_eq!(faults(&store).await, []);
    });
}

#[test]
fn a_read_only_disk_can_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = Disk::mount(dir.path(), "size=16m") else { return };
    let path = dir.path().join("neap.db");
    let mut told = told(&path);
    disk.remount("ro");
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(block_on(store.load(&told.id)).unwrap().as_ref(), Some(&told.state));
    assert_eq!(block_on(store.sessions()).unwrap().len(), 1);
    let refused = block_on(told.append(&store, vec![turn_started(TurnNo(9), "no", None)]));
    assert!(matches!(refused, Err(StoreError::ReadOnly { .. })), "{refused:?}");
    drop(store);
    let nothing = SqliteStore::open(&dir.path().join("other.db"));
    assert!(matches!(nothing, Err(StoreError::ReadOnly { .. })));
}

/// A store that could only be read when it was opened is written to as soon as it can be, and reads what is written; also
/// if a killed process left a log of writes beside it.
#[test]
fn a_disk_that_can_be_written_again_is_written() {
    for is_killed in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let Some(disk) = Disk::mount(dir.path(), "size=16m") else { return };
        let path = dir.path().join("neap.db");
        let (_source, source) = fresh();
        let mut told = told(&source);
        let running = SqliteStore::open(&source).unwrap();
        block_on(told.add_turn(&running, "only in the log", "of writes", Scope::Ambient));
        let _running = is_killed.then_some(running);
        copy_store(&source, &path);
        disk.remount("ro");
        let store = SqliteStore::open(&path).unwrap();
        assert_eq!(block_on(store.sessions()).unwrap().len(), 1);
        let mut lost = told.clone();
        let refused = block_on(lost.append(&store, vec![turn_started(TurnNo(9), "no", None)]));
        assert!(matches!(refused, Err(StoreError::ReadOnly { .. })), "{refused:?}");
        assert_eq!(block_on(store.sessions()).unwrap().len(), 1);
        disk.remount("rw");
        block_on(told.add_turn(&store, "is it writable?", "it is", Scope::Ambient));
        assert_eq!(block_on(store.load(&told.id)).unwrap().as_ref(), Some(&told.state));
        drop(store);
        let again = SqliteStore::open(&path).unwrap();
        assert_eq!(block_on(again.load(&told.id)).unwrap().as_ref(), Some(&told.state));
    }
}

/// As a kill leaves it: the database, and what SQLite keeps beside it.
fn copy_store(from: &Path, to: &Path) {
    let beside = |path: &Path, end: &str| PathBuf::from(format!("{}{end}", path.display()));
    for end in ["", "-wal", "-shm"].into_iter().filter(|end| beside(from, end).exists()) {
        std::fs::copy(beside(from, end), beside(to, end)).unwrap();
    }
}

/// Whoever cannot wait for another process's lock is told so soon, and may try again.
#[test]
fn a_lock_is_waited_for_as_long_as_was_said() {
    let (_dir, path) = fresh();
    let mut told = told(&path);
    let options = OpenOptions { lock_wait: Some(std::time::Duration::from_millis(10)), ..OpenOptions::default() };
    let store = SqliteStore::open_with(&path, &options).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    for _ in 0..3 {
        let refused = block_on(told.clone().append(&store, vec![turn_started(TurnNo(9), "no", None)]));
        assert!(matches!(refused, Err(StoreError::Busy { .. })), "{refused:?}");
    }
    other.execute_batch("ROLLBACK").unwrap();
    block_on(told.add_turn(&store, "is it free?", "it is", Scope::Ambient));
    assert_eq!(block_on(store.load(&told.id)).unwrap().as_ref(), Some(&told.state));
}

/// What a killed process left in the log of writes is not passed over in silence where nothing can be written.
#[test]
fn a_read_only_disk_never_shows_an_older_state() {
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = Disk::mount(dir.path(), "size=16m") else { return };
    let (_source, source) = fresh();
    let store = SqliteStore::open(&source).unwrap();
    let mut told = block_on(TestStream::create(&store, "main"));
    block_on(told.add_turn(&store, "only in the log", "of writes", Scope::Ambient));
    let beside = |path: &Path, end: &str| PathBuf::from(format!("{}{end}", path.display()));
    for (case, ends) in [("log", vec!["", "-wal"]), ("log and index", vec!["", "-wal", "-shm"])] {
        disk.remount("rw");
        let path = dir.path().join(format!("{case}.db"));
        for end in ends {
            std::fs::copy(beside(&source, end), beside(&path, end)).unwrap();
        }
        assert!(std::fs::metadata(beside(&path, "-wal")).unwrap().len() > 0, "the scene is set");
        disk.remount("ro");
        match SqliteStore::open(&path) {
            Ok(copy) => assert_eq!(block_on(copy.load(&told.id)).unwrap().as_ref(), Some(&told.state), "{case}"),
            Err(error) => assert!(
                matches!(error, StoreError::ReadOnly { .. } | StoreError::Unreadable { .. }),
                "{case}: {error}"
            ),
        }
    }
}
