//! The design's key figures (section 10), from the long run.

use neap_core::base::cost::Cost;
use neap_core::text::figures::{dollars, plural, thousands};

use super::long::{self, LongRun};
use super::phases::{LONG_MIN, WARM_UP};
use crate::measure::percentile;
use crate::proof::Proof;
use crate::{LabError, OnProgress};

const PRICED_TURNS: u64 = 500;

pub(super) fn add_figures(proof: &mut Proof, run: &LongRun) {
    let (calls, over) = (run.stats.sent.len() as u64, run.stats.over_budget());
    let within = (calls - over) as f64 * 100.0 / calls.max(1) as f64;
    let measured = format!("{within:.1} % of {}", plural(calls, "call"));
    let ok = over == 0 && run.stats.broken_pairs == 0;
    proof.add_row("10-1", "token-budget adherence", "100 % of calls", measured, ok);
    let retention = &run.retention;
    let lost: Vec<String> = retention.lost.iter().take(3).map(|fact| format!("turn {}", fact.turn)).collect();
    let lost = if lost.is_empty() { String::new() } else { format!("; lost: {}", lost.join(", ")) };
    let (percent, asked) = (retention.percent_answered(), retention.questions);
    let (context, search, original) = (retention.from_context, retention.by_search, retention.by_original);
    proof.add_row(
        "10-2",
        "information retention: context, one search, one original",
        "at least 90 % of the facts",
        format!(
            "{percent:.1} % of {asked}: {context} in the context, {search} only by search, {original} only by an original{lost}"
        ),
        percent >= 90.0,
    );
    let (kept, summarized) = (retention.kept_by_summary, retention.summarized);
    proof.add_row(
        "10-2, summaries",
        "of those no longer verbatim in the context: what a summary itself keeps at its cap",
        "reported apart",
        format!("{kept} of {summarized} ({:.1} %)", kept as f64 * 100.0 / summarized.max(1) as f64),
        kept <= summarized,
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
    let (events, derived, index) = (run.footprint.events, run.footprint.derived, run.footprint.index);
    let beyond = (events + derived) as f64 * 100.0 / run.raw_log_bytes.max(1) as f64 - 100.0;
    let is_judged = run.turn_ms.len() >= LONG_MIN;
    let [events, derived, raw, index] = [events, derived, run.raw_log_bytes, index].map(|n| thousands(n / 1_024));
    proof.add_row(
        "10-4",
        "storage beyond the raw log (plain lines of role, content, ts), index apart",
        if is_judged { "at most +10 %".to_owned() } else { format!("at most +10 % from {LONG_MIN} turns on") },
        format!(
            "{beyond:+.1} %: events {events} KiB, derived {derived} KiB, raw log {raw} KiB; index {index} KiB"
        ),
        beyond <= 10.0 || !is_judged,
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
    let cost_text = |cost: &Cost| format!("{} % cached, {}", cost.cached_percent(), dollars(cost.dollars()));
    let every_turn = long::chat_cost(turns, budget, &[("epoch", "every-turn")], progress).await?;
    let by_cost = long::chat_cost(turns, budget, &[], progress).await?;
    proof.add_row(
        "epochs",
        format!("{} turns: every-turn against by-cost", thousands(turns)),
        "by-cost is cheaper",
        format!("{} → {}", cost_text(&every_turn), cost_text(&by_cost)),
        by_cost.nanodollars < every_turn.nanodollars,
    );
    Ok(())
}
