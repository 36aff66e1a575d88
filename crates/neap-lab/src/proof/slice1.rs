//! Slice 1: an open effort is in the context whole, a concluded one as its summary.

use super::session::{AUTH_BUG, PERF_FIX, ProofSession};
use super::{LabError, Proof};

/// Most tokens that the headings around summaries cost.
const AROUND_TOKENS: u64 = 60;

pub(super) async fn prove(stage: &mut ProofSession) -> Result<Proof, LabError> {
    let mut proof = Proof::new("slice1", "an open effort is whole, a concluded one is its summary");
    let mut saved_min = f64::MAX;
    for (name, script) in [("auth-bug", AUTH_BUG), ("perf-fix", PERF_FIX)] {
        let before = stage.effort_tokens().await?;
        stage.play_script(name, script).await?;
        let open = stage.effort_tokens().await?;
        let raw = stage.raw_tokens(name);
        proof.add_row(
            name,
            "work on it",
            "its raw log is in the context",
            format!("log {raw} tokens, context {before} → {open}"),
            open - before >= raw,
        );
        let reply = stage.take_turn("That is done, thanks.", &[("close_effort", "{}")], "Concluded.").await?;
        let after = stage.effort_tokens().await?;
        let (raw, summary) = (stage.raw_tokens(name), stage.summary_tokens(name));
        let saved = 1.0 - summary as f64 / raw as f64;
        saved_min = saved_min.min(saved);
        let banner = reply.banners.iter().any(|banner| banner.to_string().contains("--- Concluded effort: "));
        proof.add_row(
            name,
            "conclude it",
            "only its summary stays, and a banner says so",
            format!("log {raw} → summary {summary} tokens, context {open} → {after}"),
            banner && after < open && after - before <= summary + AROUND_TOKENS,
        );
    }
    proof.add_row(
        "all",
        "saving on the variable part",
        "about 78 to 94 %",
        format!("at least {:.0} %", saved_min * 100.0),
        saved_min >= 0.78,
    );
    Ok(proof)
}
