//! What a store costs: `cargo bench -p neap-sqlite --bench cost` prints figures and judges nothing.
#![allow(clippy::unwrap_used, reason = "in a bench a panic is a result")]
#![allow(clippy::print_stdout, reason = "figures are what this is for")]

use neap_store::EventStore;
use neap_store::Maintenance;
use neap_store::SearchStore;
use std::sync::Arc;
use std::time::Instant;

use neap_core::base::ids::TurnNo;
use neap_core::base::message::Scope;
use neap_core::recall::Query;
use neap_core::session::event::Event;
use neap_core::session::state::SessionState;
use neap_core::text::terms::query_terms;
use neap_sqlite::SqliteStore;
use neap_store::contract::{TestStream, effort, effort_concluded, effort_opened, turn_completed, turn_started};
use neap_store::folder::{FolderViews, rewrite_folder};

const EFFORTS: u64 = 5_000;

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(&dir.path().join("neap.db")).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut told = TestStream::create(store.as_ref(), "large").await;
        let began = Instant::now();
        let events: Vec<Event> = (0..EFFORTS)
            .flat_map(|n| {
                let name = format!("effort number {n}");
                let summary =
                    format!("Summary {n}: the {} module was changed so that it works again. ", n * 7).repeat(4);
                let turn = TurnNo(n + 1);
                [
                    turn_started(turn, "a question of ordinary length, twelve words", None),
                    effort_opened(&name, turn),
                    effort_concluded(&name, &summary, turn),
                    turn_completed(turn, "and a reply to it", Scope::Effort(effort(&name))),
                ]
            })
            .collect();
        told.append(store.as_ref(), events).await.unwrap();
        println!("{EFFORTS} efforts in one commit: {:?}", began.elapsed());
        for _ in 0..3 {
            let began = Instant::now();
            let loaded = store.load(&told.id).await.unwrap().unwrap();
            println!("load of {EFFORTS} efforts: {:?}", began.elapsed());
            assert_eq!(loaded.efforts().len() as u64, EFFORTS);
        }
        let loaded = store.load(&told.id).await.unwrap().unwrap();
        let efforts: Vec<_> = loaded.efforts().cloned().collect();
        let began = Instant::now();
        let again = SessionState::from_parts(loaded.head().clone(), efforts);
        println!("of that, putting the state together: {:?}", began.elapsed());
        assert_eq!(again, loaded);
        let mut small = TestStream::create(store.as_ref(), "small").await;
        let mut commits = Vec::new();
        for n in 1..=600 {
            let (commit, after) = small.build_commit(vec![turn_started(
                TurnNo(n),
                "a question of ordinary length, twelve words",
                None,
            )]);
            commits.push(commit);
            small = after;
        }
        let mut each = Vec::new();
        for commit in commits {
            let began = Instant::now();
            store.commit(commit).await.unwrap();
            each.push(began.elapsed());
        }
        each.sort();
        println!("one commit, alone: p50 {:?}, p99 {:?}", each[300], each[594]);
        for query in ["module", "4711"] {
            let began = Instant::now();
            let found = store.find_candidates(&Query::new(query_terms(query))).await.unwrap();
            println!("search {query:?}: {:?}, {} candidates", began.elapsed(), found.items.len());
        }
        let began = Instant::now();
        let mut waiting = Vec::new();
        for writer in 0..64 {
            let store = store.clone();
            waiting.push(tokio::spawn(async move {
                let mut told = TestStream::create(store.as_ref(), &format!("writer {writer}")).await;
                for n in 1..=50 {
                    told.append(
                        store.as_ref(),
                        vec![turn_started(TurnNo(n), "a question of ordinary length", None)],
                    )
                    .await
                    .unwrap();
                }
            }));
        }
        for one in waiting {
            one.await.unwrap();
        }
        println!("64 writers: {:.0} commits/s", 64.0 * 51.0 / began.elapsed().as_secs_f64());
        for _ in 0..3 {
            let began = Instant::now();
            rewrite_folder(store.as_ref(), dir.path(), &told.id).await.unwrap();
            println!("folder of {EFFORTS} efforts, whole: {:?}", began.elapsed());
        }
        let views = FolderViews::start(dir.path().to_owned(), store.clone());
        for _ in 0..2 {
            told.add_turn(store.as_ref(), "one", "more", Scope::Ambient).await;
            let began = Instant::now();
            views.mark_changed(&told.id);
            views.flush().await;
            println!("folder of {EFFORTS} efforts, one exchange more: {:?}", began.elapsed());
        }
        let began = Instant::now();
        store.examine(None).await.unwrap();
        println!("examine: {:?}", began.elapsed());
        let began = Instant::now();
        store.rebuild(&told.id).await.unwrap();
        println!("rebuild: {:?}", began.elapsed());
    });
}
