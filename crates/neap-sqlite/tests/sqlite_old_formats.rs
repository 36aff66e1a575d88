//! A store that an older version made: it opens, is brought to the present format in place, and goes on.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use std::path::Path;

use crate::disk::Disk;
use crate::older::write_older;
use crate::scene::{block_on, tree};
use neap_core::base::ids::{Seq, TurnNo};
use neap_core::base::message::Scope;
use neap_core::base::tokens::Tokens;
use neap_core::recall::Query;
use neap_core::session::log::LogRequest;
use neap_core::session::state::{SessionHead, SessionState};
use neap_core::text::terms::query_terms;
use neap_sqlite::SqliteStore;
use neap_store::contract::{
    TestStream, effort, effort_concluded, effort_opened, embed_all, embedded_query, faults, memory, tools_called,
    turn_completed, turn_started,
};
use neap_store::{EventStore, Maintenance, SearchStore, StoredEvent};
use rusqlite::Connection;

const OLD: std::ops::RangeInclusive<i64> = 1..=10;
const FORMAT_WITH_CARDS: i64 = 6;
const TODAY: i64 = 11;

/// The second version packed bodies that were far behind, each by itself.
fn pack_rows(db: &Connection) {
    let dictionary = include_bytes!("../src/cold/dictionary_1.txt");
    let mut packer = zstd::bulk::Compressor::with_dictionary(9, dictionary).unwrap();
    let rows: Vec<(i64, String)> = db
        .prepare("SELECT seq, body FROM events ORDER BY seq")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    for (seq, body) in &rows[..rows.len() - 3] {
        let packed = [&[1], packer.compress(body.as_bytes()).unwrap().as_slice()].concat();
        db.execute("UPDATE events SET body = ? WHERE seq = ?", (packed, seq)).unwrap();
        db.execute("UPDATE sessions SET cold = ?", [seq]).unwrap();
    }
}

/// A session with turns that ended out of order, made by an older version.
fn old(path: &Path, format: i64) -> TestStream {
    let dir = tempfile::tempdir().unwrap();
    let today = dir.path().join("today.db");
    let told = block_on(async {
        let store = SqliteStore::open(&today).unwrap();
        let mut told = TestStream::create(&store, "main").await;
        told.append(&store, vec![effort_opened("auth bug", TurnNo(0))]).await.unwrap();
        told.add_turn(&store, "the login fails", "since when?", Scope::Effort(effort("auth bug"))).await;
        let (two, three) = (TurnNo(2), TurnNo(3));
        told.append(
            &store,
            vec![turn_started(two, "slow question", Some("a")), turn_started(three, "quick", None)],
        )
        .await
        .unwrap();
        told.append(&store, vec![turn_completed(three, "quick answer", Scope::Ambient)]).await.unwrap();
        let slow = vec![tools_called(two, "found much"), turn_completed(two, "slow answer", Scope::Ambient)];
        told.append(&store, slow).await.unwrap();
        told.append(&store, vec![effort_concluded("auth bug", "The token expired.", three)]).await.unwrap();
        told.add_turn(&store, "and then?", "nothing", Scope::Ambient).await;
        told
    });
    write_older(&today, path, format);
    if format == 2 || format == 3 {
        pack_rows(&Connection::open(path).unwrap());
    }
    told
}

fn check(store: &SqliteStore, told: &TestStream) {
    assert!(told.state.head().task.is_some(), "the scene is set");
    assert_eq!(block_on(store.load(&told.id)).unwrap().as_ref(), Some(&told.state));
    check_all_but_the_task(store, told);
    assert_eq!(proposed(store), 1);
}

/// How many texts are proposed for a word that one has.
fn proposed(store: &SqliteStore) -> usize {
    block_on(store.find_candidates(&Query::new(query_terms("login")))).unwrap().items.len()
}

fn check_all_but_the_task(store: &SqliteStore, told: &TestStream) {
    block_on(async {
        let state = store.load(&told.id).await.unwrap().unwrap();
        let head = SessionHead { task: told.state.head().task.clone(), ..state.head().clone() };
        assert_eq!(SessionState::from_parts(head, state.efforts().cloned()), told.state);
        let events: Vec<_> = told.events.iter().cloned().map(StoredEvent::Whole).collect();
        assert_eq!(store.events(&told.id, Seq(1), 1_000).await.unwrap(), events);
        let concluded = store.events_of_kinds(&told.id, &["effort_concluded"], None, 9).await.unwrap();
        let is_conclusion = |stored: &&StoredEvent| matches!(stored, StoredEvent::Whole(e) if e.event.kind() == "effort_concluded");
        assert_eq!(concluded, events.iter().filter(is_conclusion).cloned().collect::<Vec<_>>());
        let turns = |log: neap_core::session::log::Log| log.exchanges().map(|e| e.turn.0).collect::<Vec<_>>();
        let log = |request| async move { turns(store.log(&told.id, &request).await.unwrap()) };
        assert_eq!(log(LogRequest::newest(Scope::Ambient, Tokens(u64::MAX))).await[..3], [3, 2, 4]);
        assert_eq!(log(LogRequest::turns(Scope::Ambient, TurnNo(2), TurnNo(3))).await, [2, 3]);
        assert_eq!(log(LogRequest::oldest(Scope::Ambient, TurnNo(1), Tokens(1))).await, [2]);
        assert_eq!(store.turn_by_id(&told.id, "a").await.unwrap(), Some(TurnNo(2)));
        assert_eq!(faults(store).await, []);
    });
}

fn format(path: &Path) -> i64 {
    Connection::open(path).unwrap().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

/// Every table and index as SQLite knows it, whatever its spaces.
fn tables(path: &Path) -> Vec<[String; 4]> {
    let db = Connection::open(path).unwrap();
    let mut all = db.prepare("SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master").unwrap();
    let column =
        |row: &rusqlite::Row<'_>, at| row.get::<_, String>(at).map(|text| text.split_whitespace().collect());
    let read = |row: &rusqlite::Row<'_>| Ok([column(row, 0)?, column(row, 1)?, column(row, 2)?, column(row, 3)?]);
    let mut found: Vec<_> = all.query_map([], read).unwrap().collect::<Result<_, _>>().unwrap();
    found.sort();
    found
}

#[test]
fn an_old_store_is_brought_up_in_place() {
    let other = tempfile::tempdir().unwrap();
    let new = other.path().join("new.db");
    drop(SqliteStore::open(&new).unwrap());
    for old_format in OLD {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("neap.db");
        let mut told = old(&path, old_format);
        assert_eq!(format(&path), old_format);
        for _ in 0..2 {
            let store = SqliteStore::open(&path).unwrap();
            check(&store, &told);
            block_on(told.add_turn(&store, "on we go", "we do", Scope::Ambient));
            check(&store, &told);
            assert_eq!(block_on(store.rebuild(&told.id)).unwrap(), []);
            check(&store, &told);
        }
        assert_eq!(format(&path), TODAY);
        assert_eq!(tables(&path), tables(&new), "format {old_format}");
        assert_eq!(
            tree(dir.path()).into_keys().collect::<Vec<_>>(),
            ["neap.db", "neap.db-mark"],
            "nothing else is left"
        );
    }
}

/// Older embeddings are taken over: nothing is embedded again, and every answer is the same.
#[test]
fn embeddings_of_an_older_store_are_kept() {
    const MODEL: &str = "letters";
    let dir = tempfile::tempdir().unwrap();
    let today = dir.path().join("today.db");
    let answers = async |store: &SqliteStore| {
        let mut all = Vec::new();
        for question in ["login", "apples fall", "zebra"] {
            all.push(store.find_candidates(&embedded_query(question)).await.unwrap());
        }
        all
    };
    let store = SqliteStore::open(&today).unwrap();
    let before = block_on(async {
        let mut main = TestStream::create(&store, "main").await;
        main.add_turn(&store, "the login fails", "since when?", Scope::Ambient).await;
        main.append(&store, vec![effort_opened("a", TurnNo(1))]).await.unwrap();
        main.append(&store, vec![effort_concluded("a", "a login", TurnNo(1))]).await.unwrap();
        let mut newton = TestStream::create_agent(&store, "newton").await;
        newton.add_memory(&store, &memory("f1", "apples fall", 1)).await;
        embed_all(&store, MODEL).await;
        // What is removed leaves a row that says so.
        main.append(&store, vec![effort_concluded("a", "another login", TurnNo(1))]).await.unwrap();
        embed_all(&store, MODEL).await;
        answers(&store).await
    });
    drop(store);
    assert!(before.iter().any(|found| found.items.len() > 2 && found.mean_similarity != 0.0), "the scene is set");
    for old_format in FORMAT_WITH_CARDS..=*OLD.end() {
        let path = dir.path().join(format!("{old_format}.db"));
        write_older(&today, &path, old_format);
        let store = SqliteStore::open_to_examine(&path).unwrap();
        assert_eq!(block_on(faults(&store)), [], "until it is upgraded, nothing is wrong with it");
        drop(store);
        let store = SqliteStore::open(&path).unwrap();
        block_on(async {
            assert_eq!(answers(&store).await, before);
            assert_eq!(store.unembedded(MODEL, 9).await.unwrap(), []);
            assert_eq!(faults(&store).await, []);
        });
        assert_eq!(format(&path), TODAY);
    }
}

/// What an older version wrote becomes blocks, packed by itself or not.
#[test]
fn an_old_session_that_goes_on_is_packed_in_blocks() {
    for old_format in OLD {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("neap.db");
        let mut told = old(&path, old_format);
        let store = SqliteStore::open(&path).unwrap();
        for _ in 0..150 {
            block_on(told.add_turn(&store, "on we go", "we do", Scope::Ambient));
        }
        check(&store, &told);
        drop(store);
        let db = Connection::open(&path).unwrap();
        let first: i64 = db.query_row("SELECT min(first_seq) FROM blocks", [], |row| row.get(0)).unwrap();
        let rows: i64 = db.query_row("SELECT min(seq) FROM events", [], |row| row.get(0)).unwrap();
        assert!(first == 1 && rows > 128, "{first} {rows}");
    }
}

/// Many processes may open it at once: one of them brings it up, once.
#[test]
fn an_old_store_is_opened_by_many() {
    for old_format in OLD {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("neap.db");
        let told = old(&path, old_format);
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| check(&SqliteStore::open(&path).unwrap(), &told));
            }
        });
        assert_eq!(format(&path), TODAY);
    }
}

#[test]
fn an_old_store_can_be_read_where_nothing_can_be_written() {
    for old_format in OLD {
        let dir = tempfile::tempdir().unwrap();
        let Some(disk) = Disk::mount(dir.path(), "size=16m") else { return };
        let path = dir.path().join("neap.db");
        let told = old(&path, old_format);
        disk.remount("ro");
        let store = SqliteStore::open(&path).unwrap();
        check_all_but_the_task(&store, &told);
        // Where what proposals need is not there, it cannot be made; that is no error.
        assert_eq!(proposed(&store), usize::from(old_format >= FORMAT_WITH_CARDS));
    }
}
