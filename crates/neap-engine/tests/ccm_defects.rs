//! SOURCES, CCM, "Defects found by running it, each a test for us".

#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use crate::stage::{Stage, effort};
use neap_core::base::message::Scope;
use serde_json::{Value, json};

const AUTH: &str = "Users get a 401, because the refresh token in src/auth/refresh.ts expired after 3600 seconds.";

async fn search(stage: &mut Stage, query: &str) -> Vec<String> {
    let found: Value =
        serde_json::from_str(&stage.call("search_efforts", json!({"query": query})).await.text).unwrap();
    let results = found["results"].as_array().unwrap();
    results.iter().map(|result| result["id"].as_str().unwrap_or("ambient").to_owned()).collect()
}

/// "`search_efforts("auth fix")`, the seed's own example, finds nothing; neither do "auth" or "401"".
#[tokio::test]
async fn the_seeds_own_search_finds_its_effort() {
    let mut stage = Stage::new().await;
    stage.concluded("auth-bug", AUTH).await;
    stage.concluded("sailing-trip", "We sail from Kiel to Copenhagen in July.").await;
    for query in ["auth fix", "auth", "401", "AUTH BUG", "refreshing tokens"] {
        assert_eq!(search(&mut stage, query).await, ["auth-bug"], "{query}");
    }
}

/// "After `expand_effort` the raw log is invisible until the next turn".
#[tokio::test]
async fn an_expanded_log_is_visible_in_the_same_turn() {
    let mut stage = Stage::new().await;
    stage.concluded("auth-bug", AUTH).await;
    stage.say("details?", &[("expand_effort", json!({"id": "auth-bug"}))], "3600").await;
    let requests = stage.model.requests();
    let (before, after) = (&requests[requests.len() - 2], &requests[requests.len() - 1]);
    let reads = |request: &neap_core::turn::ModelRequest| {
        request.messages.iter().any(|message| message.content.contains("More on it: Users get a 401"))
    };
    assert!(!reads(before) && reads(after));
}

/// "The turn that opens a second effort or switches is logged to the old one".
#[tokio::test]
async fn a_turn_that_opens_switches_or_reopens_belongs_to_what_it_enters() {
    let mut stage = Stage::new().await;
    stage.concluded("old", AUTH).await;
    stage.say("one", &[("open_effort", json!({"name": "first"}))], "ok").await;
    let opened = stage.say("two", &[("open_effort", json!({"name": "second"}))], "ok").await;
    assert_eq!(opened.scope, Scope::Effort(effort("second")));
    let switched = stage.say("back", &[("switch_effort", json!({"id": "first"}))], "ok").await;
    assert_eq!(switched.scope, Scope::Effort(effort("first")));
    let reopened = stage.say("again", &[("reopen_effort", json!({"id": "old"}))], "ok").await;
    assert_eq!(reopened.scope, Scope::Effort(effort("old")));
    assert_eq!(stage.effort("first").log.exchanges, 2);
}

/// "the closing exchange is not in the summary".
#[tokio::test]
async fn the_closing_exchange_belongs_to_the_effort_and_its_summary_covers_it() {
    let mut stage = Stage::new().await;
    stage.say("The build is slow.", &[("open_effort", json!({"name": "build"}))], "Let us see.").await;
    let closing = stage
        .say(
            "Done: we moved the cache to /var/cache/build.",
            &[("close_effort", json!({}))],
            "Then the build fell from 14 minutes to 90 seconds.",
        )
        .await;
    assert_eq!(closing.scope, Scope::Effort(effort("build")));
    let summary = &stage.effort("build").summary.as_ref().unwrap().text;
    assert!(summary.contains("/var/cache/build"), "{summary}");
    let banner = closing.banners[0].to_string();
    assert_eq!(banner, format!("--- Concluded effort: build ---\nSummary: {summary}"));
    stage.session.run_upkeep().await.unwrap();
    let summary = &stage.effort("build").summary.as_ref().unwrap().text;
    assert!(summary.contains("/var/cache/build"), "{summary}");
    assert!(summary.contains("90 seconds"), "the reply is covered, too: {summary}");
}

/// "Duplicate names accepted": refused, with a hint to switch or to reopen.
#[tokio::test]
async fn duplicate_names_are_refused_with_a_hint() {
    let mut stage = Stage::new().await;
    stage.say("a", &[("open_effort", json!({"name": "auth bug"}))], "ok").await;
    let refused = stage.call("open_effort", json!({"name": "Auth_Bug"})).await;
    assert!(refused.text.contains("already open") && refused.text.contains("switch_effort"), "{}", refused.text);
    stage.call("close_effort", json!({})).await;
    let refused = stage.call("open_effort", json!({"name": "auth-bug"})).await;
    assert!(refused.text.contains("concluded") && refused.text.contains("reopen_effort"), "{}", refused.text);
}

/// "`../../evil name` accepted as id and path".
#[tokio::test]
async fn hostile_names_are_harmless() {
    let mut stage = Stage::new().await;
    stage.call("open_effort", json!({"name": "../../evil name"})).await;
    assert_eq!(stage.open(), ["evil-name"]);
    for name in ["", "🐛", "../..", "\u{0}"] {
        let refused = stage.call("open_effort", json!({"name": name})).await;
        assert!(refused.refusal.is_some(), "{name:?}");
    }
    stage.call("open_effort", json!({"name": "x".repeat(4096)})).await;
    assert!(stage.open().iter().all(|id| id.len() <= 64));
}

/// "id `ui` is "mentioned" by "build"".
#[tokio::test]
async fn a_mention_is_a_whole_word() {
    let mut stage = Stage::new().await;
    stage.concluded("ui", "The colours of the sidebar are wrong on dark screens.").await;
    let turn = stage.say("the build is running", &[], "mm").await.turn;
    assert!(stage.effort("ui").last_referenced < turn);
    let turn = stage.say("the UI, though", &[], "mm").await.turn;
    assert_eq!(stage.effort("ui").last_referenced, turn);
}

/// "`tokens_loaded` said 204 when the context grew by 81".
#[tokio::test]
async fn tokens_loaded_is_the_exact_growth() {
    let mut stage = Stage::new().await;
    stage.concluded("auth-bug", AUTH).await;
    for _ in 0..20 {
        stage.chatter().await;
    }
    // Evicted or shown, the growth is exact: a hidden summary is subtracted only if it was there.
    for evicted in [true, false] {
        assert_eq!(stage.evicted().is_empty(), !evicted);
        let before = stage.context().await.tokens();
        let outcome = stage.call("expand_effort", json!({"id": "auth-bug"})).await;
        let after = stage.context().await.tokens();
        let said: Value = serde_json::from_str(&outcome.text).unwrap();
        assert_eq!(said["tokens_loaded"].as_u64(), Some(after.0 - before.0));
        stage.call("collapse_effort", json!({"id": "auth-bug"})).await;
    }
}

/// "Expansions survive a restart".
#[tokio::test]
async fn a_restart_clears_expansions() {
    let mut stage = Stage::new().await;
    stage.concluded("auth-bug", AUTH).await;
    stage.call("expand_effort", json!({"id": "auth-bug"})).await;
    stage.restart().await;
    assert!(stage.expanded().is_empty());
}

/// "The headline omits the open effort's raw log": ours counts all that is sent.
#[tokio::test]
async fn the_figures_count_everything_that_is_sent() {
    let mut stage = Stage::new().await;
    stage.say("a", &[("open_effort", json!({"name": "long"}))], &"word ".repeat(500)).await;
    let reply = stage.say("b", &[], "ok").await;
    let request = stage.model.requests().pop().unwrap();
    let counter = stage.session.counter();
    let messages: u64 =
        request.messages.iter().map(|m| neap_core::base::message::message_tokens(counter.as_ref(), m).0).sum();
    let schemas: u64 = request
        .tools
        .iter()
        .map(|tool| counter.count(&json!({"type": "function", "function": tool}).to_string()).0)
        .sum();
    let priming = neap_core::base::tokens::REPLY_PRIMING.0;
    assert_eq!(reply.ledger.tokens.total().0, messages + schemas + priming);
    assert!(stage.session.report().context_tokens.0 > 500);
}
