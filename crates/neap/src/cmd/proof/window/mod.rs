//! `neap proof window`: the phases and figures of the seed on sliding windows, from real runs on a real store.

mod kpi;
mod long;
mod phases;
mod play;
mod retention;
pub(super) mod stage;
mod talk;
mod transcript;
mod witness;

use std::io::IsTerminal;
use std::path::PathBuf;

use super::Proof;
use crate::out::{self, Failure};

/// The budget of the long chat: its window is full within the turns that the later ones are compared with.
const LONG_BUDGET: u64 = 4_000;

/// Every phase and figure, over a chat of so many turns.
pub(super) async fn prove(turns: u64) -> Result<Vec<Proof>, Failure> {
    let mut phases = Proof::new("window", "every transcript is bounded, at a cost that does not grow");
    phases::small(&mut phases).await?;
    phases::verbose(&mut phases, turns).await?;
    let run = long::run(turns, LONG_BUDGET).await?;
    phases::regression(&mut phases, &run);
    let mut figures = Proof::new("figures", "what that costs, and what is still known at the end");
    kpi::figures(&mut figures, &run);
    kpi::price(&mut figures, turns, LONG_BUDGET).await?;
    Ok(vec![phases, figures])
}

/// Recorded sessions of coding agents, at several budgets.
pub(super) async fn prove_over(files: &[PathBuf]) -> Result<Vec<Proof>, Failure> {
    let transcripts = transcript::read(files)?;
    let mut proofs = Vec::new();
    for budget in [4_000, 8_000, 32_000] {
        proofs.push(play::prove(&transcripts, budget).await?);
    }
    Ok(proofs)
}

/// Says how far a long run is, to whoever watches a terminal.
fn progress(what: &str, at: u64, of: u64, every: u64) {
    if at.is_multiple_of(every) && std::io::stderr().is_terminal() {
        out::aside(format!("{what} {} of {}", out::thousands(at), out::thousands(of)));
    }
}
