//! The phases 9-C, 9-D and 9-E of the seed: small and long, verbose, and very long.

use super::stage::{Stage, percentile};
use super::{long, talk};
use crate::cmd::proof::Proof;
use crate::out::{Failure, thousands};

/// Sentences of a message in an ordinary chat, and in a verbose one.
const ORDINARY: u64 = 4;
const VERBOSE: u64 = 60;
/// A verbose history pastes something long once in so many turns.
const PASTE_EVERY: u64 = 9;
const PASTE_SENTENCES: u64 = 1_200;
/// Turns that are not timed: the store is made and its pages are first touched in them.
pub(super) const WARM_UP: usize = 10;
/// Turns of a beginning: fifty that the others are compared with, after those.
pub(super) const BEGINNING: usize = WARM_UP + 50;
/// Fewer turns than this are not judged by their time or their room: nothing has faded far yet.
pub(super) const LONG_MIN: usize = 500;

/// 9-C: fifty turns in three thousand tokens.
pub(super) async fn small(proof: &mut Proof) -> Result<(), Failure> {
    let mut stage = Stage::new(3_000, &[], None).await?;
    for n in 1..=50 {
        let said = talk::turn(n, ORDINARY);
        stage.say(&said.user, said.replies).await?;
    }
    let seen = stage.model.seen();
    let said = stage.session.state().head().all_logs.tokens.0;
    proof.row(
        "9-C",
        format!("50 turns, {} tokens said", thousands(said)),
        "every call under 3,000 tokens",
        format!("{} calls, at most {} tokens", seen.sent.len(), thousands(seen.most())),
        seen.over == 0 && seen.most() < 3_000,
    );
    Ok(())
}

/// 9-D: a verbose history, with pastes longer than the whole budget.
pub(super) async fn verbose(proof: &mut Proof, turns: u64) -> Result<(), Failure> {
    let turns = turns.min(120);
    let mut stage = Stage::new(38_000, &[], None).await?;
    for n in 1..=turns {
        let sentences = if n.is_multiple_of(PASTE_EVERY) { PASTE_SENTENCES } else { VERBOSE };
        let said = talk::turn(n, sentences);
        stage.say(&said.user, said.replies).await?;
    }
    let seen = stage.model.seen();
    let said = stage.session.state().head().all_logs.tokens.0;
    proof.row(
        "9-D",
        format!("{turns} verbose turns, {} tokens said", thousands(said)),
        "never over 38,000 tokens",
        format!("{} calls, at most {} tokens, {} over", seen.sent.len(), thousands(seen.most()), seen.over),
        seen.over == 0,
    );
    Ok(())
}

/// 9-E: what a long chat takes against its own beginning, and whether it ever exceeds its budget.
pub(super) fn regression(proof: &mut Proof, run: &long::Run) {
    let all = run.turn_ms.len();
    let steps = if all > LONG_MIN { vec![LONG_MIN, all] } else { vec![all] };
    for turns in steps {
        let calls = run.calls_until.get(turns - 1).copied().unwrap_or(0);
        let over = run.seen.sent[..calls].iter().filter(|tokens| **tokens > run.budget).count();
        proof.row(
            "9-E",
            format!("{} turns of synthetic chat", thousands(turns as u64)),
            "no call over the budget",
            format!("{over} of {} calls over {}", thousands(calls as u64), thousands(run.budget)),
            over == 0,
        );
        if turns < LONG_MIN {
            continue;
        }
        let begun = &run.beginnings_ms[..turns / long::BEGIN_EVERY as usize];
        let first = percentile(&begun.concat(), 95);
        let later = percentile(&run.turn_ms[WARM_UP..turns], 95);
        let ratio = later / first;
        proof.row(
            "9-E",
            format!(
                "{} turns against turns {} to {BEGINNING} of {} beginnings",
                thousands(turns as u64),
                WARM_UP + 1,
                begun.len()
            ),
            "95th percentile at most 1.5 times theirs",
            format!("{ratio:.2} times ({first:.2} → {later:.2} ms)"),
            ratio <= 1.5,
        );
    }
}

/// How much an ordinary message of the long chat says.
pub(super) fn ordinary(n: u64) -> talk::Said {
    talk::turn(n, ORDINARY)
}
