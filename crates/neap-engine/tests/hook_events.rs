//! Prompts that hooks report without an id: deliveries of one event are one message, in whatever order and however closely they are
//! recorded.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::sync::Arc;

use neap_core::base::ids::{Seq, SessionId, Stamp, TurnNo};
use neap_core::client::transcript::TranscriptCount;
use neap_engine::{Engine, EngineError};
use neap_model::hook::HookEvent;
use neap_store::{EventStore as _, MemStore};
use proptest::prelude::*;
use serde_json::json;

/// When a prompt is said, how much later each delivery arrives, and whether they are recorded at once or one by one.
#[derive(Debug, Clone)]
struct Case {
    at: i64,
    apart: Vec<i64>,
    together: bool,
}

fn cases() -> impl Strategy<Value = Case> {
    (1_700_000_000_000..1_700_000_020_000_i64, prop::collection::vec(0..5_000_i64, 1..4), any::<bool>())
        .prop_map(|(at, apart, together)| Case { at, apart, together })
}

async fn stored_prompts(case: &Case) -> usize {
    let store = Arc::new(MemStore::default());
    let event = json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "go on"});
    let event = HookEvent::parse(None, &event.to_string()).unwrap();
    // Each delivery is another process.
    let record = |apart: &i64| {
        let (engine, hook) =
            (Engine::builder(store.clone()).build(), event.to_transcript(Stamp(case.at + apart)).unwrap());
        async move { engine.import_hook_event(&hook, TranscriptCount::default()).await.map(drop) }
    };
    if case.together {
        let tasks: Vec<_> = case.apart.iter().map(|apart| tokio::spawn(record(apart))).collect();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
    } else {
        for apart in &case.apart {
            record(apart).await.unwrap();
        }
    }
    let events = store.events(&event.session_id(), Seq(0), 1_000).await.unwrap();
    events.iter().filter(|stored| format!("{stored:?}").contains("go on")).count()
}

proptest! {
    #[test]
    fn deliveries_of_one_prompt_are_stored_once(case in cases()) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        prop_assert_eq!(runtime.block_on(stored_prompts(&case)), 1);
    }

    #[test]
    fn the_same_words_much_later_are_another_prompt(case in cases()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let case = Case { apart: vec![0, case.apart[0] + 10_000], together: false, ..case };
        prop_assert_eq!(runtime.block_on(stored_prompts(&case)), 2);
    }
}

/// Imports a transcript with the prompt, then records the hook's event; returns how often the prompt is stored.
async fn stored_after_import(seen: TranscriptCount) -> usize {
    let store = Arc::new(MemStore::default());
    let engine = Engine::builder(store.clone()).build();
    let json = json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "go on"});
    let event = HookEvent::parse(None, &json.to_string()).unwrap();
    let hook = event.to_transcript(Stamp(1_700_000_000_000)).unwrap();
    let mut transcript = hook.transcript.clone();
    transcript.records[0].keys = vec![hook.unkeyed_prompt.unwrap().nth_key(1)];
    engine.import_transcript(&transcript).await.unwrap();
    engine.import_hook_event(&hook, seen).await.unwrap();
    let events = store.events(&event.session_id(), Seq(0), 1_000).await.unwrap();
    events.iter().filter(|stored| format!("{stored:?}").contains("go on")).count()
}

/// A hook's event may be recorded after the transcript that has the same prompt was imported, as when it waited in the spool.
#[tokio::test]
async fn a_prompt_that_is_imported_before_its_hook_is_recorded_is_stored_once() {
    assert_eq!(stored_after_import(TranscriptCount { before: 0, read: 1 }).await, 1);
}

/// What is recorded but not in the transcript came from a hook, as in stores from before hooks left a key of their own, or from a
/// transcript that is gone: the prompt is another one.
#[tokio::test]
async fn a_prompt_that_the_transcript_does_not_have_is_another_one() {
    assert_eq!(stored_after_import(TranscriptCount::default()).await, 2);
    assert_eq!(stored_after_import(TranscriptCount { before: 1, read: 1 }).await, 2);
}

/// The newest turn of a session that another program holds is open until its next.
#[tokio::test]
async fn an_open_turn_is_explained_and_an_unknown_session_is_named() {
    let engine = Engine::builder(Arc::new(MemStore::default())).build();
    let json = json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "go on"});
    let event = HookEvent::parse(None, &json.to_string()).unwrap();
    let hook = event.to_transcript(Stamp(1_700_000_000_000)).unwrap();
    engine.import_hook_event(&hook, TranscriptCount::default()).await.unwrap();
    let explained = engine.explain(&event.session_id(), None).await.unwrap();
    assert_eq!((explained.turn.0, explained.message.as_deref()), (1, Some("go on")));
    let unknown = engine.explain(&SessionId::from_name("nope").unwrap(), Some(TurnNo(1))).await;
    assert!(matches!(unknown, Err(EngineError::NoSession(_))), "{unknown:?}");
    let no_turn = engine.explain(&event.session_id(), Some(TurnNo(2))).await;
    assert!(matches!(no_turn, Err(EngineError::NoTurn { .. })), "{no_turn:?}");
}
