//! A store that the first version made: it opens, is brought to the present format in place, and goes on.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

mod scene;

use std::path::Path;

use neap_core::ids::{Seq, TurnNo};
use neap_core::log::LogRequest;
use neap_core::message::Scope;
use neap_core::rank::SearchRequest;
use neap_core::terms::query_terms;
use neap_core::tokens::Tokens;
use neap_store::contract::{Told, complete, conclude, effort, faults, open, start, tools};
use neap_store::sqlite::SqliteStore;
use neap_store::{Store, Stored};
use rusqlite::Connection;
use scene::{Disk, block_on, tree};

/// The tables as the first version made them.
const FORMAT_1: &str = "
CREATE TABLE sessions(
  stream INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  texts INTEGER NOT NULL,
  head TEXT NOT NULL
);
CREATE TABLE events(
  stream INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL,
  sum INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY(stream, seq)
) WITHOUT ROWID;
CREATE TABLE efforts(
  text INTEGER PRIMARY KEY,
  stream INTEGER NOT NULL,
  id TEXT NOT NULL,
  body TEXT NOT NULL,
  UNIQUE(stream, id)
);
CREATE TABLE exchanges(
  stream INTEGER NOT NULL,
  scope TEXT NOT NULL,
  last_seq INTEGER NOT NULL,
  first_seq INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  at INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  PRIMARY KEY(stream, scope, last_seq)
) WITHOUT ROWID;
CREATE INDEX exchanges_by_turn ON exchanges(stream, turn);
CREATE TABLE turn_ids(
  stream INTEGER NOT NULL,
  turn_id TEXT NOT NULL,
  turn INTEGER NOT NULL,
  PRIMARY KEY(stream, turn_id)
) WITHOUT ROWID;
-- The words come analysed; to the ascii tokenizer everything beyond ASCII is part of a word.
CREATE VIRTUAL TABLE words USING fts5(
  terms, content='', contentless_delete=1, detail=none, tokenize='ascii'
);
PRAGMA application_id = 0x4e656170;
PRAGMA user_version = 1;
PRAGMA journal_mode = WAL;
";

/// What the first version would have written: the rows of a store of today's whose events are all plain.
const ROWS: &str = "
INSERT INTO sessions SELECT stream, name, texts, head FROM today.sessions;
INSERT INTO events SELECT stream, seq, at, kind, sum, body FROM today.events;
INSERT INTO efforts SELECT text, stream, id, body FROM today.efforts;
INSERT INTO exchanges SELECT stream, scope, last_seq, first_seq, turn, at, tokens FROM today.exchanges;
INSERT INTO turn_ids SELECT stream, turn_id, turn FROM today.turn_ids;
DELETE FROM words_data; INSERT INTO words_data SELECT * FROM today.words_data;
DELETE FROM words_idx; INSERT INTO words_idx SELECT * FROM today.words_idx;
DELETE FROM words_docsize; INSERT INTO words_docsize SELECT * FROM today.words_docsize;
";

/// A session with turns that ended out of order, made by the first version.
fn old(path: &Path) -> Told {
    let dir = tempfile::tempdir().unwrap();
    let today = dir.path().join("today.db");
    let told = block_on(async {
        let store = SqliteStore::open(&today).unwrap();
        let mut told = Told::begin(&store, "main").await;
        told.tell(&store, vec![open("auth bug", TurnNo(0))]).await.unwrap();
        told.turn(&store, "the login fails", "since when?", Scope::Effort(effort("auth bug"))).await;
        let (two, three) = (TurnNo(2), TurnNo(3));
        told.tell(&store, vec![start(two, "slow question", Some("a")), start(three, "quick", None)])
            .await
            .unwrap();
        told.tell(&store, vec![complete(three, "quick answer", Scope::Ambient)]).await.unwrap();
        let slow = vec![tools(two, "found much"), complete(two, "slow answer", Scope::Ambient)];
        told.tell(&store, slow).await.unwrap();
        told.tell(&store, vec![conclude("auth bug", "The token expired.", three)]).await.unwrap();
        told.turn(&store, "and then?", "nothing", Scope::Ambient).await;
        told
    });
    let db = Connection::open(path).unwrap();
    db.execute_batch(FORMAT_1).unwrap();
    db.execute("ATTACH ? AS today", [today.to_str().unwrap()]).unwrap();
    db.execute_batch(ROWS).unwrap();
    told
}

fn check(store: &SqliteStore, told: &Told) {
    block_on(async {
        assert_eq!(store.load(&told.id).await.unwrap().as_ref(), Some(&told.state));
        let events: Vec<_> = told.events.iter().cloned().map(Stored::Event).collect();
        assert_eq!(store.events(&told.id, Seq(1), 1_000).await.unwrap(), events);
        let turns = |log: neap_core::log::Log| log.exchanges().map(|e| e.turn.0).collect::<Vec<_>>();
        let log = |request| async move { turns(store.log(&told.id, &request).await.unwrap()) };
        assert_eq!(log(LogRequest::newest(Scope::Ambient, Tokens(u64::MAX))).await[..3], [3, 2, 4]);
        assert_eq!(log(LogRequest::turns(Scope::Ambient, TurnNo(2), TurnNo(3))).await, [2, 3]);
        assert_eq!(log(LogRequest::oldest(Scope::Ambient, TurnNo(1), Tokens(1))).await, [2]);
        assert_eq!(store.turn_of(&told.id, "a").await.unwrap(), Some(TurnNo(2)));
        let found = store.search(None, &SearchRequest::new(query_terms("login"))).await.unwrap();
        assert_eq!(found[0].1.candidates.len(), 1);
        assert_eq!(faults(store).await, []);
    });
}

fn format(path: &Path) -> i64 {
    Connection::open(path).unwrap().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

#[test]
fn an_old_store_is_brought_up_in_place() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("neap.db");
    let mut told = old(&path);
    assert_eq!(format(&path), 1);
    for _ in 0..2 {
        let store = SqliteStore::open(&path).unwrap();
        check(&store, &told);
        block_on(told.turn(&store, "on we go", "we do", Scope::Ambient));
        check(&store, &told);
        assert_eq!(block_on(store.rebuild(&told.id)).unwrap(), []);
        check(&store, &told);
    }
    assert_eq!(format(&path), 3);
    assert_eq!(tree(dir.path()).len(), 1, "nothing is left beside it");
}

/// Many processes may open it at once: one of them brings it up, once.
#[test]
fn an_old_store_is_opened_by_many() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("neap.db");
    let told = old(&path);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| check(&SqliteStore::open(&path).unwrap(), &told));
        }
    });
    assert_eq!(format(&path), 3);
}

#[test]
fn an_old_store_can_be_read_where_nothing_can_be_written() {
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = Disk::mount(dir.path(), "size=16m") else { return };
    let path = dir.path().join("neap.db");
    let told = old(&path);
    disk.remount("ro");
    let store = SqliteStore::open(&path).unwrap();
    check(&store, &told);
}
