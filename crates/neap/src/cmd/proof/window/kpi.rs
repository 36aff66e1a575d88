//! The figures by which the seed wants to be judged (section 10), from the long run.

use neap_core::cost::Cost;
use serde_json::json;

use super::long::{self, Run};
use super::phases::{LONG_MIN, WARM_UP};
use super::stage::percentile;
use crate::cmd::proof::Proof;
use crate::out::{self, Failure, thousands};

/// Turns of the conversation whose price is compared.
const PRICED_TURNS: u64 = 500;

/// Adherence, retention, latency, storage.
pub(super) fn figures(proof: &mut Proof, run: &Run) {
    let calls = run.seen.sent.len() as u64;
    let within = calls - run.seen.over;
    proof.row(
        "10-1",
        "token-budget adherence",
        "100 % of calls",
        format!("{:.1} % of {}", within as f64 * 100.0 / calls.max(1) as f64, out::count(calls, "call")),
        run.seen.over == 0 && run.seen.broken == 0,
    );
    let asked = &run.asked;
    let lost: Vec<String> = asked.lost.iter().take(3).map(|fact| format!("turn {}", fact.turn)).collect();
    let lost = if lost.is_empty() { String::new() } else { format!("; lost: {}", lost.join(", ")) };
    proof.row(
        "10-2",
        "information retention: context, one search, one original",
        "at least 90 % of the facts",
        format!(
            "{:.1} % of {}: {} + {} + {}{lost}",
            asked.share(),
            asked.questions,
            asked.from_context,
            asked.by_search,
            asked.by_original
        ),
        asked.share() >= 90.0,
    );
    let timed = |all: &[f64]| percentile(&all[WARM_UP.min(all.len())..], 50);
    let (turn, append, upkeep) = (timed(&run.turn_ms), timed(&run.append_ms), timed(&run.upkeep_ms));
    proof.row(
        "10-3",
        "latency overhead: median turn over a bare durable append",
        "at most 400 ms",
        format!("{:.2} ms ({turn:.2} - {append:.2}); upkeep {upkeep:.2} ms", turn - append),
        turn - append <= 400.0,
    );
    storage(proof, run);
}

/// A line of the raw log: what the seeds call `raw.jsonl`, not compressed, and nothing else.
pub(super) fn raw_line(role: &str, content: &str) -> String {
    format!("{}\n", json!({"role": role, "content": content, "ts": "2026-11-15T12:00:00Z"}))
}

/// Bytes beyond the raw log: those of events and derived rows against those of its plain lines. The word index is
/// counted apart.
fn storage(proof: &mut Proof, run: &Run) {
    let stored = run.footprint.events + run.footprint.derived;
    let raw = run.raw_log_bytes.max(1);
    let beyond = stored as f64 * 100.0 / raw as f64 - 100.0;
    let kib = |bytes: u64| thousands(bytes / 1_024);
    let is_long = run.turn_ms.len() >= LONG_MIN;
    proof.row(
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

/// The same conversation, rewritten every turn and by cost.
pub(super) async fn price(proof: &mut Proof, turns: u64, budget: u64) -> Result<(), Failure> {
    let turns = turns.min(PRICED_TURNS);
    let every_turn = long::cost(turns, budget, &[("epoch", "every-turn")]).await?;
    let by_cost = long::cost(turns, budget, &[]).await?;
    let shown = |cost: &Cost| format!("{} % cached, {}", cost.cached_percent(), out::dollars(cost.dollars()));
    proof.row(
        "epochs",
        format!("{} turns: every-turn against by-cost", thousands(turns)),
        "by-cost is cheaper",
        format!("{} → {}", shown(&every_turn), shown(&by_cost)),
        by_cost.nanodollars < every_turn.nanodollars,
    );
    Ok(())
}
