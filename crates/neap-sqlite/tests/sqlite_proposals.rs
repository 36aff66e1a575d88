//! What only a file can suffer: cards, counts and embeddings that are lost, stay after an erasure, or are another process's.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use std::path::Path;

use crate::scene::{block_on, tree};
use neap_core::base::ids::{Stamp, TurnNo};
use neap_core::base::message::Scope;
use neap_core::recall::{Query, TextKey, UnembeddedText};
use neap_sqlite::SqliteStore;
use neap_store::contract::{
    TestStream, effort, effort_concluded, effort_opened, embed_all, embedded_query, faults, letter_embedding,
    memory, memory_id, session, term_query, turn_started,
};
use neap_store::{Maintenance, SearchStore, Severity};
use rusqlite::Connection;

const MODEL: &str = "letters";
/// A word with a meaning like no other's: its bytes are found if they are anywhere.
const CANARY: &str = "qqqqqzzzzzjjjjjxxxxx";

/// Whether the bytes are in a file under the directory.
fn holds(dir: &Path, bytes: &[u8]) -> bool {
    tree(dir).values().any(|file| file.windows(bytes.len()).any(|window| window == bytes))
}

/// All that could tell of the canary: its letters, its hash as it stands in a card, and its embedding.
fn traces() -> Vec<Vec<u8>> {
    // Without the byte that says how often: it is once.
    let hash = crc32fast::hash(CANARY.as_bytes()).to_le_bytes();
    vec![CANARY.as_bytes().to_vec(), hash.to_vec(), letter_embedding(CANARY).to_bytes()]
}

/// Erasure on request: nothing is left in any file, not of the words, the card, the counts or the embedding.
#[test]
fn what_is_erased_is_in_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("neap.db");
    let store = SqliteStore::open(&path).unwrap();
    block_on(async {
        let mut told = TestStream::create(&store, "main").await;
        told.append(&store, vec![turn_started(TurnNo(1), CANARY, None)]).await.unwrap();
        let mut other = TestStream::create(&store, "other").await;
        for n in 0..30 {
            other.add_turn(&store, &format!("this stays {n}"), "yes", Scope::Ambient).await;
        }
        let mut newton = TestStream::create_agent(&store, "newton").await;
        newton.add_memory(&store, &memory("f1", CANARY, 1)).await;
        newton.add_memory(&store, &memory("f2", "this stays", 1)).await;
        embed_all(&store, MODEL).await;
        assert_eq!(store.find_candidates(&embedded_query(CANARY)).await.unwrap().document_frequencies, [1]);
        assert!(traces().iter().all(|trace| holds(dir.path(), trace)), "the scene is set");
        store.scrub(&told.id, Stamp(1)).await.unwrap();
        assert!(traces().iter().all(|trace| holds(dir.path(), trace)), "the memory is still there");
        store.erase_memory(&newton.id, memory_id("f1"), Stamp(1)).await.unwrap();
        for trace in traces() {
            assert!(!holds(dir.path(), &trace), "{trace:?}");
        }
        assert_eq!(store.find_candidates(&embedded_query(CANARY)).await.unwrap().document_frequencies, [0]);
        assert_eq!(faults(&store).await, []);
    });
    drop(store);
    assert!(traces().iter().all(|trace| !holds(dir.path(), trace)));
}

/// A summary that is replaced is embedded anew, and the old embedding is gone.
#[test]
fn an_embedding_that_is_replaced_is_in_no_row() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("neap.db");
    let store = SqliteStore::open(&path).unwrap();
    block_on(async {
        let mut told = TestStream::create(&store, "main").await;
        told.append(&store, vec![turn_started(TurnNo(1), "go", None), effort_opened("a", TurnNo(1))])
            .await
            .unwrap();
        told.append(&store, vec![effort_concluded("a", CANARY, TurnNo(1))]).await.unwrap();
        embed_all(&store, MODEL).await;
        let text = format!("a a {CANARY}");
        let rows = |text: &str| {
            let (db, bytes) = (Connection::open(&path).unwrap(), letter_embedding(text).to_bytes());
            db.query_row("SELECT count(*) FROM vectors WHERE vector = ?", [bytes], |row| row.get::<_, i64>(0))
                .unwrap()
        };
        assert_eq!(rows(&text), 1, "the scene is set");
        told.append(&store, vec![effort_concluded("a", "fine", TurnNo(1))]).await.unwrap();
        assert_eq!(rows(&text), 0);
        assert_eq!(embed_all(&store, MODEL).await, 1);
        assert_eq!(rows("a a fine"), 1);
    });
}

/// However often a text changes, memory holds one entry for it.
#[test]
fn a_text_that_is_embedded_again_and_again_is_in_memory_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&dir.path().join("neap.db")).unwrap();
    block_on(async {
        let mut told = TestStream::create(&store, "main").await;
        told.append(&store, vec![turn_started(TurnNo(1), "go", None), effort_opened("a", TurnNo(1))])
            .await
            .unwrap();
        for n in 0..6 {
            told.append(&store, vec![effort_concluded("a", &format!("apple {n}"), TurnNo(1))]).await.unwrap();
            embed_all(&store, MODEL).await;
            let found = store.find_candidates(&embedded_query("apple")).await.unwrap();
            assert_eq!(store.vector_cache_size().0 as u64, found.text_count, "change {n}");
        }
    });
}

/// Another process sees what is stored, embedded, changed and erased at once.
#[test]
fn another_process_sees_it_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("neap.db");
    let (writer, reader) = (SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap());
    block_on(async {
        let same = async |query: &Query| {
            let seen = reader.find_candidates(query).await.unwrap();
            assert_eq!(seen, writer.find_candidates(query).await.unwrap());
            seen
        };
        let mut told = TestStream::create(&writer, "main").await;
        for n in 1..=5 {
            told.add_turn(&writer, &format!("apple {n}"), "yes", Scope::Ambient).await;
            assert_eq!(same(&term_query("apple")).await.items.len(), n);
            embed_all(&writer, MODEL).await;
            let seen = same(&embedded_query("apple")).await;
            assert!(seen.unembedded == 0 && seen.items.iter().all(|card| card.similarity.is_some()));
        }
        told.append(&writer, vec![effort_opened("a", TurnNo(5))]).await.unwrap();
        embed_all(&writer, MODEL).await;
        let before = same(&embedded_query("apple")).await;
        told.append(&writer, vec![effort_concluded("a", "xxxx", TurnNo(5))]).await.unwrap();
        let after = same(&embedded_query("apple")).await;
        assert_eq!((before.unembedded, after.unembedded), (0, 1));
        // Whoever embeds may be killed and another goes on.
        assert_eq!(embed_all(&reader, MODEL).await, 1);
        assert_eq!(same(&embedded_query("xxxx")).await.unembedded, 0);
        writer.scrub(&told.id, Stamp(1)).await.unwrap();
        assert_eq!(same(&embedded_query("apple")).await.items, []);
    });
}

/// Two that write and one that asks: no error, and no text is ever half there.
#[test]
fn searches_go_on_while_others_write() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("neap.db");
    drop(SqliteStore::open(&path).unwrap());
    std::thread::scope(|scope| {
        let writers: Vec<_> = ["one", "two"]
            .map(|name| {
                let path = path.clone();
                scope.spawn(move || {
                    let store = SqliteStore::open(&path).unwrap();
                    block_on(async {
                        let mut told = TestStream::create(&store, name).await;
                        for n in 0..40 {
                            told.add_turn(&store, &format!("apple {n}"), "yes", Scope::Ambient).await;
                            embed_all(&store, MODEL).await;
                        }
                    });
                })
            })
            .into();
        let store = SqliteStore::open(&path).unwrap();
        let mut seen = 0;
        while writers.iter().any(|writer| !writer.is_finished()) {
            let found = block_on(store.find_candidates(&embedded_query("apple"))).unwrap();
            let ids: Vec<_> = found.items.iter().map(|card| card.id.clone()).collect();
            assert!(block_on(store.texts(&ids)).unwrap().iter().all(Option::is_some));
            assert!(found.text_count >= seen, "time runs forward");
            seen = found.text_count;
        }
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        let found = block_on(store.find_candidates(&embedded_query("apple"))).unwrap();
        assert_eq!((found.text_count, found.unembedded, found.document_frequencies[0]), (160, 0, 80));
        assert_eq!(block_on(faults(&store)), []);
    });
}

/// I4: whatever happens to a derived table is found and mended; until then the answer is an answer.
#[test]
fn each_loss_is_found_and_mended() {
    for harm in [
        "DELETE FROM cards",
        "DELETE FROM cards WHERE text IN (SELECT text FROM cards LIMIT 1)",
        "UPDATE cards SET nth = nth + 1",
        "UPDATE cards SET kind = 99",
        "UPDATE cards SET terms = x'010203'",
        "UPDATE cards SET sum = sum + 1",
        "UPDATE cards SET length = length + 1 WHERE kind = 0",
        "DELETE FROM frequencies",
        "UPDATE frequencies SET texts = texts + 1 WHERE texts = 1",
        "INSERT INTO frequencies(term, texts) VALUES (7, 7)",
        "DELETE FROM counts",
        "UPDATE counts SET texts = 99",
        "UPDATE counts SET length = 99",
        "INSERT INTO withheld(stream, turn) VALUES (1, 1)",
        "DELETE FROM vectors",
        "DELETE FROM vector_index",
        "UPDATE vectors SET vector = zeroblob(26) WHERE text = (SELECT min(text) FROM vectors)",
        "UPDATE embedded SET directions = 'text'",
        "UPDATE embedded SET directions = x'00'",
        "DELETE FROM unembedded",
        "UPDATE embedded SET texts = 99",
        "INSERT INTO unembedded(text) VALUES (7)",
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("neap.db");
        let store = SqliteStore::open(&path).unwrap();
        let (told, whole) = block_on(async {
            let mut told = TestStream::create(&store, "main").await;
            told.append(&store, vec![effort_opened("apple tart", TurnNo(0))]).await.unwrap();
            for n in 1..=4 {
                told.add_turn(&store, &format!("apple {n}"), "yes", Scope::Ambient).await;
            }
            let waiting = store.unembedded(MODEL, 5).await.unwrap();
            let batch = waiting
                .into_iter()
                .map(|UnembeddedText { id, text, .. }| (id, text.clone(), letter_embedding(&text)));
            store.put_embeddings(MODEL, batch.collect()).await.unwrap();
            let whole = store.find_candidates(&embedded_query("apple 3")).await.unwrap();
            (told, whole)
        });
        assert_eq!((whole.unembedded, whole.items.len()), (4, 7));
        drop(store);
        let changed = Connection::open(&path).unwrap().execute(harm, []).unwrap();
        assert!(changed > 0, "{harm}");
        let store = SqliteStore::open(&path).unwrap();
        block_on(async {
            store.find_candidates(&embedded_query("apple 3")).await.unwrap();
            store.unembedded(MODEL, 9).await.unwrap();
            let found = faults(&store).await;
            assert!(!found.is_empty(), "{harm}");
            assert!(found.iter().all(|finding| finding.severity == Severity::Repairable), "{harm}: {found:?}");
            assert_eq!(store.rebuild(&told.id).await.unwrap(), []);
            assert_eq!(faults(&store).await, [], "{harm}");
            let again = store.find_candidates(&embedded_query("apple 3")).await.unwrap();
            assert_eq!(
                (again.text_count, again.total_terms, &again.document_frequencies),
                (whole.text_count, whole.total_terms, &whole.document_frequencies)
            );
            embed_all(&store, MODEL).await;
            let all = store.find_candidates(&embedded_query("apple 3")).await.unwrap();
            assert!(
                all.unembedded == 0 && all.items.iter().all(|card| card.similarity.is_some()),
                "{harm}: {all:?}"
            );
            let key = TextKey::Effort(effort("apple tart"));
            assert!(all.items.iter().any(|card| card.id.key == key && card.id.stream == session("main")));
        });
    }
}

/// All that is derived for search is deleted at once; made anew and embedded anew, it answers as before.
#[test]
fn an_index_that_is_deleted_and_made_anew_gives_the_same_answers() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("neap.db");
    let questions = ["apple", "apple 3", "tart with cream", "yes", "zebra", "pear"];
    let answers = async |store: &SqliteStore| {
        let mut all = Vec::new();
        for question in questions {
            for query in [term_query(question), embedded_query(question)] {
                all.push(store.find_candidates(&query).await.unwrap());
            }
        }
        all
    };
    let store = SqliteStore::open(&path).unwrap();
    let (streams, before) = block_on(async {
        let mut main = TestStream::create(&store, "main").await;
        main.append(&store, vec![effort_opened("apple tart", TurnNo(0))]).await.unwrap();
        for n in 1..=9 {
            main.add_turn(&store, &format!("apple {n} with cream"), "yes", Scope::Ambient).await;
        }
        main.append(&store, vec![effort_concluded("apple tart", "a tart was baked", TurnNo(9))]).await.unwrap();
        let mut other = TestStream::create(&store, "other").await;
        other.add_turn(&store, "a pear and a zebra", "no", Scope::Ambient).await;
        let mut newton = TestStream::create_agent(&store, "newton").await;
        newton.add_memory(&store, &memory("f1", "apples fall", 1)).await;
        embed_all(&store, MODEL).await;
        ([main.id.clone(), other.id.clone(), newton.id.clone()], answers(&store).await)
    });
    drop(store);
    assert!(before.iter().any(|proposed| proposed.items.len() > 5 && proposed.mean_similarity != 0.0));
    let tables = [
        "cards", "frequencies", "counts", "vectors", "vector_index", "embedded", "unembedded", "withheld",
        "models",
    ];
    let db = Connection::open(&path).unwrap();
    for table in tables {
        db.execute(&format!("DELETE FROM {table}"), []).unwrap();
    }
    db.execute("INSERT INTO words(words) VALUES ('delete-all')", []).unwrap();
    drop(db);
    let store = SqliteStore::open(&path).unwrap();
    block_on(async {
        assert!(answers(&store).await.iter().all(|proposed| proposed.items.is_empty()), "it is gone");
        for stream in &streams {
            assert_eq!(store.rebuild(stream).await.unwrap(), []);
        }
        let by_words: Vec<_> = answers(&store).await.into_iter().step_by(2).collect();
        let want: Vec<_> =
            before.iter().step_by(2).map(|proposed| proposed.document_frequencies.clone()).collect();
        assert_eq!(by_words.into_iter().map(|proposed| proposed.document_frequencies).collect::<Vec<_>>(), want);
        embed_all(&store, MODEL).await;
        assert_eq!(answers(&store).await, before);
        assert_eq!(faults(&store).await, []);
    });
}
