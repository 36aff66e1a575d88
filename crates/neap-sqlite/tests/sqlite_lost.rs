//! A store whose files do not belong together is never made anew, shortened or mixed: opening it is an error that names what is there.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]
#![allow(clippy::disallowed_methods, reason = "tests set the scene by hand")]

use std::path::{Path, PathBuf};

use crate::scene::{block_on, tree};
use neap_core::base::message::Scope;
use neap_sqlite::{OpenOptions, SqliteStore};
use neap_store::contract::{TestStream, session};
use neap_store::{EventStore, Maintenance, StoreError};

fn beside(path: &Path, end: &str) -> PathBuf {
    PathBuf::from(format!("{}{end}", path.display()))
}

fn copy(from: &Path, to: &Path, ends: &[&str]) {
    for end in ends {
        let _ = std::fs::remove_file(beside(to, end));
        if beside(from, end).exists() {
            std::fs::copy(beside(from, end), beside(to, end)).unwrap();
        }
    }
}

/// Everything that is there while a store is open, as a kill would leave it.
const ALL: [&str; 4] = ["", "-wal", "-shm", "-mark"];

/// A place with a store that was killed after `turns` turns, of which the last `logged` are in its log alone.
fn killed(dir: &Path, name: &str, turns: usize, logged: usize) -> PathBuf {
    let live = dir.join(format!("{name}-live.db"));
    let path = dir.join(name).join("neap.db");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut told = block_on(async {
        let store = SqliteStore::open(&live).unwrap();
        let mut told = TestStream::create(&store, "main").await;
        for n in logged..turns {
            told.add_turn(&store, &format!("{name} question {n}"), "answer", Scope::Ambient).await;
        }
        told
    });
    let store = SqliteStore::open(&live).unwrap();
    block_on(async {
        for n in 0..logged {
            told.add_turn(&store, &format!("{name} late question {n}"), "answer", Scope::Ambient).await;
        }
        // The marker follows the acknowledgement; whoever examines is answered after it was written.
        store.rebuild(&session("nobody")).await.unwrap();
    });
    copy(&live, &path, &ALL);
    path
}

fn turns(store: &SqliteStore) -> u64 {
    block_on(store.load(&session("main"))).unwrap().unwrap().turn().0
}

/// Opening is refused, names these words, and changes nothing.
#[track_caller]
fn refused(path: &Path, words: &[&str]) {
    let dir = path.parent().unwrap();
    for is_brief in [false, true] {
        let before = tree(dir);
        let options = OpenOptions { folders: Some(dir.join("sessions")), is_brief, ..OpenOptions::default() };
        let error =
            SqliteStore::open_with(path, &options).err().unwrap_or_else(|| panic!("it was opened: {words:?}"));
        assert!(matches!(error, StoreError::Lost { .. }), "{error}");
        for words in words {
            assert!(error.to_string().contains(words), "{words:?} is not in: {error}");
        }
        assert_eq!(tree(dir).keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
        assert!(tree(dir) == before, "a file was changed");
    }
}

#[test]
fn a_killed_store_is_opened_with_all_that_is_in_its_log() {
    let dir = tempfile::tempdir().unwrap();
    for ends in [&ALL[..], &["", "-wal", "-mark"], &["", "-wal", "-shm"], &["", "-wal"]] {
        let path = killed(dir.path(), "a", 4, 2);
        let copied = dir.path().join("copied.db");
        copy(&path, &copied, &ALL.map(|_| "-nothing"));
        for end in ALL {
            let _ = std::fs::remove_file(beside(&copied, end));
        }
        copy(&path, &copied, ends);
        assert_eq!(turns(&SqliteStore::open(&copied).unwrap()), 4, "{ends:?}");
        let _ = std::fs::remove_file(dir.path().join("a-live.db"));
        for end in ALL {
            let _ = std::fs::remove_file(beside(&dir.path().join("a-live.db"), end));
        }
    }
}

#[test]
fn an_empty_or_missing_database_beside_a_log_is_refused() {
    for state in ["empty", "missing"] {
        for marker in [true, false] {
            let dir = tempfile::tempdir().unwrap();
            let path = killed(dir.path(), "a", 4, 4);
            std::fs::remove_file(&path).unwrap();
            if state == "empty" {
                std::fs::write(&path, "").unwrap();
            }
            if !marker {
                std::fs::remove_file(beside(&path, "-mark")).unwrap();
            }
            refused(&path, &[&format!("neap.db is {state}"), "neap.db-wal has ", " bytes", "9 events in "]);
        }
    }
}

#[test]
fn a_database_that_vanished_is_missed_for_its_marker() {
    let dir = tempfile::tempdir().unwrap();
    let path = killed(dir.path(), "a", 3, 0);
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(beside(&path, end));
    }
    refused(&path, &["neap.db is missing", "neap.db-mark says", "7 events in ", "2026-02-15T"]);
}

#[test]
fn an_empty_database_beside_session_folders_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("neap.db");
    let folder = dir.path().join("sessions").join("work");
    std::fs::create_dir_all(&folder).unwrap();
    // Nothing was said there: nothing can be lost.
    std::fs::write(folder.join("raw.jsonl"), "").unwrap();
    let options = OpenOptions { folders: Some(dir.path().join("sessions")), ..OpenOptions::default() };
    drop(SqliteStore::open_with(&path, &options).unwrap());
    std::fs::write(folder.join("raw.jsonl"), "{\"role\":\"user\",\"content\":\"hello\"}\n").unwrap();
    drop(SqliteStore::open_with(&path, &options).unwrap());
    for end in ALL {
        let _ = std::fs::remove_file(beside(&path, end));
    }
    refused(&path, &["neap.db is missing", "sessions has the folders of 1 sessions", "'work'"]);
    std::fs::write(&path, "").unwrap();
    refused(&path, &["neap.db is empty"]);
}

#[test]
fn a_lost_log_is_missed() {
    let dir = tempfile::tempdir().unwrap();
    let path = killed(dir.path(), "a", 6, 4);
    std::fs::remove_file(beside(&path, "-wal")).unwrap();
    refused(
        &path,
        &["has lost what was written last", "it has 5 events", "there is no ", "the store had 13 events"],
    );
    std::fs::write(beside(&path, "-wal"), "").unwrap();
    refused(&path, &["has lost what was written last"]);
    std::fs::write(beside(&path, "-wal"), vec![0; 100_000]).unwrap();
    refused(&path, &["neap.db-wal has 100000 bytes", "cannot be parsed"]);
}

#[test]
fn a_halved_log_is_missed_with_and_without_its_index() {
    let dir = tempfile::tempdir().unwrap();
    let path = killed(dir.path(), "a", 8, 6);
    let whole = std::fs::read(beside(&path, "-wal")).unwrap();
    for part in [2, 3, 5] {
        std::fs::write(beside(&path, "-wal"), &whole[..whole.len() * (part - 1) / part]).unwrap();
        refused(&path, &["has lost what was written last", "the store had 17 events"]);
    }
    let _ = std::fs::remove_file(beside(&path, "-shm"));
    refused(&path, &["has lost what was written last"]);
}

/// Also without a marker: what follows a damaged frame says that it was durable.
#[test]
fn a_damaged_log_is_refused_where_sqlite_would_pass_over_its_rest() {
    let dir = tempfile::tempdir().unwrap();
    let path = killed(dir.path(), "a", 8, 6);
    std::fs::remove_file(beside(&path, "-mark")).unwrap();
    let whole = std::fs::read(beside(&path, "-wal")).unwrap();
    for at in [32 + 3, 32 + 20, 32 + 500, 5_000, whole.len() / 3] {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x20;
        std::fs::write(beside(&path, "-wal"), flipped).unwrap();
        refused(&path, &["neap.db-wal is damaged at frame "]);
    }
    let mut flipped = whole;
    flipped[9] ^= 1;
    std::fs::write(beside(&path, "-wal"), flipped).unwrap();
    refused(&path, &["cannot be parsed"]);
}

#[test]
fn the_log_of_another_store_is_not_applied() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (killed(dir.path(), "a", 4, 2), killed(dir.path(), "b", 4, 2));
    copy(&b, &a, &["-wal", "-shm"]);
    refused(&a, &["neap.db-wal is the log of another store"]);
    std::fs::remove_file(beside(&a, "-mark")).unwrap();
    refused(&a, &["neap.db-wal is the log of another store"]);
}

#[test]
fn an_older_or_other_database_in_the_place_of_a_newer_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let old = killed(dir.path(), "old", 2, 0);
    let path = dir.path().join("now").join("neap.db");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    copy(&old, &path, &ALL);
    let store = SqliteStore::open(&path).unwrap();
    let mut told = TestStream::new("main");
    told.state = block_on(store.load(&told.id)).unwrap().unwrap();
    for n in 0..3 {
        block_on(told.add_turn(&store, &format!("later {n}"), "answer", Scope::Ambient));
    }
    drop(store);
    let newer = std::fs::read(&path).unwrap();
    // The whole of an older backup, but for the marker.
    std::fs::copy(&old, &path).unwrap();
    refused(&path, &["has lost what was written last", "5 events", "11 events"]);
    // Another store.
    let other = killed(dir.path(), "other", 30, 0);
    std::fs::copy(&other, &path).unwrap();
    refused(&path, &["is not the store that was here last"]);
    // Its own again.
    std::fs::write(&path, newer).unwrap();
    assert_eq!(turns(&SqliteStore::open(&path).unwrap()), 5);
}

/// An older database beside the newer log, and an older log beside the newer database: SQLite would mix them.
#[test]
fn files_of_two_moments_are_not_mixed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("neap.db");
    let kept = |name: &str| dir.path().join(name).join("neap.db");
    let keep = |name: &str| {
        std::fs::create_dir_all(kept(name).parent().unwrap()).unwrap();
        copy(&path, &kept(name), &ALL);
    };
    let mut told = TestStream::new("main");
    for round in 0..3 {
        let store = SqliteStore::open(&path).unwrap();
        block_on(async {
            if round == 0 {
                told = TestStream::create(&store, "main").await;
            }
            for n in 0..3 {
                told.add_turn(&store, &format!("round {round} {n}"), "answer", Scope::Ambient).await;
            }
            store.rebuild(&session("nobody")).await.unwrap();
        });
        keep(&format!("killed {round}"));
        drop(store);
        keep(&format!("closed {round}"));
    }
    for round in 0..3 {
        assert_eq!(turns(&SqliteStore::open(&kept(&format!("closed {round}"))).unwrap()), 3 * round + 3);
    }
    for marker in [true, false] {
        // (database, log)
        for (database, log) in [("closed 0", "killed 2"), ("killed 1", "killed 2"), ("closed 2", "killed 1")] {
            let mixed = kept(&format!("{database} {log} {marker}"));
            std::fs::create_dir_all(mixed.parent().unwrap()).unwrap();
            copy(&kept(database), &mixed, &[""]);
            copy(&kept(log), &mixed, &["-wal"]);
            if marker {
                copy(&kept("closed 2"), &mixed, &["-mark"]);
            }
            let fits = log == "killed 2" && ["killed 1", "closed 0"].contains(&database);
            let words = if fits { "is older than its log" } else { "is older than its database" };
            refused(&mixed, &[words]);
        }
    }
}

/// The marker is a note: whoever removes it, damages it or brings an older one back loses nothing by that.
#[test]
fn a_store_opens_without_its_marker_and_writes_it_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = killed(dir.path(), "a", 3, 0);
    let marker = beside(&path, "-mark");
    let newest = std::fs::read(&marker).unwrap();
    for harm in ["missing", "empty", "garbage"] {
        match harm {
            "missing" => std::fs::remove_file(&marker).unwrap(),
            "empty" => std::fs::write(&marker, "").unwrap(),
            _ => std::fs::write(&marker, vec![0xEE; 4_000]).unwrap(),
        }
        let store = SqliteStore::open(&path).unwrap();
        assert_eq!(turns(&store), 3, "{harm}");
        drop(store);
        assert!(std::fs::read(&marker).is_ok_and(|now| now == newest), "{harm}");
    }
}

/// Erasing writes the file anew and shortens it: that is no loss, also if the marker was not written since.
#[test]
fn what_was_erased_is_not_missed() {
    let dir = tempfile::tempdir().unwrap();
    let path = killed(dir.path(), "a", 40, 0);
    let older = std::fs::read(beside(&path, "-mark")).unwrap();
    let store = SqliteStore::open(&path).unwrap();
    block_on(store.scrub(&session("main"), neap_core::base::ids::Stamp(9))).unwrap();
    drop(store);
    drop(SqliteStore::open(&path).unwrap());
    std::fs::write(beside(&path, "-mark"), older).unwrap();
    drop(SqliteStore::open(&path).unwrap());
}
