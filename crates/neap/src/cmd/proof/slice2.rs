//! Slice 2: expansion brings back everything, collapse takes it away again; efforts live side by side.
//!
//! The table of the seed, row by row. Tokens are those of efforts: our fixed text and the ambient chat in
//! which these very turns are logged stand apart.

use super::stage::{AUTH_BUG, PERF_FIX, Stage, delta};
use super::{Failure, Proof};

const AUTH: &str = r#"{"id":"auth-bug"}"#;

pub(super) async fn prove(stage: &mut Stage) -> Result<Proof, Failure> {
    let mut proof =
        Proof::new("slice2", "compaction is lossless: expansion restores, collapse returns to the baseline");
    stage.work_through("auth-bug", AUTH_BUG).await?;
    stage.work_through("perf-fix", PERF_FIX).await?;
    stage.say("Good morning!", &[], "Good morning.").await?;
    let baseline = stage.efforts().await?;
    proof.row(
        "Setup",
        "2 concluded efforts + ambient",
        "about 180",
        format!("{baseline} tokens"),
        stage.shown() == 2,
    );

    stage.say("What exactly did we change for that login problem?", &[], "Let me look that up.").await?;
    let asked = stage.efforts().await?;
    proof.row(
        "Turn 1",
        "user asks about auth-bug detail",
        "unchanged",
        format!("{asked} tokens"),
        asked == baseline,
    );

    let reply = stage.say("Yes please, auth-bug.", &[("expand_effort", AUTH)], "I have the log now.").await?;
    let expanded = stage.efforts().await?;
    let loaded = reply.banners.first().map(|banner| banner.to_string()).unwrap_or_default();
    let exact = loaded == format!("--- Expanded effort: auth-bug ({} tokens loaded) ---", expanded - baseline);
    proof.row(
        "Turn 2",
        "model expands auth-bug",
        "+600: raw log in, banner names the exact growth",
        format!("{expanded} tokens, {} (raw {})", delta(baseline, expanded), stage.raw_tokens("auth-bug")),
        exact && expanded > baseline,
    );

    stage.say("Which lock name did auth-bug use?", &[], "auth-refresh, with navigator.locks.").await?;
    let answered = stage.efforts().await?;
    proof.row(
        "Turn 3",
        "answer from the raw log",
        "unchanged",
        format!("{answered} tokens"),
        answered == expanded,
    );

    stage.say("Got it, thanks.", &[("collapse_effort", AUTH)], "You are welcome.").await?;
    let collapsed = stage.efforts().await?;
    proof.row(
        "Turn 4",
        "model collapses auth-bug",
        "exactly the baseline again",
        format!("{collapsed} tokens, {}", delta(answered, collapsed)),
        collapsed == baseline,
    );

    several_efforts(stage, &mut proof, collapsed).await?;
    Ok(proof)
}

async fn several_efforts(stage: &mut Stage, proof: &mut Proof, before: u64) -> Result<(), Failure> {
    let open = [("open_effort", r#"{"name":"guild-feature"}"#)];
    stage.say("Let's build guilds for the game: up to 50 members each.", &open, "Members, ranks, a bank?").await?;
    let first = stage.efforts().await?;
    proof.row("Turn 5", "open guild-feature", "+70", delta(before, first), first > before);

    let open = [("open_effort", r#"{"name":"api-refactor"}"#)];
    stage
        .say("Separately, the API needs a refactor of its error codes.", &open, "One enum for all of them.")
        .await?;
    let second = stage.efforts().await?;
    let state = stage.session.state();
    let both = state.open().count() == 2 && state.active().is_some_and(|e| e.id.as_str() == "api-refactor");
    proof.row("Turn 6", "open api-refactor", "+70, both open", delta(first, second), second > first && both);

    let (guild, api) = (stage.raw_tokens("guild-feature"), stage.raw_tokens("api-refactor"));
    let switch = [("switch_effort", r#"{"id":"guild-feature"}"#)];
    stage.say("Back to the guilds.", &switch, "Guilds it is.").await?;
    let switched = stage.efforts().await?;
    let own = stage.raw_tokens("guild-feature") - guild;
    proof.row(
        "Turn 7",
        "switch to guild-feature",
        "0 but for the turn's own exchange",
        format!("{}, of which {own} this exchange", delta(second, switched)),
        switched - second == own && stage.raw_tokens("api-refactor") == api,
    );

    let before_message = stage.raw_tokens("guild-feature");
    stage.say("Ranks are leader, officer and member.", &[], "Then officers may invite.").await?;
    let after = stage.efforts().await?;
    let grown = stage.raw_tokens("guild-feature") - before_message;
    proof.row(
        "Turn 8",
        "message goes to guild-feature",
        "+80: the active log grows, the other does not",
        format!("{}: guild-feature +{grown}, api-refactor +0", delta(switched, after)),
        grown > 0 && after - switched == grown && stage.raw_tokens("api-refactor") == api,
    );
    Ok(())
}
