//! The design's phases and figures for sliding windows, measured on a real store.

mod counting_model;
mod kpi;
mod long;
mod phases;
mod recorded_session;
mod replay;
mod retention;
pub(super) mod session;
mod synthetic_chat;

use std::path::PathBuf;

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
    kpi::add_figures(&mut figures, &run);
    kpi::add_price(&mut figures, turns, LONG_BUDGET, progress).await?;
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
