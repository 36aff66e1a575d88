//! Seed 001, "Slice 3: Salience Decay": every row and criterion that needs no model.

#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use crate::stage::{Stage, banners};
use serde_json::json;

const AUTH: &str = "Users get a 401, because the refresh token in src/auth/refresh.ts expired after 3600 seconds.";
const PERF: &str = "The orders page takes 4.8 seconds because order_items has no index on order_id.";

async fn expanded() -> Stage {
    let mut stage = Stage::new().await;
    stage.concluded("auth-bug", AUTH).await;
    stage.say("show", &[("expand_effort", json!({"id": "auth-bug"}))], "here").await;
    stage
}

/// 001, Testing Strategy, row 1; Success Criteria 1.
#[tokio::test]
async fn the_turn_counter_counts_and_survives_a_restart() {
    let mut stage = Stage::new().await;
    for turn in 1..=5 {
        assert_eq!(stage.chatter().await.turn.0, turn);
    }
    stage.restart().await;
    assert_eq!(stage.chatter().await.turn.0, 6);
}

/// 001, Testing Strategy, rows 3 and 4; Success Criteria 3 and 4.
#[tokio::test]
async fn references_are_by_id_or_by_two_keywords() {
    for (message, refers) in [
        ("what about auth-bug?", true),
        ("what about the Auth Bug?", true),
        ("and auth_bug again", true),
        ("the refresh token again", true),
        ("one token only", false),
        ("authbug", false),
        ("nothing of the kind", false),
    ] {
        let mut stage = expanded().await;
        let before = stage.effort("auth-bug").last_referenced;
        let turn = stage.say(message, &[], "mm").await.turn;
        let now = stage.effort("auth-bug").last_referenced;
        assert_eq!(now == turn, refers, "{message}: {before} → {now}");
    }
}

/// 001, What Messages to Check: the assistant's words count as well.
#[tokio::test]
async fn the_assistants_words_are_references_too() {
    let mut stage = expanded().await;
    let turn = stage.say("hm", &[], "As in auth-bug, yes.").await.turn;
    assert_eq!(stage.effort("auth-bug").last_referenced, turn);
}

/// 001, Testing Strategy, rows 5 and 7; Success Criteria 5 and 7; Decay Flow.
#[tokio::test]
async fn an_expansion_collapses_after_exactly_three_turns_with_its_banner() {
    let mut stage = expanded().await;
    assert!(banners(&stage.chatter().await).is_empty());
    assert!(banners(&stage.chatter().await).is_empty());
    assert_eq!(stage.expanded(), ["auth-bug"]);
    let third = stage.chatter().await;
    assert_eq!(banners(&third), ["--- Auto-collapsed effort: auth-bug (inactive for 3 turns) ---"]);
    assert!(stage.expanded().is_empty());
    assert_eq!(stage.shown(), ["auth-bug"], "back to its summary");
}

/// 001, Testing Strategy, row 6; Success Criteria 6.
#[tokio::test]
async fn a_reference_resets_the_counter() {
    let mut stage = expanded().await;
    stage.chatter().await;
    stage.chatter().await;
    stage.say("auth-bug once more", &[], "yes").await;
    stage.chatter().await;
    stage.chatter().await;
    assert_eq!(stage.expanded(), ["auth-bug"]);
    stage.chatter().await;
    assert!(stage.expanded().is_empty());
}

/// 001, Testing Strategy, row 8; Success Criteria 8; Re-expansion.
#[tokio::test]
async fn a_decayed_effort_expands_again() {
    let mut stage = expanded().await;
    for _ in 0..3 {
        stage.chatter().await;
    }
    stage.say("again", &[("expand_effort", json!({"id": "auth-bug"}))], "here").await;
    assert_eq!(stage.expanded(), ["auth-bug"]);
    assert!(stage.text().await.contains("More on it: Users get a 401"));
}

/// 001, Testing Strategy, row 9; Success Criteria 9.
#[tokio::test]
async fn expansions_decay_independently() {
    let mut stage = Stage::new().await;
    stage.concluded("auth-bug", AUTH).await;
    stage.concluded("perf-fix", PERF).await;
    stage.say("a", &[("expand_effort", json!({"id": "auth-bug"}))], "ok").await;
    stage.say("b", &[("expand_effort", json!({"id": "perf-fix"}))], "ok").await;
    stage.say("auth-bug", &[], "ok").await;
    stage.chatter().await;
    stage.chatter().await;
    assert_eq!(stage.expanded(), ["auth-bug"], "perf-fix was not referenced for three turns");
    stage.chatter().await;
    assert!(stage.expanded().is_empty());
}

/// 001, Testing Strategy, row 10; Success Criteria 10.
#[tokio::test]
async fn open_efforts_never_decay() {
    let mut stage = Stage::new().await;
    stage.say("a", &[("open_effort", json!({"name": "long-work"}))], "ok").await;
    stage.say("b", &[("open_effort", json!({"name": "other"}))], "ok").await;
    for _ in 0..40 {
        stage.chatter().await;
    }
    assert_eq!(stage.open(), ["long-work", "other"]);
    assert!(stage.text().await.contains("§[Log of the open effort long-work"));
}

/// 001, Configuration: both settings are per session.
#[tokio::test]
async fn thresholds_are_per_session() {
    let mut stage = Stage::with(&[("DECAY_THRESHOLD", "1"), ("MIN_KEYWORD_OVERLAP", "1")]).await;
    stage.concluded("auth-bug", AUTH).await;
    stage.say("show", &[("expand_effort", json!({"id": "auth-bug"}))], "here").await;
    stage.say("the token?", &[], "yes").await;
    assert_eq!(stage.expanded(), ["auth-bug"], "one keyword suffices here");
    stage.chatter().await;
    assert!(stage.expanded().is_empty());
}

/// 001, Testing Strategy, row 13; Metrics, all five rows; Success Criteria 12.
#[tokio::test]
async fn decay_metrics_are_collected() {
    let mut stage = expanded().await;
    let loaded = stage.effort("auth-bug").expanded.unwrap().tokens_loaded;
    for _ in 0..3 {
        stage.chatter().await;
    }
    stage.chatter().await;
    let report = stage.session.report();
    assert_eq!((report.auto_collapses, report.manual_collapses), (1, 0));
    assert_eq!(report.avg_expansion_duration, Some(3.0));
    assert_eq!(report.manual_vs_auto_collapse, Some(0.0));
    assert_eq!(report.false_decay_rate, Some(0.0));
    assert_eq!(report.tokens_saved_by_decay, loaded, "one turn without what it had loaded");
    stage.say("again", &[("expand_effort", json!({"id": "auth-bug"}))], "here").await;
    stage.say("enough", &[("collapse_effort", json!({"id": "auth-bug"}))], "ok").await;
    let report = stage.session.report();
    assert_eq!(report.false_decay_rate, Some(1.0), "expanded again within two turns");
    assert_eq!(report.manual_vs_auto_collapse, Some(1.0));
    assert_eq!(report.avg_expansion_duration, Some(2.0));
}

/// 001: expanding again three turns after the collapse is no false decay.
#[tokio::test]
async fn a_late_re_expansion_is_no_false_decay() {
    let mut stage = expanded().await;
    for _ in 0..5 {
        stage.chatter().await;
    }
    stage.say("again", &[("expand_effort", json!({"id": "auth-bug"}))], "here").await;
    assert_eq!(stage.session.report().false_decay_rate, Some(0.0));
}

/// A word that many summaries carry keeps an expansion alive, but does not bring all of them back.
#[tokio::test]
async fn common_words_count_for_what_is_expanded_only() {
    let mut stage = Stage::with(&[("keyword_efforts_max", "2"), ("summary_eviction_threshold", "1")]).await;
    for name in ["first", "second", "third"] {
        stage.concluded(name, "The nightly backup of the billing database fails with an error.").await;
    }
    stage.chatter().await;
    assert_eq!(stage.evicted(), ["first", "second", "third"]);
    stage.say("show", &[("expand_effort", json!({"id": "first"}))], "here").await;
    for _ in 0..4 {
        stage.say("the nightly backup of billing again", &[], "mm").await;
    }
    assert_eq!(stage.expanded(), ["first"]);
    assert_eq!(stage.evicted(), ["second", "third"]);
}

/// I8: expansions are capped, whatever is said; the longest unreferenced one goes.
#[tokio::test]
async fn expansions_have_a_quota() {
    let mut stage = Stage::with(&[("expanded_efforts_max", "2")]).await;
    for name in ["first", "second", "third"] {
        stage.concluded(name, AUTH).await;
        let reply = stage.say("show", &[("expand_effort", json!({"id": name}))], "here").await;
        let crowded = banners(&reply).iter().any(|b| b == "--- Collapsed effort: first (back to summary) ---");
        assert_eq!(crowded, name == "third");
    }
    assert_eq!(stage.expanded(), ["second", "third"]);
    assert_eq!(stage.session.report().auto_collapses, 0);
}
