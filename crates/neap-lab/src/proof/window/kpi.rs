//! The design's key figures (section 10), from the long run.

use neap_core::base::cost::Cost;
use neap_core::text::figures::{dollars, plural, thousands};
use serde_json::json;

use super::long::{self, LongRun};
use super::phases::{LONG_MIN, WARM_UP};
use super::session::percentile;
use crate::proof::Proof;
use crate::{LabError, OnProgress};

const PRICED_TURNS: u64 = 500;

pub(super) fn add_figures(proof: &mut Proof, run: &LongRun) {
    let calls = run.stats.sent.len() as u64;
    let within = calls - run.stats.over_budget;
    proof.add_row(
        "10-1",
        "token-budget adherence",
        "100 % of calls",
        format!("{:.1} % of {}", within as f64 * 100.0 / calls.max(1) as f64, plural(calls, "call")),
        run.stats.over_budget == 0 && run.stats.broken_pairs == 0,
    );
    let retention = &run.retention;
    let lost: Vec<String> = retention.lost.iter().take(3).map(|fact| format!("turn {}", fact.turn)).collect();
    let lost = if lost.is_empty() { String::new() } else { format!("; lost: {}", lost.join(", ")) };
    proof.add_row(
        "10-2",
        "information retention: context, one search, one original",
        "at least 90 % of the facts",
        format!(
            "{:.1} % of {}: {} + {} + {}{lost}",
            retention.percent_answered(),
            retention.questions,
            retention.from_context,
            retention.by_search,
            retention.by_original
        ),
        retention.percent_answered() >= 90.0,
    );
    let median = |all: &[f64]| percentile(&all[WARM_UP.min(all.len())..], 50);
    let (turn, append, upkeep) = (median(&run.turn_ms), median(&run.append_ms), median(&run.upkeep_ms));
    proof.add_row(
        "10-3",
        "latency overhead: median turn over a bare durable append",
        "at most 400 ms",
        format!("{:.2} ms ({turn:.2} - {append:.2}); upkeep {upkeep:.2} ms", turn - append),
        turn - append <= 400.0,
    );
    add_storage(proof, run);
}

/// A line of the uncompressed raw log (`raw.jsonl`).
pub(super) fn raw_line(role: &str, content: &str) -> String {
    format!("{}\n", json!({"role": role, "content": content, "ts": "2026-11-15T12:00:00Z"}))
}

/// Bytes of events and derived rows against those of the plain raw log. The word index is reported separately.
fn add_storage(proof: &mut Proof, run: &LongRun) {
    let stored = run.footprint.events + run.footprint.derived;
    let raw = run.raw_log_bytes.max(1);
    let beyond = stored as f64 * 100.0 / raw as f64 - 100.0;
    let kib = |bytes: u64| thousands(bytes / 1_024);
    let is_long = run.turn_ms.len() >= LONG_MIN;
    proof.add_row(
        "10-4",
        "storage beyond the raw log (plain lines of role, content, ts), index apart",
        if is_long { "at most +10 %".to_owned() } else { format!("at most +10 % from {LONG_MIN} turns on") },
        format!(
            "{beyond:+.1} %: events {} KiB, derived {} KiB, raw log {} KiB; index {} KiB",
            kib(run.footprint.events),
            kib(run.footprint.derived),
            kib(raw),
            kib(run.footprint.index)
        ),
        beyond <= 10.0 || !is_long,
    );
}

/// The cost of the same conversation, with the prompt rewritten every turn and by cost.
pub(super) async fn add_price(
    proof: &mut Proof,
    turns: u64,
    budget: u64,
    progress: OnProgress<'_>,
) -> Result<(), LabError> {
    let turns = turns.min(PRICED_TURNS);
    let every_turn = long::chat_cost(turns, budget, &[("epoch", "every-turn")], progress).await?;
    let by_cost = long::chat_cost(turns, budget, &[], progress).await?;
    let cost_text = |cost: &Cost| format!("{} % cached, {}", cost.cached_percent(), dollars(cost.dollars()));
    proof.add_row(
        "epochs",
        format!("{} turns: every-turn against by-cost", thousands(turns)),
        "by-cost is cheaper",
        format!("{} → {}", cost_text(&every_turn), cost_text(&by_cost)),
        by_cost.nanodollars < every_turn.nanodollars,
    );
    Ok(())
}
