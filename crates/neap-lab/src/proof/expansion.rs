//! Slice 2: expanding an effort restores it, collapsing removes it again; several efforts can be open.
//!
//! One row per step of the design's table. Tokens are those of efforts: the fixed text and the ambient chat that
//! logs these turns are not included.

use super::session::{AUTH_BUG, ContextState, PERF_FIX, ProofSession, ScriptLine};
use super::{LabError, Proof};

const SCRIPT: &str = include_str!("scripts/expansion.jsonl");

pub(super) async fn prove(stage: &mut ProofSession) -> Result<Proof, LabError> {
    let mut proof =
        Proof::new("slice2", "compaction is lossless: expansion restores, collapse returns to the baseline");
    stage.work_and_conclude(&[("auth-bug", AUTH_BUG), ("perf-fix", PERF_FIX)]).await?;
    let baseline = stage.context_state().await?.tokens;
    let (mut guild_before, mut api_before) = (0, 0);
    let judge = |stage: &ProofSession, line: &ScriptLine, now: &ContextState| {
        let state = stage.session.state();
        let (guild, api) = (stage.raw_tokens("guild-feature"), stage.raw_tokens("api-refactor"));
        let (own, is_api_unchanged) = (guild - guild_before, api == api_before);
        (guild_before, api_before) = (guild, api);
        let tokens = format!("{} tokens", now.tokens);
        match line.step.as_str() {
            "Setup" => (tokens, state.shown_efforts().filter(|effort| effort.expanded.is_none()).count() == 2),
            "Turn 2" => {
                let measured = format!("{tokens}, {} (raw {})", now.delta(), stage.raw_tokens("auth-bug"));
                let grown = now.tokens - now.before;
                let banner = format!("--- Expanded effort: auth-bug ({grown} tokens loaded) ---");
                (measured, grown > 0 && now.banners.first() == Some(&banner))
            }
            "Turn 4" => (format!("{tokens}, {}", now.delta()), now.tokens == baseline),
            "Turn 5" => (now.delta(), now.tokens > now.before),
            "Turn 6" => {
                let is_active = state.active_effort().is_some_and(|effort| effort.id.as_str() == "api-refactor");
                (now.delta(), now.tokens > now.before && state.open_efforts().count() == 2 && is_active)
            }
            "Turn 7" => {
                let measured = format!("{}, of which {own} this exchange", now.delta());
                (measured, now.tokens - now.before == own && is_api_unchanged)
            }
            "Turn 8" => {
                let measured = format!("{}: guild-feature +{own}, api-refactor +0", now.delta());
                (measured, own > 0 && now.tokens - now.before == own && is_api_unchanged)
            }
            _ => (tokens, now.tokens == now.before),
        }
    };
    stage.prove_script(&mut proof, SCRIPT, judge).await?;
    Ok(proof)
}
