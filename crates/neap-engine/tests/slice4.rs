//! Seed 000, "Slice 4: Bounded Working Context": every row and criterion that needs no model.

#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use crate::stage::Stage;
use neap_core::base::ledger::Layer;
use neap_core::base::message::Scope;
use neap_core::base::tokens::Tokens;
use neap_core::session::log::LogRequest;
use serde_json::{Value, json};

const AUTH: &str = "Users get a 401, because the refresh token in src/auth/refresh.ts expired after 3600 seconds.";
const TRIP: &str = "We sail from Kiel to Copenhagen in July with the boat Havhest.";

async fn with_auth_bug() -> Stage {
    let mut stage = Stage::new().await;
    stage.concluded("auth-bug", AUTH).await;
    stage
}

/// 000, Testing Strategy, row 1; Success Criteria 1: at exactly 20.
#[tokio::test]
async fn a_summary_is_evicted_after_exactly_twenty_turns() {
    let mut stage = with_auth_bug().await;
    for _ in 0..19 {
        stage.chatter().await;
    }
    assert_eq!((stage.shown(), stage.evicted()), (vec!["auth-bug"], vec![]));
    stage.chatter().await;
    assert_eq!((stage.shown(), stage.evicted()), (vec![], vec!["auth-bug"]));
    assert!(!stage.text().await.contains("auth-bug"));
    assert!(stage.text().await.contains("1 older effort is not shown."));
}

/// 000, Testing Strategy, row 2; Success Criteria 3; Flow Example 3.
#[tokio::test]
async fn a_reference_resets_the_eviction_counter_and_brings_a_summary_back() {
    let mut stage = with_auth_bug().await;
    for _ in 0..19 {
        stage.chatter().await;
    }
    stage.say("similar to the auth-bug pattern", &[], "yes").await;
    for _ in 0..19 {
        stage.chatter().await;
    }
    assert_eq!(stage.shown(), ["auth-bug"]);
    stage.chatter().await;
    assert_eq!(stage.evicted(), ["auth-bug"]);
    stage.say("that refresh token thing", &[], "yes").await;
    assert_eq!(stage.shown(), ["auth-bug"], "two keywords bring it back");
}

/// 000, When does a summary count as "referenced": expand and status of that effort.
#[tokio::test]
async fn tool_calls_about_an_effort_are_references() {
    for (tool, refers) in [("expand_effort", true), ("effort_status", true), ("search_efforts", false)] {
        let mut stage = with_auth_bug().await;
        stage.chatter().await;
        let arguments = if tool == "search_efforts" { json!({"query": "401"}) } else { json!({"id": "auth-bug"}) };
        let turn = stage.say("hm", &[(tool, arguments)], "mm").await.turn;
        assert_eq!(stage.effort("auth-bug").last_referenced == turn, refers, "{tool}");
    }
}

/// 000, Testing Strategy, row 3; Success Criteria 2.
#[tokio::test]
async fn an_evicted_summary_stays_in_the_manifest() {
    let mut stage = with_auth_bug().await;
    let summary = stage.effort("auth-bug").summary.clone();
    for _ in 0..30 {
        stage.chatter().await;
    }
    assert_eq!(stage.effort("auth-bug").summary, summary);
    assert!(summary.unwrap().text.contains("401"));
}

/// 000, Testing Strategy, row 4; Success Criteria 4 and 5; Flow Example 2.
#[tokio::test]
async fn the_ambient_window_holds_the_last_ten_exchanges_and_the_rest_stays_stored() {
    let mut stage = Stage::new().await;
    for n in 1..=50 {
        stage.say(&format!("message number {n}"), &[], "mm").await;
    }
    let context = stage.context().await;
    let said = context.messages.iter().map(|p| &*p.counted.message.content).filter(|t| *t != "mm");
    let said: Vec<&str> = said.filter(|text| !text.starts_with("§[Recent chat")).collect();
    let want: Vec<String> = (41..=50).map(|n| format!("message number {n}")).collect();
    assert_eq!(said, want);
    let all = LogRequest::newest(Scope::Ambient, Tokens(u64::MAX));
    let log = stage.engine.store().log(stage.session.id(), &all).await.unwrap();
    assert_eq!(log.exchanges().len(), 50);
}

/// 000, Testing Strategy, rows 5 and 6; Success Criteria 6.
#[tokio::test]
async fn search_efforts_finds_an_evicted_effort() {
    let mut stage = with_auth_bug().await;
    for _ in 0..20 {
        stage.chatter().await;
    }
    assert_eq!(stage.evicted(), ["auth-bug"]);
    let found: Value =
        serde_json::from_str(&stage.call("search_efforts", json!({"query": "auth fix"})).await.text).unwrap();
    let best = &found["results"][0];
    assert_eq!((best["id"].as_str(), best["status"].as_str()), (Some("auth-bug"), Some("concluded")));
    assert!(best["summary"].as_str().unwrap().contains("401"));
}

/// 000, Testing Strategy, row 7.
#[tokio::test]
async fn search_efforts_ranks_by_relevance() {
    let mut stage = with_auth_bug().await;
    stage.concluded("sailing-trip", TRIP).await;
    stage.concluded("token-shop", "We sell gift tokens in the shop.").await;
    let found: Value =
        serde_json::from_str(&stage.call("search_efforts", json!({"query": "expired refresh token"})).await.text)
            .unwrap();
    let ids: Vec<&str> = found["results"].as_array().unwrap().iter().filter_map(|r| r["id"].as_str()).collect();
    assert_eq!(ids, ["auth-bug", "token-shop"]);
}

/// 000, Testing Strategy, row 8; Success Criteria 8: a ceiling, whatever is said.
#[tokio::test]
async fn the_context_has_a_ceiling() {
    let mut stage = Stage::with(&[("context_tokens_max", "2000")]).await;
    for n in 0..60 {
        let name = format!("work-{n}");
        stage.say(&"long words here ".repeat(40), &[("open_effort", json!({"name": name}))], "ok").await;
        let reply = stage.say("done", &[("close_effort", json!({}))], &"fine ".repeat(30)).await;
        assert!(reply.ledger.tokens.total() <= Tokens(2000));
    }
    assert!(stage.session.report().context_tokens_peak <= Tokens(2000));
}

/// 000, Testing Strategy, row 11: conclude → evict → search → recall, in one turn each.
#[tokio::test]
async fn conclude_evict_search_expand() {
    let mut stage = with_auth_bug().await;
    for _ in 0..20 {
        stage.chatter().await;
    }
    let calls = [("search_efforts", json!({"query": "auth"})), ("expand_effort", json!({"id": "auth-bug"}))];
    stage.say("how long did it live?", &calls, "3600 seconds").await;
    let last = stage.model.requests().pop().unwrap();
    assert!(last.messages.iter().any(|m| m.content.contains("expired after 3600 seconds")), "in the same turn");
    assert!(stage.layer(Layer::Expanded).await > 0);
    for _ in 0..3 {
        stage.chatter().await;
    }
    assert_eq!((stage.expanded(), stage.shown()), (vec![], vec!["auth-bug"]));
}

/// 000, Configuration: both settings are per session.
#[tokio::test]
async fn eviction_and_ambient_settings_are_per_session() {
    let mut stage = Stage::with(&[("SUMMARY_EVICTION_THRESHOLD", "2"), ("AMBIENT_WINDOW", "1")]).await;
    stage.concluded("auth-bug", AUTH).await;
    stage.chatter().await;
    stage.chatter().await;
    assert_eq!(stage.evicted(), ["auth-bug"]);
    let context = stage.context().await;
    assert_eq!(context.messages.len(), 3, "one exchange, and a line about the others");
    assert!(context.messages[0].counted.message.content.starts_with("§[Recent chat"));
}
