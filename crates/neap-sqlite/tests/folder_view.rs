//! The live folder: always what a rebuild would write, whatever happened on the way.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]
#![allow(clippy::disallowed_methods, reason = "tests set the scene by hand")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::scene::{block_on, tree};
use neap_core::base::ids::{Stamp, TurnNo};
use neap_core::base::message::Scope;
use neap_core::base::tokens::Tokens;
use neap_core::session::event::{AbandonReason, CollapseCause, EffortEvent, Event, TurnEvent};
use neap_store::contract::{
    TestStream, effort, effort_concluded, effort_opened, session, tools_called, turn_completed, turn_started,
};
use neap_store::folder::{FolderViews, compare, read_folder, rewrite_folder};
use neap_store::{MemStore, Severity, Store};
use proptest::prelude::*;

/// What is for people to see.
fn shown(dir: &Path) -> BTreeMap<String, String> {
    let files = tree(dir).into_iter().filter(|(name, _)| !name.contains("/.view") && !name.starts_with('.'));
    files.map(|(name, bytes)| (name, String::from_utf8(bytes).unwrap())).collect()
}

fn rebuilt(store: &dyn Store) -> BTreeMap<String, String> {
    let fresh = tempfile::tempdir().unwrap();
    block_on(async {
        for info in store.sessions().await.unwrap() {
            rewrite_folder(store, fresh.path(), &info.session).await.unwrap();
        }
    });
    shown(fresh.path())
}

async fn rich(store: &dyn Store) -> TestStream {
    let mut told = TestStream::create(store, "my session").await;
    told.add_turn(store, "hello\nthere \"you\"", "hi", Scope::Ambient).await;
    let turn = TurnNo(2);
    let events = vec![
        turn_started(turn, "fix it", None),
        effort_opened("auth bug", turn),
        tools_called(turn, "found"),
        turn_completed(turn, "done", Scope::Effort(effort("auth bug"))),
        effort_concluded("auth bug", "Fixed: it was 'that' #1\nand no: other", turn),
        Event::Effort(EffortEvent::Expanded { id: effort("auth bug"), turn, tokens_loaded: Tokens(5) }),
        effort_opened("empty one", turn),
    ];
    told.append(store, events).await.unwrap();
    told
}

#[test]
fn a_folder_has_the_files_of_the_seeds() {
    let store: Arc<dyn Store> = Arc::new(MemStore::new());
    let root = tempfile::tempdir().unwrap();
    let told = block_on(rich(store.as_ref()));
    let views = FolderViews::start(root.path().to_owned(), store.clone());
    views.mark_changed(&told.id);
    block_on(views.flush());
    assert_eq!(views.problem(), None);
    let files = shown(root.path());
    let names: Vec<_> = files.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "my-session/efforts/0001.jsonl",
            "my-session/efforts/0002.jsonl",
            "my-session/expanded.json",
            "my-session/manifest.yaml",
            "my-session/raw.jsonl",
            "my-session/session_state.json",
        ]
    );
    assert_eq!(
        files["my-session/raw.jsonl"],
        "{\"role\":\"user\",\"content\":\"hello\\nthere \\\"you\\\"\",\"ts\":\"2026-02-15T18:00:01Z\"}\n\
         {\"role\":\"assistant\",\"content\":\"hi\",\"ts\":\"2026-02-15T18:00:02Z\"}\n"
    );
    let log = &files["my-session/efforts/0001.jsonl"];
    assert!(log.contains("\"tool_call_id\":\"call-2\"") && log.contains(",\"effort\":\"auth-bug\"}\n"), "{log}");
    assert_eq!(
        files["my-session/session_state.json"],
        "{\n  \"turn_count\": 2,\n  \"updated\": \"2026-02-15T18:00:09Z\"\n}\n"
    );
    let expanded: serde_json::Value = serde_json::from_str(&files["my-session/expanded.json"]).unwrap();
    assert_eq!(expanded["expanded"], serde_json::json!(["auth-bug"]));
    assert_eq!(expanded["summary_last_referenced_turn"]["auth-bug"], 2);
    // Our own folder imports.
    let read = read_folder(&root.path().join("my-session")).unwrap();
    assert_eq!(read.notes, Vec::<String>::new());
    assert_eq!(read.efforts[0].summary.as_deref(), Some("Fixed: it was 'that' #1\nand no: other"));
    assert_eq!((read.efforts.len(), read.ambient.len(), read.turn_count), (2, 2, Some(2)));
    assert!(read.efforts[1].active && read.efforts[1].lines.is_empty());
    assert_eq!(block_on(compare(store.as_ref(), root.path(), &told.id)).unwrap(), []);
}

#[test]
fn what_is_lost_or_changed_is_found_and_made_again() {
    let store: Arc<dyn Store> = Arc::new(MemStore::new());
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("my-session");
    let mut told = block_on(rich(store.as_ref()));
    let found = || block_on(compare(store.as_ref(), root.path(), &told.id)).unwrap();
    assert_eq!(found().len(), 1, "no folder yet");
    block_on(rewrite_folder(store.as_ref(), root.path(), &told.id)).unwrap();
    assert_eq!(found(), []);
    for name in tree(&dir).into_keys().filter(|name| !name.starts_with('.')) {
        std::fs::write(dir.join(&name), "changed").unwrap();
        assert!(found().iter().all(|f| f.severity == Severity::Repairable && f.what.contains(&name)));
        assert_eq!(found().len(), 1, "{name}");
        std::fs::remove_file(dir.join(&name)).unwrap();
        assert_eq!(found().len(), 1, "{name}");
        // A missing file is noticed by the next change, with nobody asking.
        let views = FolderViews::start(root.path().to_owned(), store.clone());
        views.mark_changed(&told.id);
        drop(views);
        assert_eq!(found(), [], "{name}");
    }
    block_on(told.add_turn(store.as_ref(), "later", "yes", Scope::Ambient));
    let behind = block_on(compare(store.as_ref(), root.path(), &told.id)).unwrap();
    assert_eq!(behind.iter().map(|f| f.severity).collect::<Vec<_>>(), [Severity::Note]);
    std::fs::remove_file(dir.join("efforts/0001.jsonl")).unwrap();
    let views = FolderViews::start(root.path().to_owned(), store.clone());
    views.mark_changed(&told.id);
    block_on(views.flush());
    assert_eq!(shown(root.path()), rebuilt(store.as_ref()), "a log lost while the folder was behind");
}

#[test]
fn a_crash_while_appending_is_undone() {
    let store: Arc<dyn Store> = Arc::new(MemStore::new());
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("my-session");
    let mut told = block_on(rich(store.as_ref()));
    block_on(rewrite_folder(store.as_ref(), root.path(), &told.id)).unwrap();
    for torn in ["{\"role\":\"user\",\"content\":\"hal", "", "whole line\n"] {
        let mut cursor: serde_json::Value =
            serde_json::from_slice(&std::fs::read(dir.join(".view.json")).unwrap()).unwrap();
        let raw = dir.join("raw.jsonl");
        let before = std::fs::read(&raw).unwrap();
        cursor["appending"] = serde_json::json!({"raw.jsonl": before.len(), "efforts/0003.jsonl": 0});
        std::fs::write(dir.join(".view.json"), cursor.to_string()).unwrap();
        std::fs::write(&raw, [before, torn.into()].concat()).unwrap();
        block_on(told.add_turn(store.as_ref(), "next", "one", Scope::Ambient));
        // Twice: what was repaired must be written to again.
        for _ in 0..2 {
            let views = FolderViews::start(root.path().to_owned(), store.clone());
            views.mark_changed(&told.id);
            block_on(views.flush());
            assert_eq!(views.problem(), None);
            assert_eq!(shown(root.path()), rebuilt(store.as_ref()), "{torn:?}");
            block_on(told.add_turn(store.as_ref(), "after", "that", Scope::Ambient));
        }
        block_on(rewrite_folder(store.as_ref(), root.path(), &told.id)).unwrap();
    }
}

#[test]
fn a_hostile_cursor_truncates_nothing_outside() {
    let store: Arc<dyn Store> = Arc::new(MemStore::new());
    let root = tempfile::tempdir().unwrap();
    let told = block_on(rich(store.as_ref()));
    block_on(rewrite_folder(store.as_ref(), root.path(), &told.id)).unwrap();
    let victim = root.path().join("victim");
    std::fs::write(&victim, "precious").unwrap();
    let cursor = root.path().join("my-session/.view.json");
    let mut json: serde_json::Value = serde_json::from_slice(&std::fs::read(&cursor).unwrap()).unwrap();
    json["appending"] = serde_json::json!({"../victim": 0});
    std::fs::write(&cursor, json.to_string()).unwrap();
    let views = FolderViews::start(root.path().to_owned(), store.clone());
    views.mark_changed(&told.id);
    block_on(views.flush());
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    assert_eq!(views.problem(), None);
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let store: Arc<dyn Store> = Arc::new(MemStore::new());
    let mut told = block_on(rich(store.as_ref()));
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("log"), "precious").unwrap();
    for linked in ["my-session", "my-session/efforts", "my-session/raw.jsonl", "my-session/.view.lock"] {
        let root = tempfile::tempdir().unwrap();
        block_on(rewrite_folder(store.as_ref(), root.path(), &told.id)).unwrap();
        let path = root.path().join(linked);
        let target = if path.is_dir() {
            std::fs::remove_dir_all(&path).unwrap();
            outside.path().to_owned()
        } else {
            std::fs::remove_file(&path).unwrap();
            outside.path().join("log")
        };
        std::os::unix::fs::symlink(&target, &path).unwrap();
        block_on(told.add_turn(store.as_ref(), "more", "words", Scope::Ambient));
        let views = FolderViews::start(root.path().to_owned(), store.clone());
        views.mark_changed(&told.id);
        block_on(views.flush());
        assert!(views.problem().is_some(), "{linked}");
        let _ = block_on(rewrite_folder(store.as_ref(), root.path(), &told.id));
        assert_eq!(tree(outside.path()), BTreeMap::from([("log".to_owned(), b"precious".to_vec())]), "{linked}");
    }
}

#[test]
fn an_erased_session_has_no_folder() {
    let store: Arc<dyn Store> = Arc::new(MemStore::new());
    let root = tempfile::tempdir().unwrap();
    let told = block_on(rich(store.as_ref()));
    let views = FolderViews::start(root.path().to_owned(), store.clone());
    views.mark_changed(&told.id);
    block_on(async {
        views.flush().await;
        store.scrub(&told.id, Stamp(5)).await.unwrap();
        assert_eq!(compare(store.as_ref(), root.path(), &told.id).await.unwrap().len(), 1);
        views.remove(&told.id).await.unwrap();
        assert_eq!(compare(store.as_ref(), root.path(), &told.id).await.unwrap(), []);
        views.mark_changed(&told.id);
        views.flush().await;
    });
    assert_eq!(views.problem(), None);
    assert!(!root.path().join("my-session").exists());
}

#[test]
fn two_keepers_of_one_folder_write_each_line_once() {
    let store: Arc<dyn Store> = Arc::new(MemStore::new());
    let root = tempfile::tempdir().unwrap();
    let mut told = block_on(TestStream::create(store.as_ref(), "shared"));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let keeper = FolderViews::start(root.path().to_owned(), store.clone());
                for _ in 0..30 {
                    keeper.mark_changed(&session("shared"));
                    block_on(keeper.flush());
                    assert_eq!(keeper.problem(), None);
                }
            });
        }
        for n in 0..200 {
            block_on(told.add_turn(store.as_ref(), &format!("line {n}"), "yes", Scope::Ambient));
            std::thread::yield_now();
        }
    });
    let last = FolderViews::start(root.path().to_owned(), store.clone());
    last.mark_changed(&told.id);
    block_on(last.flush());
    assert_eq!(shown(root.path()), rebuilt(store.as_ref()));
}

/// What was taken back leaves the log's file, written already or not.
#[test]
fn what_is_taken_back_is_in_no_file() {
    let store: Arc<dyn Store> = Arc::new(MemStore::new());
    let root = tempfile::tempdir().unwrap();
    let mut told = block_on(TestStream::create(store.as_ref(), "taken back"));
    let views = FolderViews::start(root.path().to_owned(), store.clone());
    let look = |told: &TestStream| {
        views.mark_changed(&told.id);
        block_on(views.flush());
        assert_eq!(shown(root.path()), rebuilt(store.as_ref()));
        shown(root.path()).into_values().collect::<String>()
    };
    let take = |told: &mut TestStream, turn: TurnNo| {
        let tokens = Tokens(1);
        block_on(told.append(
            store.as_ref(),
            vec![Event::Turn(TurnEvent::TakenBack { turn, scope: Scope::Ambient, tokens })],
        ))
        .unwrap();
    };
    block_on(told.add_turn(store.as_ref(), "the first word", "yes", Scope::Ambient));
    let second = block_on(told.add_turn(store.as_ref(), "the second word", "yes", Scope::Ambient));
    assert!(look(&told).contains("the second word"));
    take(&mut told, second);
    let now = look(&told);
    assert!(!now.contains("the second word") && now.contains("the first word"), "{now}");
    let third = block_on(told.add_turn(store.as_ref(), "the third word", "yes", Scope::Ambient));
    take(&mut told, third);
    block_on(told.add_turn(store.as_ref(), "the fourth word", "yes", Scope::Ambient));
    let now = look(&told);
    assert!(!now.contains("the third word") && now.contains("the fourth word"), "{now}");
}

/// A step of a random history.
#[derive(Debug, Clone)]
enum Step {
    Start,
    Tools(usize),
    End(usize, usize),
    Abandon(usize),
    Open(u8),
    Conclude(usize),
    Expand(usize),
    Collapse(usize),
    Look,
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let pick = || 0..4usize;
    prop_oneof![
        4 => Just(Step::Start),
        1 => pick().prop_map(Step::Tools),
        4 => (pick(), pick()).prop_map(|(turn, scope)| Step::End(turn, scope)),
        1 => pick().prop_map(Step::Abandon),
        1 => any::<u8>().prop_map(|n| Step::Open(n % 6)),
        1 => pick().prop_map(Step::Conclude),
        1 => pick().prop_map(Step::Expand),
        1 => pick().prop_map(Step::Collapse),
        3 => Just(Step::Look),
        1 => Just(Step::Restart),
    ]
}

/// The event that a step is in this state, if it can be one.
fn event(told: &TestStream, step: &Step) -> Option<Event> {
    let turn = told.state.turn();
    let in_flight = |n: &usize| told.state.head().pending.keys().copied().nth(*n);
    let nth = |n: &usize| told.state.efforts().nth(*n).map(|effort| effort.id.clone());
    let scope = |n: &usize| nth(n).map_or(Scope::Ambient, Scope::Effort);
    match step {
        Step::Start => Some(turn_started(turn.next(), &format!("said in {} \u{0}é", turn.next()), None)),
        Step::Tools(n) => in_flight(n).map(|turn| tools_called(turn, "result")),
        Step::End(n, m) => in_flight(n).map(|turn| turn_completed(turn, &format!("reply to {turn}"), scope(m))),
        Step::Abandon(n) => in_flight(n).map(|turn| {
            Event::Turn(TurnEvent::Abandoned { turn, reason: AbandonReason::Interrupted, scope: scope(n) })
        }),
        Step::Open(n) => {
            let name = format!("effort {n}");
            told.state.effort(&effort(&name)).is_none().then(|| effort_opened(&name, turn))
        }
        Step::Conclude(n) => nth(n).map(|id| effort_concluded(id.as_str(), "a: 'summary' # of it", turn)),
        Step::Expand(n) => nth(n)
            .filter(|id| told.state.effort(id).unwrap().is_concluded())
            .map(|id| Event::Effort(EffortEvent::Expanded { id, turn, tokens_loaded: Tokens(3) })),
        Step::Collapse(n) => nth(n).map(|id| {
            Event::Effort(EffortEvent::Collapsed {
                id,
                turn,
                cause: CollapseCause::Asked,
                tokens_freed: Tokens(3),
            })
        }),
        Step::Look | Step::Restart => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_live_folder_is_what_a_rebuild_gives(steps in prop::collection::vec(step(), 1..60)) {
        let store: Arc<dyn Store> = Arc::new(MemStore::new());
        let root = tempfile::tempdir().unwrap();
        let mut told = block_on(TestStream::create(store.as_ref(), "random"));
        let mut views = FolderViews::start(root.path().to_owned(), store.clone());
        for step in &steps {
            match step {
                Step::Look => {
                    views.mark_changed(&told.id);
                    block_on(views.flush());
                    prop_assert_eq!(shown(root.path()), rebuilt(store.as_ref()));
                }
                Step::Restart => {
                    drop(views);
                    views = FolderViews::start(root.path().to_owned(), store.clone());
                }
                Step::Start
                | Step::Tools(_)
                | Step::End(..)
                | Step::Abandon(_)
                | Step::Open(_)
                | Step::Conclude(_)
                | Step::Expand(_)
                | Step::Collapse(_) => {
                    if let Some(event) = event(&told, step) {
                        block_on(told.append(store.as_ref(), vec![event])).unwrap();
                        views.mark_changed(&told.id);
                    }
                }
            }
        }
        views.mark_changed(&told.id);
        drop(views);
        prop_assert_eq!(shown(root.path()), rebuilt(store.as_ref()));
        let found = block_on(compare(store.as_ref(), root.path(), &told.id)).unwrap();
        prop_assert_eq!(found, vec![]);
    }
}
