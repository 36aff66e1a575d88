//! Slice 1: an open effort is in the context whole, a concluded one as its summary.

use super::session::{AUTH_BUG, PERF_FIX, ProofSession};
use super::{LabError, Proof};

/// Most tokens that the headings around summaries cost.
const AROUND_TOKENS: u64 = 60;

pub(super) async fn prove(stage: &mut ProofSession) -> Result<Proof, LabError> {
    let mut proof = Proof::new("slice1", "an open effort is whole, a concluded one is its summary");
    let mut saved_min = f64::MAX;
    for (name, script) in [("auth-bug", AUTH_BUG), ("perf-fix", PERF_FIX)] {
        let before = stage.context_state().await?.tokens;
        stage.work_on(name, script).await?;
        let open = stage.context_state().await?.tokens;
        let raw = stage.raw_tokens(name);
        let measured = format!("log {raw} tokens, context {before} → {open}");
        proof.add_row(name, "work on it", "its raw log is in the context", measured, open - before >= raw);
        let reply = stage.conclude().await?;
        let after = stage.context_state().await?.tokens;
        let raw = stage.raw_tokens(name);
        let summary = stage.effort(name).and_then(|effort| effort.summary.as_ref()).map_or(0, |s| s.tokens.0);
        saved_min = saved_min.min(1.0 - summary as f64 / raw as f64);
        let banner = reply.banners.iter().any(|banner| banner.to_string().contains("--- Concluded effort: "));
        proof.add_row(
            name,
            "conclude it",
            "only its summary stays, and a banner says so",
            format!("log {raw} → summary {summary} tokens, context {open} → {after}"),
            banner && after < open && after - before <= summary + AROUND_TOKENS,
        );
    }
    let measured = format!("at least {:.0} %", saved_min * 100.0);
    proof.add_row("all", "saving on the variable part", "about 78 to 94 %", measured, saved_min >= 0.78);
    Ok(proof)
}
