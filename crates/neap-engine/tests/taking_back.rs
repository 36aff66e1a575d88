//! What was said last is taken back: gone from the context and from search, and stored all the same.

use crate::stage::Stage;
use neap_core::recall::Filter;
use neap_engine::Author;

async fn shown(stage: &mut Stage) -> String {
    let context = stage.session.assemble(Some("what now?")).await.expect("a context");
    context.messages.iter().map(|placed| format!("{}\n", placed.counted.message.content)).collect()
}

async fn found(stage: &Stage, words: &str) -> usize {
    stage.engine.search(words, Filter::for_stream(stage.session.id()), 8).await.expect("a search").len()
}

#[tokio::test]
async fn what_is_taken_back_is_neither_shown_nor_found_and_its_handle_leads_to_it() {
    let mut stage = Stage::new().await;
    stage.say("the harbour is closed", &[], "understood").await;
    stage.say("the ferry leaves at nine", &[], "noted: nine").await;
    let before = stage.session.state().log_size(&neap_core::base::message::Scope::Ambient);
    assert_eq!(found(&stage, "ferry").await, 1);
    let taken = stage.session.undo_turn().await.unwrap().unwrap();
    assert_eq!((taken.turn.0, taken.user_text.as_str()), (2, "the ferry leaves at nine"));
    let shown_now = shown(&mut stage).await;
    assert!(!shown_now.contains("ferry") && !shown_now.contains("noted: nine"), "{shown_now}");
    assert!(shown_now.contains("the harbour is closed"), "{shown_now}");
    assert_eq!(found(&stage, "ferry").await, 0);
    let after = stage.session.state().log_size(&neap_core::base::message::Scope::Ambient);
    assert!(after.exchanges == before.exchanges - 1 && after.tokens < before.tokens);
    let original = stage.session.call_tool("fetch_original", r#"{"handle": "t2"}"#).await.unwrap();
    assert!(original.text.contains("the ferry leaves at nine"), "{}", original.text);

    // The one before it is next; then there is nothing left.
    stage.say("the ferry leaves at ten", &[], "noted: ten").await;
    assert_eq!(stage.session.undo_turn().await.unwrap().unwrap().user_text, "the ferry leaves at ten");
    assert_eq!(stage.session.undo_turn().await.unwrap().unwrap().user_text, "the harbour is closed");
    let refusal = stage.session.undo_turn().await.unwrap().unwrap_err();
    assert!(refusal.error.contains("There is no turn"), "{refusal:?}");
    let context = shown(&mut stage).await;
    assert!(!context.contains("harbour") && !context.contains("ferry"), "{context}");
}

#[tokio::test]
async fn a_reply_that_never_came_is_taken_back_too() {
    let mut stage = Stage::new().await;
    stage.model.push_error(neap_model::ModelError::Refused("the line is dead".into()));
    stage.session.turn(Author::Person, "is anybody there?", &mut neap_engine::NullObserver).await.unwrap_err();
    assert_eq!(stage.session.undo_turn().await.unwrap().unwrap().user_text, "is anybody there?");
    stage.say("hello", &[], "hello").await;
    assert!(!shown(&mut stage).await.contains("anybody"));
}

#[tokio::test]
async fn what_something_was_made_of_is_not_taken_back() {
    let mut stage = Stage::new().await;
    stage.concluded("harbour", "the harbour is closed").await;
    let refusal = stage.session.undo_turn().await.unwrap().unwrap_err();
    assert!(refusal.error.contains("belongs to harbour, which is concluded"), "{refusal:?}");
    assert!(refusal.hint.is_some_and(|hint| hint.contains("reopen")));
    stage.call("reopen_effort", serde_json::json!({"id": "harbour"})).await;
    assert_eq!(stage.session.undo_turn().await.unwrap().unwrap().user_text, "done");
    assert!(stage.text().await.contains("More on it"));
    // The summary of before told of it, and is gone with it.
    assert_eq!(stage.effort("harbour").summary, None);
}

/// Turns that a span covers stay: its summary tells of them.
#[tokio::test]
async fn what_is_summarised_is_not_taken_back() {
    let mut stage = Stage::with(&[("context_tokens_max", "3000")]).await;
    for n in 0..30 {
        stage.say(&format!("{n} {}", "the tide comes in and goes out again ".repeat(12)), &[], "so it does").await;
        stage.session.run_upkeep().await.unwrap();
    }
    let last = stage.session.state().window(&neap_core::base::message::Scope::Ambient).last_covered_turn().0;
    assert!(last > 0 && last < 30, "{last}");
    let mut taken = 0;
    let refusal = loop {
        match stage.session.undo_turn().await.unwrap() {
            Ok(_) => taken += 1,
            Err(refusal) => break refusal,
        }
    };
    assert_eq!(taken, 30 - last);
    assert!(refusal.error.contains(&format!("Turn {last} is already part of a summary")), "{refusal:?}");
}
