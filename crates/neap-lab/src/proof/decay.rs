//! Slice 3: an expansion decays when nothing refers to it. One row per step of the design's table.

use super::session::{AUTH_BUG, ContextState, PERF_FIX, ProofSession, ScriptLine};
use super::{LabError, Proof};

const SCRIPT: &str = include_str!("scripts/decay.jsonl");
const COLLAPSED: &str = "--- Auto-collapsed effort: auth-bug (inactive for 3 turns) ---";

pub(super) async fn prove(stage: &mut ProofSession) -> Result<Proof, LabError> {
    let mut proof = Proof::new("slice3", "an expansion decays after exactly 3 turns without a reference");
    stage.work_and_conclude(&[("auth-bug", AUTH_BUG), ("perf-fix", PERF_FIX)]).await?;
    let baseline = stage.context_state().await?.tokens;
    let mut loaded = 0;
    let judge = |stage: &ProofSession, line: &ScriptLine, now: &ContextState| {
        let (expanded, report) = (stage.expanded_ids(), stage.session.report());
        match (line.step.as_str(), line.action.as_str()) {
            ("Setup", _) => (expanded.clone(), expanded == "none"),
            ("Turn 5", "tokens freed") => {
                (format!("{} → {} tokens", now.before, now.tokens), now.tokens == baseline)
            }
            ("Turn 5", _) => {
                let ok = now.banners == [COLLAPSED] && expanded == "none";
                (format!("expanded: {expanded}; {}", now.banners.join(" ")), ok)
            }
            ("Turn 6", _) => (expanded, now.tokens == baseline),
            ("Turn 7", _) => {
                let banner = now.banners.iter().any(|text| text.starts_with("--- Expanded effort: auth-bug"));
                (format!("expanded: {expanded}, {} tokens", now.tokens), banner && now.tokens == loaded)
            }
            (_, "auto_collapses") => (report.auto_collapses.to_string(), report.auto_collapses == 1),
            (_, "false_decay_rate") => {
                let rate = report.false_decay_rate.unwrap_or_default();
                (format!("{rate:.2}"), rate == 1.0)
            }
            (_, "tokens_saved_by_decay") => {
                let saved = report.tokens_saved_by_decay.0;
                (format!("{saved} tokens"), saved > 0)
            }
            _ => {
                loaded = now.tokens;
                let turn = stage.session.state().turn();
                let counter = stage.effort("auth-bug").map_or(0, |effort| turn.since(effort.last_referenced));
                let ok = line.expected == format!("{expanded} expanded, counter {counter}");
                (format!("expanded: {expanded}, counter {counter}"), ok)
            }
        }
    };
    stage.prove_script(&mut proof, SCRIPT, judge).await?;
    Ok(proof)
}
