//! Slice 4: the context stays bounded, and evicted efforts are found again. One row per step of the design's
//! table.
//!
//! Turns are counted from the set-up. Efforts 1 and 2 are mentioned now and then and are still shown at turn 26;
//! the others are not mentioned and are evicted after exactly 20 turns.

use neap_core::base::ledger::Layer;
use neap_core::base::message::Role;

use super::session::{AUTH_BUG, ContextState, DB_MIGRATION, PERF_FIX, ProofSession, ScriptLine};
use super::{LabError, Proof};

const SCRIPT: &str = include_str!("scripts/eviction.jsonl");
const EFFORTS: [(&str, &str); 5] = [
    ("effort-1-auth", AUTH_BUG),
    ("effort-2-perf", PERF_FIX),
    ("effort-3-trip", include_str!("scripts/sailing-trip.jsonl")),
    ("effort-4-migration", DB_MIGRATION),
    ("effort-5-logo", include_str!("scripts/logo-design.jsonl")),
];
const SEARCHED: &str = "effort-4-migration";

pub(super) async fn prove(stage: &mut ProofSession) -> Result<Proof, LabError> {
    let mut proof = Proof::new("slice4", "the context stays bounded; what left it is found again");
    stage.small_talk(30).await?;
    stage.work_and_conclude(&EFFORTS).await?;
    let mut peak_at_setup = 0;
    stage
        .prove_script(&mut proof, SCRIPT, |stage, line, now| {
            if line.step == "Setup" {
                peak_at_setup = now.layers.total().0;
            }
            judge(stage, line, now)
        })
        .await?;
    let peak = stage.session.report().context_tokens_peak.0;
    let budget = stage.session.state().policy().context_tokens_max;
    let measured = format!("peak {peak} tokens, {peak_at_setup} at set-up");
    proof.add_row("all", "the context has a ceiling", format!("never over {budget}"), measured, peak <= budget);
    Ok(proof)
}

fn judge(stage: &ProofSession, line: &ScriptLine, now: &ContextState) -> (String, bool) {
    let expanded = stage.expanded_ids();
    match (line.step.as_str(), line.action.as_str()) {
        ("Turn 22", _) => {
            let best = best_match(stage);
            (format!("best match: {best}"), best == SEARCHED)
        }
        ("Turn 23", _) => {
            let raw = now.layers.get(Layer::Expanded).0;
            let ok = expanded == SEARCHED && raw >= stage.raw_tokens(SEARCHED);
            (format!("expanded: {expanded}, {raw} tokens"), ok)
        }
        (_, "expanded") => (expanded.clone(), expanded == line.expected),
        _ => {
            let summaries = stage.session.state().shown_efforts().filter(|effort| effort.expanded.is_none());
            let counts = format!("{} summaries, {} ambient exchanges", summaries.count(), now.ambient_exchanges);
            (format!("{counts}, {} tokens", now.layers.variable()), counts == line.expected)
        }
    }
}

/// What the model's latest search found first.
fn best_match(stage: &ProofSession) -> String {
    let requests = stage.model.requests();
    let mut messages = requests.iter().rev().flat_map(|request| request.messages.iter().rev());
    let found = messages.find(|message| message.role == Role::Tool);
    let found: serde_json::Value =
        found.and_then(|found| serde_json::from_str(&found.content).ok()).unwrap_or_default();
    found["results"][0]["id"].as_str().unwrap_or("nothing").to_owned()
}
