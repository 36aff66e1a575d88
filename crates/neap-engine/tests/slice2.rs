//! Seed 002, "Slice 2: Expansion & Multi-Effort": every row and criterion that needs no model.

#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use crate::stage::{Stage, banners, effort};
use neap_core::base::ledger::Layer;
use neap_core::base::message::Scope;
use serde_json::json;

const SAID: &str = "The login gives a 401 after 3600 seconds, the refresh in src/auth/refresh.ts fails.";

async fn with_auth_bug() -> Stage {
    let mut stage = Stage::new().await;
    stage.concluded("auth-bug", SAID).await;
    stage
}

/// 002, Testing Strategy, row 1; Success Criteria 1.
#[tokio::test]
async fn expand_effort_loads_the_raw_log_into_the_context() {
    let mut stage = with_auth_bug().await;
    assert!(!stage.text().await.contains("More on it: The login gives"));
    let reply = stage.say("details?", &[("expand_effort", json!({"id": "auth-bug"}))], "here").await;
    assert!(stage.text().await.contains("More on it: The login gives a 401 after 3600 seconds"));
    assert!(banners(&reply)[0].starts_with("--- Expanded effort: auth-bug ("));
}

/// 002, Testing Strategy, row 2; Success Criteria 2.
#[tokio::test]
async fn collapse_effort_removes_the_raw_log_from_the_context() {
    let mut stage = with_auth_bug().await;
    stage.say("details?", &[("expand_effort", json!({"id": "auth-bug"}))], "here").await;
    let reply = stage.say("thanks", &[("collapse_effort", json!({"id": "auth-bug"}))], "ok").await;
    assert_eq!(banners(&reply), ["--- Collapsed effort: auth-bug (back to summary) ---"]);
    assert!(!stage.text().await.contains("More on it: The login gives"));
    assert_eq!(stage.shown(), ["auth-bug"]);
}

/// 002, Testing Strategy, row 3; Expansion Rules: after ambient, before the active effort.
#[tokio::test]
async fn an_expanded_effort_stands_between_ambient_and_active() {
    let mut stage = with_auth_bug().await;
    stage.say("hello", &[], "hi").await;
    stage.say("now guilds", &[("open_effort", json!({"name": "guild"}))], "ok").await;
    stage.say("details?", &[("expand_effort", json!({"id": "auth-bug"}))], "here").await;
    let layers: Vec<Layer> = stage.context().await.messages.iter().map(|placed| placed.layer).collect();
    let mut order = layers.clone();
    order.dedup();
    assert_eq!(order, [Layer::Ambient, Layer::Expanded, Layer::Active]);
}

/// 002, Testing Strategy, row 4; Success Criteria 4; Modified Tools: open_effort.
#[tokio::test]
async fn multiple_efforts_are_open_at_once() {
    let mut stage = Stage::new().await;
    stage.say("a", &[("open_effort", json!({"name": "first"}))], "ok").await;
    stage.say("b", &[("open_effort", json!({"name": "second"}))], "ok").await;
    assert_eq!(stage.open(), ["first", "second"]);
    assert_eq!(stage.active(), Some("second"));
}

/// 002, Testing Strategy, row 5; Success Criteria 6.
#[tokio::test]
async fn switch_effort_changes_the_active_effort_and_loses_nothing() {
    let mut stage = Stage::new().await;
    stage.say("a", &[("open_effort", json!({"name": "first"}))], "ok").await;
    stage.say("b", &[("open_effort", json!({"name": "second"}))], "ok").await;
    let before = (stage.effort("first").log, stage.effort("second").log);
    let outcome = stage.call("switch_effort", json!({"id": "first"})).await;
    assert_eq!(outcome.text, r#"{"effort_id":"first","status":"switched"}"#);
    assert_eq!(outcome.banner.unwrap().to_string(), "--- Switched to effort: first ---");
    assert_eq!(stage.active(), Some("first"));
    assert_eq!((stage.effort("first").log, stage.effort("second").log), before);
    let text = stage.text().await;
    assert!(
        text.contains("§[Log of the active effort first]") && text.contains("§[Log of the open effort second")
    );
}

/// 002, Testing Strategy, row 6; Message Routing, rows 1-3; Success Criteria 5.
#[tokio::test]
async fn messages_go_to_the_active_effort_else_to_ambient() {
    let mut stage = Stage::new().await;
    assert_eq!(stage.say("hello", &[], "hi").await.scope, Scope::Ambient);
    stage.say("a", &[("open_effort", json!({"name": "first"}))], "ok").await;
    assert_eq!(stage.say("on it", &[], "ok").await.scope, Scope::Effort(effort("first")));
    stage.say("b", &[("open_effort", json!({"name": "second"}))], "ok").await;
    let first = stage.effort("first").log;
    assert_eq!(stage.say("on it", &[], "ok").await.scope, Scope::Effort(effort("second")));
    assert_eq!(stage.effort("first").log, first, "a backgrounded effort receives nothing");
}

/// 002, Testing Strategy, row 10; Token Measurement, all four metrics.
#[tokio::test]
async fn expansion_overhead_is_measured() {
    let mut stage = with_auth_bug().await;
    stage.say("details?", &[("expand_effort", json!({"id": "auth-bug"}))], "here").await;
    stage.say("go on", &[], "ok").await;
    let report = stage.session.report();
    assert_eq!(report.expansion_tokens.0, stage.layer(Layer::Expanded).await);
    let overhead = report.expansion_tokens.0 as f64 / report.context_tokens.0 as f64;
    assert!((report.expansion_overhead - overhead).abs() < 1e-9);
    let naive = report.savings_vs_naive.tokens + i64::try_from(report.context_tokens.0).unwrap();
    assert!(naive > 0 && report.context_tokens.0 > 0);
}

/// 002, Success Criteria 3: the cycle loses no information.
#[tokio::test]
async fn expand_and_collapse_return_to_exactly_the_baseline() {
    let mut stage = with_auth_bug().await;
    let baseline = stage.context().await;
    let expanded = stage.call("expand_effort", json!({"id": "auth-bug"})).await;
    let grown = stage.context().await;
    let loaded = serde_json::from_str::<serde_json::Value>(&expanded.text).unwrap()["tokens_loaded"].as_u64();
    assert_eq!(loaded, Some(grown.tokens().0 - baseline.tokens().0), "the banner names the exact growth");
    stage.call("collapse_effort", json!({"id": "auth-bug"})).await;
    assert_eq!(stage.context().await, baseline, "byte for byte");
    stage.call("expand_effort", json!({"id": "auth-bug"})).await;
    assert_eq!(stage.context().await.messages, grown.messages);
}

/// 002, Expansion Rules 1 and 2.
#[tokio::test]
async fn only_concluded_efforts_expand_and_several_at_once() {
    let mut stage = with_auth_bug().await;
    stage.concluded("perf-fix", "The orders page takes 4.8 seconds, order_items has no index.").await;
    stage.say("a", &[("open_effort", json!({"name": "running"}))], "ok").await;
    let refused = stage.call("expand_effort", json!({"id": "running"})).await;
    assert_eq!(refused.text, r#"{"error":"Cannot expand 'running': status is 'open', must be 'concluded'."}"#);
    stage.call("expand_effort", json!({"id": "auth-bug"})).await;
    stage.call("expand_effort", json!({"id": "perf-fix"})).await;
    assert_eq!(stage.expanded(), ["auth-bug", "perf-fix"]);
}

/// 002, Modified Tools: close_effort takes an id; without one it closes the active effort.
#[tokio::test]
async fn close_effort_takes_an_id_or_the_active_one() {
    let mut stage = Stage::new().await;
    for name in ["first", "second", "third"] {
        stage.say(name, &[("open_effort", json!({"name": name}))], "ok").await;
    }
    stage.call("close_effort", json!({"id": "first"})).await;
    assert_eq!((stage.open(), stage.active()), (vec!["second", "third"], Some("third")));
    stage.call("close_effort", json!({})).await;
    assert_eq!((stage.open(), stage.active()), (vec!["second"], Some("second")), "the next open one takes over");
    stage.call("close_effort", json!({})).await;
    let refused = stage.call("close_effort", json!({})).await;
    assert_eq!(refused.text, r#"{"error":"No active effort to close."}"#);
}

/// 002, Modified Tools: effort_status shows expanded efforts, the active one and the cost.
#[tokio::test]
async fn effort_status_shows_active_expanded_and_costs() {
    let mut stage = with_auth_bug().await;
    stage.say("a", &[("open_effort", json!({"name": "running"}))], "ok").await;
    stage.call("expand_effort", json!({"id": "auth-bug"})).await;
    let status: serde_json::Value =
        serde_json::from_str(&stage.call("effort_status", json!({})).await.text).unwrap();
    assert_eq!(status["active"], "running");
    assert_eq!(status["expanded"], json!(["auth-bug"]));
    let auth = status["efforts"].as_array().unwrap().iter().find(|e| e["id"] == "auth-bug").unwrap();
    assert_eq!(auth["raw_tokens"], stage.effort("auth-bug").log.tokens.0);
    assert_eq!(auth["summary_tokens"], stage.effort("auth-bug").summary.as_ref().unwrap().tokens.0);
    assert_eq!(auth["expansion_cost_tokens"], status["expansion_cost_tokens"]);
    assert!(status["expansion_cost_tokens"].as_u64().unwrap() > 0);
}

/// 002, expanded.json: "cleared on session restart (expansions are transient by design)".
#[tokio::test]
async fn expansions_do_not_survive_a_restart_but_summaries_do() {
    let mut stage = with_auth_bug().await;
    stage.call("expand_effort", json!({"id": "auth-bug"})).await;
    stage.restart().await;
    assert!(stage.expanded().is_empty());
    assert_eq!(stage.shown(), ["auth-bug"]);
}
