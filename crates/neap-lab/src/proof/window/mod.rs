//! The design's phases and figures for sliding windows, measured on a real store.

mod counting_model;
mod effort_chat;
mod figures;
mod long;
mod phases;
mod retention;
mod session;

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
