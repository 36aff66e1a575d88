//! Several users of one file at once: each with a store of its own, as separate processes have.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::scene::block_on;
use neap_core::base::ids::{Seq, TurnNo};
use neap_core::base::message::Scope;
use neap_core::session::event::{Event, TurnEvent};
use neap_sqlite::SqliteStore;
use neap_store::contract::{TestStream, faults, session, turn_completed, turn_started};
use neap_store::{EventStore, Maintenance, StoreError, StoredEvent};

const WRITERS: u64 = 6;
const TURNS: u64 = 25;
const ROUNDS: usize = 100;

/// Reloads and says it again until it is stored, as an engine does.
async fn say(store: &SqliteStore, name: &str, said: &str) {
    loop {
        let mut told = TestStream::new(name);
        told.state = store.load(&told.id).await.unwrap().unwrap_or_default();
        let created = told.state.head().stream.is_none().then(|| told.created_event());
        let turn = told.state.turn().next();
        let events = created
            .into_iter()
            .chain([turn_started(turn, said, Some(said)), turn_completed(turn, said, Scope::Ambient)]);
        match told.append(store, events.collect()).await {
            Ok(()) => return,
            Err(StoreError::Conflict { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn nothing_is_lost_or_reordered_between_processes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("neap.db");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let path = path.clone();
                scope.spawn(move || {
                    let store = SqliteStore::open(&path).unwrap();
                    block_on(async {
                        for n in 0..TURNS {
                            say(&store, "shared", &format!("{writer}-{n}")).await;
                            say(&store, &format!("own {writer}"), &format!("{writer}-{n}")).await;
                        }
                    });
                })
            })
            .collect();
        let reader = scope.spawn(|| {
            let store = SqliteStore::open(&path).unwrap();
            let mut seen = Seq(0);
            while !done.load(Ordering::Relaxed) {
                let Some(state) = block_on(store.load(&session("shared"))).unwrap() else { continue };
                assert!(state.seq() >= seen, "time runs forward");
                seen = state.seq();
                assert_eq!(state.violations(), Vec::<String>::new());
            }
        });
        let written: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        done.store(true, Ordering::Relaxed);
        reader.join().unwrap();
        written.into_iter().for_each(|outcome| outcome.unwrap());
    });
    let store = SqliteStore::open(&path).unwrap();
    let stored = block_on(store.events(&session("shared"), Seq(1), 10_000)).unwrap();
    assert_eq!(stored.len() as u64, 1 + 2 * WRITERS * TURNS);
    let mut last = [None; WRITERS as usize];
    let mut turns = 0;
    for stored in stored {
        let StoredEvent::Whole(recorded) = stored else { panic!("{stored:?}") };
        if let Event::Turn(TurnEvent::Started { turn, turn_id: Some(id), .. }) = recorded.event {
            turns += 1;
            assert_eq!(turn, TurnNo(turns));
            let (writer, n) = id.split_once('-').unwrap();
            let n: u64 = n.parse().unwrap();
            let last = &mut last[writer.parse::<usize>().unwrap()];
            assert!(last.is_none_or(|before| before + 1 == n), "{id} after {last:?}");
            *last = Some(n);
        }
    }
    assert_eq!(turns, WRITERS * TURNS);
    assert_eq!(block_on(faults(&store)), []);
    assert_eq!(block_on(store.sessions()).unwrap().len() as u64, 1 + WRITERS);
}

/// SQLite does not wait by itself where a new file becomes one with a log of writes.
#[test]
fn many_may_come_to_a_new_store_at_once() {
    for _ in 0..ROUNDS {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("neap.db");
        let together = Barrier::new(WRITERS as usize);
        std::thread::scope(|scope| {
            for _ in 0..WRITERS {
                scope.spawn(|| {
                    together.wait();
                    SqliteStore::open(&path).unwrap();
                });
            }
        });
    }
}

/// Commits that wait together share a transaction; a refused one among them does not spoil the others.
#[test]
fn a_refused_commit_does_not_spoil_its_neighbours() {
    let dir = tempfile::tempdir().unwrap();
    let store = std::sync::Arc::new(SqliteStore::open(&dir.path().join("neap.db")).unwrap());
    block_on(async {
        let mut waiting = Vec::new();
        for n in 0..200 {
            // Every third commit names a session that another began, and so comes too late.
            let name = if n % 3 == 0 { "same".to_owned() } else { format!("s {n}") };
            let told = TestStream::new(&name);
            let (commit, _) = told.build_commit(vec![told.created_event()]);
            let store = store.clone();
            waiting.push(tokio::spawn(async move { store.commit(commit).await }));
        }
        let mut stored = 0;
        for one in waiting {
            match one.await.unwrap() {
                Ok(()) => stored += 1,
                Err(StoreError::Conflict { .. }) => {}
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(stored, 133 + 1);
        assert_eq!(store.sessions().await.unwrap().len(), stored);
        assert_eq!(faults(store.as_ref()).await, []);
    });
}
