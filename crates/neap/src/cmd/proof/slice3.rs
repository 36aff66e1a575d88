//! Slice 3: an expansion fades by itself when nothing refers to it. The table of the seed, row by row.

use neap_core::ids::EffortId;

use super::stage::{AUTH_BUG, PERF_FIX, Stage};
use super::{Failure, Proof};

const AUTH: &str = r#"{"id":"auth-bug"}"#;

pub(super) async fn prove(stage: &mut Stage) -> Result<Proof, Failure> {
    let mut proof = Proof::new("slice3", "an expansion decays after exactly 3 turns without a reference");
    stage.work_through("auth-bug", AUTH_BUG).await?;
    stage.work_through("perf-fix", PERF_FIX).await?;
    let baseline = stage.efforts().await?;
    proof.row(
        "Setup",
        "2 concluded efforts + ambient",
        "none expanded",
        stage.expanded(),
        stage.expanded() == "none",
    );

    stage.say("Please show me auth-bug again.", &[("expand_effort", AUTH)], "Here it is.").await?;
    let expanded = stage.efforts().await?;
    step(stage, &mut proof, "Turn 1", "expand auth-bug", Some(0));
    let asked = "In auth-bug, which status did users see?";
    stage.say(asked, &[], "They saw a 401.").await?;
    step(stage, &mut proof, "Turn 2", "ask about auth-bug (referenced)", Some(0));
    stage.say("What rhymes with orange?", &[], "Hardly anything does.").await?;
    step(stage, &mut proof, "Turn 3", "unrelated question", Some(1));
    stage.say("And with silver?", &[], "Chilver, a ewe lamb.").await?;
    step(stage, &mut proof, "Turn 4", "another unrelated exchange", Some(2));
    let reply = stage.say("Purple, perhaps?", &[], "Curple, a strap for a horse.").await?;
    let banner = "--- Auto-collapsed effort: auth-bug (inactive for 3 turns) ---";
    let told: Vec<String> = reply.banners.iter().map(|banner| banner.to_string()).collect();
    proof.row(
        "Turn 5",
        "another unrelated exchange",
        "counter 3: auto-collapse, with its banner",
        format!("expanded: {}; {}", stage.expanded(), told.join(" ")),
        told == [banner] && stage.expanded() == "none",
    );
    let after = stage.efforts().await?;
    proof.row(
        "Turn 5",
        "tokens freed",
        "exactly what the expansion had loaded",
        format!("{expanded} → {after} tokens"),
        after == baseline,
    );
    stage.say("Enough of rhymes.", &[], "As you like.").await?;
    let at_6 = stage.efforts().await?;
    proof.row("Turn 6", "go on, auth-bug is gone", "none expanded", stage.expanded(), at_6 == baseline);
    let again = stage.say("Once more: auth-bug, please.", &[("expand_effort", AUTH)], "Here it is.").await?;
    let re_expanded = again.banners.iter().any(|b| b.to_string().starts_with("--- Expanded effort: auth-bug"));
    proof.row(
        "Turn 7",
        "ask about auth-bug again",
        "expanded again, as before",
        format!("expanded: {}, {} tokens", stage.expanded(), stage.efforts().await?),
        re_expanded && stage.efforts().await? == expanded,
    );

    let report = stage.session.report();
    proof.row("metrics", "auto_collapses", "1", report.auto_collapses.to_string(), report.auto_collapses == 1);
    let false_rate = report.false_decay_rate.unwrap_or_default();
    proof.row(
        "metrics",
        "false_decay_rate",
        "1.00: within 2 turns",
        format!("{false_rate:.2}"),
        false_rate == 1.0,
    );
    let saved = report.tokens_saved_by_decay.0;
    proof.row("metrics", "tokens_saved_by_decay", "above 0", format!("{saved} tokens"), saved > 0);
    Ok(proof)
}

/// Checks which effort is expanded and how long it has not been referenced.
fn step(stage: &Stage, proof: &mut Proof, at: &str, action: &str, counter: Option<u64>) {
    let state = stage.session.state();
    let auth = EffortId::from_name("auth-bug").ok().and_then(|id| state.effort(&id));
    let since = auth.map(|effort| state.turn().since(effort.last_referenced));
    let measured = format!("expanded: {}, counter {}", stage.expanded(), since.unwrap_or_default());
    let expected = format!("auth-bug expanded, counter {}", counter.unwrap_or_default());
    proof.row(at, action, expected, measured, since == counter && stage.expanded() == "auth-bug");
}
