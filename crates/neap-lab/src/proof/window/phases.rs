//! The design's phases 9-C, 9-D and 9-E: small, verbose, and very long.

use neap_core::text::figures::thousands;

use super::counting_model::RequestStats;
use super::effort_chat::{self, SyntheticTurn};
use super::long;
use super::session::MeasuredSession;
use crate::LabError;
use crate::measure::percentile;
use crate::proof::Proof;

/// Sentences per message in an ordinary and in a verbose chat.
const ORDINARY: u64 = 4;
const VERBOSE: u64 = 60;
/// Every so many turns of a verbose chat contain a long paste.
const PASTE_EVERY: u64 = 9;
const PASTE_SENTENCES: u64 = 1_200;
/// Untimed turns: the store is created and its pages are touched first.
pub(super) const WARM_UP: usize = 10;
/// Turns of a beginning: the warm-up and fifty that serve as the baseline.
pub(super) const BEGINNING: usize = WARM_UP + 50;
/// Shorter runs are not judged by time or storage: too little has been compacted.
pub(super) const LONG_MIN: usize = 500;

/// 9-C: fifty turns in three thousand tokens.
pub(super) async fn small(proof: &mut Proof) -> Result<(), LabError> {
    let (said, stats) = chat(3_000, 50, |_| ORDINARY).await?;
    let (calls, most) = (stats.sent.len(), stats.max_tokens());
    proof.add_row(
        "9-C",
        format!("50 turns, {said} tokens said"),
        "every call under 3,000 tokens",
        format!("{calls} calls, at most {} tokens", thousands(most)),
        most < 3_000,
    );
    Ok(())
}

/// 9-D: a verbose history with pastes longer than the budget.
pub(super) async fn verbose(proof: &mut Proof, turns: u64) -> Result<(), LabError> {
    let turns = turns.min(120);
    let sentences = |n: u64| if n.is_multiple_of(PASTE_EVERY) { PASTE_SENTENCES } else { VERBOSE };
    let (said, stats) = chat(38_000, turns, sentences).await?;
    let (calls, most, over) = (stats.sent.len(), thousands(stats.max_tokens()), stats.over_budget());
    proof.add_row(
        "9-D",
        format!("{turns} verbose turns, {said} tokens said"),
        "never over 38,000 tokens",
        format!("{calls} calls, at most {most} tokens, {over} over"),
        over == 0,
    );
    Ok(())
}

/// Plays so many turns; returns the tokens said and what was requested of the model.
async fn chat(
    budget: u64,
    turns: u64,
    sentences: impl Fn(u64) -> u64,
) -> Result<(String, RequestStats), LabError> {
    let mut stage = MeasuredSession::new(budget, &[]).await?;
    for n in 1..=turns {
        let turn = effort_chat::turn(n, sentences(n));
        stage.take_turn(&turn.user, turn.replies).await?;
    }
    Ok((thousands(stage.session.state().head().all_logs.tokens.0), stage.model.stats()))
}

/// 9-E: a long chat's time per turn against its beginning, and its budget.
pub(super) fn regression(proof: &mut Proof, run: &long::LongRun) {
    let (all, budget) = (run.turn_ms.len(), run.stats.budget);
    let steps = if all > LONG_MIN { vec![LONG_MIN, all] } else { vec![all] };
    for turns in steps {
        let calls = run.calls_until.get(turns - 1).copied().unwrap_or(0);
        let over = run.stats.sent[..calls].iter().filter(|tokens| **tokens > budget).count();
        proof.add_row(
            "9-E",
            format!("{} turns of synthetic chat", thousands(turns as u64)),
            "no call over the budget",
            format!("{over} of {} calls over {}", thousands(calls as u64), thousands(budget)),
            over == 0,
        );
        if turns < LONG_MIN {
            continue;
        }
        let beginnings = &run.beginnings_ms[..turns / long::BEGIN_EVERY as usize];
        let first = percentile(&beginnings.concat(), 95);
        let later = percentile(&run.turn_ms[WARM_UP..turns], 95);
        let ratio = later / first;
        let (turns, from, count) = (thousands(turns as u64), WARM_UP + 1, beginnings.len());
        proof.add_row(
            "9-E",
            format!("{turns} turns against turns {from} to {BEGINNING} of {count} beginnings"),
            "95th percentile at most 1.5 times theirs",
            format!("{ratio:.2} times ({first:.2} → {later:.2} ms)"),
            ratio <= 1.5,
        );
    }
}

pub(super) fn ordinary_turn(n: u64) -> SyntheticTurn {
    effort_chat::turn(n, ORDINARY)
}
