//! The design's phases and figures for sliding windows, measured on a real store.

mod counting_model;
mod effort_chat;
mod figures;
mod long;
mod phases;
mod recorded_session;
mod replay;
mod retention;
mod session;

use std::path::PathBuf;

use neap_core::base::cost::Cost;
use neap_core::text::figures::{dollars, thousands};
use serde_json::json;

use super::Proof;
use crate::{LabError, OnProgress};

/// Budget of the long chat, small enough that the window is full within the turns used as a baseline.
const LONG_BUDGET: u64 = 4_000;

/// Measures a long chat of so many turns.
pub async fn prove(turns: u64, progress: OnProgress<'_>) -> Result<Vec<Proof>, LabError> {
    let mut phases = Proof::new("window", "every transcript is bounded, at a cost that does not grow");
    phases::small(&mut phases).await?;
    phases::verbose(&mut phases, turns).await?;
    let run = long::run(turns, LONG_BUDGET, progress).await?;
    phases::regression(&mut phases, &run);
    let mut figures = Proof::new("figures", "what that costs, and what is still known at the end");
    figures::add_figures(&mut figures, &run);
    figures::add_price(&mut figures, turns, LONG_BUDGET, progress).await?;
    Ok(vec![phases, figures])
}

/// Replays recorded sessions of coding agents.
pub async fn prove_over(files: &[PathBuf], progress: OnProgress<'_>) -> Result<Vec<Proof>, LabError> {
    let transcripts = recorded_session::read(files)?;
    let mut proofs = Vec::new();
    for budget in [4_000, 8_000, 32_000] {
        proofs.push(replay::prove(&transcripts, budget, progress).await?);
    }
    Ok(proofs)
}

/// A line of the uncompressed raw log (`raw.jsonl`).
fn raw_line(role: &str, content: &str) -> String {
    format!("{}\n", json!({"role": role, "content": content, "ts": "2026-11-15T12:00:00Z"}))
}

/// Bytes of events and derived rows against those of the plain raw log, judged unless it is said why not. The word
/// index is not included.
fn add_storage(proof: &mut Proof, step: &str, stored: u64, raw: u64, unjudged: Option<&str>, detail: String) {
    let beyond = stored as f64 * 100.0 / raw.max(1) as f64 - 100.0;
    proof.add_row(
        step,
        "storage beyond the raw log (plain lines of role, content, ts), index apart",
        unjudged.unwrap_or("at most +10 %"),
        format!("{beyond:+.1} %: {detail}"),
        beyond <= 10.0 || unjudged.is_some(),
    );
}

fn kib(bytes: u64) -> String {
    thousands(bytes / 1_024)
}

fn cost_text(cost: &Cost) -> String {
    format!("{} % cached, {}", cost.cached_percent(), dollars(cost.dollars()))
}
