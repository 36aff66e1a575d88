//! Slice 2: expanding an effort restores it, collapsing removes it again; several efforts can be open.
//!
//! One row per step of the design's table. Tokens are those of efforts: the fixed text and the ambient chat that
//! logs these turns are not included.

use super::session::{AUTH_BUG, PERF_FIX, ProofSession, delta};
use super::{LabError, Proof};

const AUTH: &str = r#"{"id":"auth-bug"}"#;

pub(super) async fn prove(stage: &mut ProofSession) -> Result<Proof, LabError> {
    let mut proof =
        Proof::new("slice2", "compaction is lossless: expansion restores, collapse returns to the baseline");
    stage.play_and_conclude("auth-bug", AUTH_BUG).await?;
    stage.play_and_conclude("perf-fix", PERF_FIX).await?;
    stage.take_turn("Good morning!", &[], "Good morning.").await?;
    let baseline = stage.effort_tokens().await?;
    proof.add_row(
        "Setup",
        "2 concluded efforts + ambient",
        "about 180",
        format!("{baseline} tokens"),
        stage.summaries_shown() == 2,
    );

    stage.take_turn("What exactly did we change for that login problem?", &[], "Let me look that up.").await?;
    let asked = stage.effort_tokens().await?;
    proof.add_row(
        "Turn 1",
        "user asks about auth-bug detail",
        "unchanged",
        format!("{asked} tokens"),
        asked == baseline,
    );

    let reply =
        stage.take_turn("Yes please, auth-bug.", &[("expand_effort", AUTH)], "I have the log now.").await?;
    let expanded = stage.effort_tokens().await?;
    let loaded = reply.banners.first().map(|banner| banner.to_string()).unwrap_or_default();
    let exact = loaded == format!("--- Expanded effort: auth-bug ({} tokens loaded) ---", expanded - baseline);
    proof.add_row(
        "Turn 2",
        "model expands auth-bug",
        "+600: raw log in, banner names the exact growth",
        format!("{expanded} tokens, {} (raw {})", delta(baseline, expanded), stage.raw_tokens("auth-bug")),
        exact && expanded > baseline,
    );

    stage.take_turn("Which lock name did auth-bug use?", &[], "auth-refresh, with navigator.locks.").await?;
    let answered = stage.effort_tokens().await?;
    proof.add_row(
        "Turn 3",
        "answer from the raw log",
        "unchanged",
        format!("{answered} tokens"),
        answered == expanded,
    );

    stage.take_turn("Got it, thanks.", &[("collapse_effort", AUTH)], "You are welcome.").await?;
    let collapsed = stage.effort_tokens().await?;
    proof.add_row(
        "Turn 4",
        "model collapses auth-bug",
        "exactly the baseline again",
        format!("{collapsed} tokens, {}", delta(answered, collapsed)),
        collapsed == baseline,
    );

    several_efforts(stage, &mut proof, collapsed).await?;
    Ok(proof)
}

async fn several_efforts(stage: &mut ProofSession, proof: &mut Proof, before: u64) -> Result<(), LabError> {
    let open = [("open_effort", r#"{"name":"guild-feature"}"#)];
    stage
        .take_turn("Let's build guilds for the game: up to 50 members each.", &open, "Members, ranks, a bank?")
        .await?;
    let first = stage.effort_tokens().await?;
    proof.add_row("Turn 5", "open guild-feature", "+70", delta(before, first), first > before);

    let open = [("open_effort", r#"{"name":"api-refactor"}"#)];
    stage
        .take_turn("Separately, the API needs a refactor of its error codes.", &open, "One enum for all of them.")
        .await?;
    let second = stage.effort_tokens().await?;
    let state = stage.session.state();
    let both = state.open_efforts().count() == 2
        && state.active_effort().is_some_and(|e| e.id.as_str() == "api-refactor");
    proof.add_row("Turn 6", "open api-refactor", "+70, both open", delta(first, second), second > first && both);

    let (guild, api) = (stage.raw_tokens("guild-feature"), stage.raw_tokens("api-refactor"));
    let switch = [("switch_effort", r#"{"id":"guild-feature"}"#)];
    stage.take_turn("Back to the guilds.", &switch, "Guilds it is.").await?;
    let switched = stage.effort_tokens().await?;
    let own = stage.raw_tokens("guild-feature") - guild;
    proof.add_row(
        "Turn 7",
        "switch to guild-feature",
        "0 but for the turn's own exchange",
        format!("{}, of which {own} this exchange", delta(second, switched)),
        switched - second == own && stage.raw_tokens("api-refactor") == api,
    );

    let before_message = stage.raw_tokens("guild-feature");
    stage.take_turn("Ranks are leader, officer and member.", &[], "Then officers may invite.").await?;
    let after = stage.effort_tokens().await?;
    let grown = stage.raw_tokens("guild-feature") - before_message;
    proof.add_row(
        "Turn 8",
        "message goes to guild-feature",
        "+80: the active log grows, the other does not",
        format!("{}: guild-feature +{grown}, api-refactor +0", delta(switched, after)),
        grown > 0 && after - switched == grown && stage.raw_tokens("api-refactor") == api,
    );
    Ok(())
}
