//! Models that write calls as text, and windows in which Neap's own text must be short.

use std::sync::Arc;

use neap_core::base::ledger::Layer;
use neap_core::base::message::Role;
use neap_core::base::tokens::Tokens;
use neap_engine::{Author, NullObserver};
use neap_store::MemStore;

use crate::stage::{Shown, Stage};

/// A budget of 3,000 tokens, as a window of 4,096 leaves.
const SMALL: &[(&str, &str)] = &[("context_tokens_max", "3000")];

#[tokio::test]
async fn a_call_that_is_written_as_text_is_run_and_nobody_sees_it() {
    for written in [
        r#"{"name": "open_effort", "arguments": {"name": "auth bug"}}"#,
        "<tool_call>\n{\"name\": \"open_effort\", \"arguments\": {\"name\": \"auth bug\"}}\n</tool_call>",
    ] {
        let mut stage = Stage::with(SMALL).await;
        let none = Vec::<(String, String)>::new;
        stage.model.push_turn(none(), written);
        stage.model.push_turn(none(), "Let us look at it.");
        let mut shown = Shown::default();
        let reply =
            stage.session.turn(Author::Person, "There is a bug in auth.", &mut shown).await.expect("a reply");
        assert_eq!((reply.text.as_str(), shown.0.as_str()), ("Let us look at it.", "Let us look at it."));
        assert_eq!(stage.active(), Some("auth-bug"));
        let asked = stage.model.requests().pop().expect("it was asked again").messages;
        let has_call =
            asked.iter().any(|message| message.role == Role::Assistant && !message.tool_calls.is_empty());
        assert!(has_call, "it reads its call as a call: {asked:?}");
        assert!(!asked.iter().any(|message| message.content.contains("tool_call")), "and nowhere as text");
    }
}

#[tokio::test]
async fn json_that_is_an_answer_is_an_answer() {
    let mut stage = Stage::with(SMALL).await;
    let answer = r#"{"name": "Ann", "age": 3}"#;
    stage.model.push_turn(Vec::<(String, String)>::new(), answer);
    let mut shown = Shown::default();
    let reply = stage.session.turn(Author::Person, "As JSON, please", &mut shown).await.expect("a reply");
    assert_eq!((reply.text.as_str(), shown.0.as_str()), (answer, answer));
}

/// Rules, note and tools of a small window, with memories and without.
#[tokio::test]
async fn in_a_small_window_our_own_text_is_short() {
    let store = || Arc::new(MemStore::default());
    for mut stage in [Stage::on(store(), SMALL).await, Stage::of_agent(store(), SMALL).await] {
        let context = stage.context().await;
        let own = [Layer::Protocol, Layer::Note, Layer::Tools].map(|layer| context.ledger.tokens.get(layer));
        assert!(own.iter().copied().sum::<Tokens>() <= Tokens(600), "{own:?}");
        stage.say("Remember that.", &[], "I will.").await;
    }
}

/// What is offered follows the budget, in both directions, in one conversation.
#[tokio::test]
async fn the_tools_follow_the_budget() {
    let mut stage = Stage::with(&[]).await;
    let mut offered = Vec::new();
    for budget in ["16000", "3000", "16000"] {
        stage.session.set("context_tokens_max", budget).await.expect("it is set");
        stage.model.push_turn(Vec::<(String, String)>::new(), "Yes.");
        stage.session.turn(Author::Person, "And now?", &mut NullObserver).await.expect("a reply");
        offered.push(stage.model.requests().pop().expect("a request").tools.len());
    }
    assert!(offered[1] < offered[0] && offered[0] == offered[2], "{offered:?}");
}
