//! Slice 3: an expansion decays when nothing refers to it. One row per step of the design's table.

use neap_core::base::ids::EffortId;

use super::session::{AUTH_BUG, PERF_FIX, ProofSession};
use super::{LabError, Proof};

const AUTH: &str = r#"{"id":"auth-bug"}"#;

pub(super) async fn prove(stage: &mut ProofSession) -> Result<Proof, LabError> {
    let mut proof = Proof::new("slice3", "an expansion decays after exactly 3 turns without a reference");
    stage.play_and_conclude("auth-bug", AUTH_BUG).await?;
    stage.play_and_conclude("perf-fix", PERF_FIX).await?;
    let baseline = stage.effort_tokens().await?;
    proof.add_row(
        "Setup",
        "2 concluded efforts + ambient",
        "none expanded",
        stage.expanded_ids(),
        stage.expanded_ids() == "none",
    );

    stage.take_turn("Please show me auth-bug again.", &[("expand_effort", AUTH)], "Here it is.").await?;
    let expanded = stage.effort_tokens().await?;
    check_step(stage, &mut proof, "Turn 1", "expand auth-bug", Some(0));
    let asked = "In auth-bug, which status did users see?";
    stage.take_turn(asked, &[], "They saw a 401.").await?;
    check_step(stage, &mut proof, "Turn 2", "ask about auth-bug (referenced)", Some(0));
    stage.take_turn("What rhymes with orange?", &[], "Hardly anything does.").await?;
    check_step(stage, &mut proof, "Turn 3", "unrelated question", Some(1));
    stage.take_turn("And with silver?", &[], "Chilver, a ewe lamb.").await?;
    check_step(stage, &mut proof, "Turn 4", "another unrelated exchange", Some(2));
    let reply = stage.take_turn("Purple, perhaps?", &[], "Curple, a strap for a horse.").await?;
    let banner = "--- Auto-collapsed effort: auth-bug (inactive for 3 turns) ---";
    let banners: Vec<String> = reply.banners.iter().map(|banner| banner.to_string()).collect();
    proof.add_row(
        "Turn 5",
        "another unrelated exchange",
        "counter 3: auto-collapse, with its banner",
        format!("expanded: {}; {}", stage.expanded_ids(), banners.join(" ")),
        banners == [banner] && stage.expanded_ids() == "none",
    );
    let after = stage.effort_tokens().await?;
    proof.add_row(
        "Turn 5",
        "tokens freed",
        "exactly what the expansion had loaded",
        format!("{expanded} → {after} tokens"),
        after == baseline,
    );
    stage.take_turn("Enough of rhymes.", &[], "As you like.").await?;
    let at_6 = stage.effort_tokens().await?;
    proof.add_row("Turn 6", "go on, auth-bug is gone", "none expanded", stage.expanded_ids(), at_6 == baseline);
    let again = stage.take_turn("Once more: auth-bug, please.", &[("expand_effort", AUTH)], "Here it is.").await?;
    let re_expanded = again.banners.iter().any(|b| b.to_string().starts_with("--- Expanded effort: auth-bug"));
    proof.add_row(
        "Turn 7",
        "ask about auth-bug again",
        "expanded again, as before",
        format!("expanded: {}, {} tokens", stage.expanded_ids(), stage.effort_tokens().await?),
        re_expanded && stage.effort_tokens().await? == expanded,
    );

    let report = stage.session.report();
    proof.add_row("metrics", "auto_collapses", "1", report.auto_collapses.to_string(), report.auto_collapses == 1);
    let false_rate = report.false_decay_rate.unwrap_or_default();
    proof.add_row(
        "metrics",
        "false_decay_rate",
        "1.00: within 2 turns",
        format!("{false_rate:.2}"),
        false_rate == 1.0,
    );
    let saved = report.tokens_saved_by_decay.0;
    proof.add_row("metrics", "tokens_saved_by_decay", "above 0", format!("{saved} tokens"), saved > 0);
    Ok(proof)
}

fn check_step(stage: &ProofSession, proof: &mut Proof, at: &str, action: &str, counter: Option<u64>) {
    let state = stage.session.state();
    let auth = EffortId::from_name("auth-bug").ok().and_then(|id| state.effort(&id));
    let since = auth.map(|effort| state.turn().since(effort.last_referenced));
    let measured = format!("expanded: {}, counter {}", stage.expanded_ids(), since.unwrap_or_default());
    let expected = format!("auth-bug expanded, counter {}", counter.unwrap_or_default());
    proof.add_row(at, action, expected, measured, since == counter && stage.expanded_ids() == "auth-bug");
}
