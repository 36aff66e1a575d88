//! Slice 4: the context stays bounded, and evicted efforts are found again. One row per step of the design's
//! table.
//!
//! Turns are counted from the set-up. Efforts 1 and 2 are mentioned now and then and are still shown at turn 26;
//! the others are not mentioned and are evicted after exactly 20 turns.

use neap_core::base::ledger::Layer;

use super::session::{AUTH_BUG, DB_MIGRATION, LOGO_DESIGN, PERF_FIX, ProofSession, SAILING_TRIP};
use super::{LabError, Proof};

/// Sentences that share at most one keyword with any summary.
const CHATTER: [&str; 7] = [
    "Tell me a joke about cats.",
    "Does pasta cook quicker at altitude?",
    "I slept badly last night.",
    "Which planet has most moons?",
    "My neighbour plays violin at midnight.",
    "Do penguins have knees?",
    "Chess or checkers tonight?",
];

pub(super) async fn prove(stage: &mut ProofSession) -> Result<Proof, LabError> {
    let mut proof = Proof::new("slice4", "the context stays bounded; what left it is found again");
    for at in 0..30 {
        small_talk(stage, at).await?;
    }
    let efforts = [
        ("effort-1-auth", AUTH_BUG),
        ("effort-2-perf", PERF_FIX),
        ("effort-3-trip", SAILING_TRIP),
        ("effort-4-migration", DB_MIGRATION),
        ("effort-5-logo", LOGO_DESIGN),
    ];
    for (name, script) in efforts {
        stage.play_and_conclude(name, script).await?;
    }
    // The last effort was concluded in this turn; mentioning the others gives all the same age.
    let mention = "To recap: effort-1-auth, effort-2-perf, effort-3-trip, effort-4-migration and effort-5-logo.";
    stage.take_turn(mention, &[], "Noted.").await?;
    let measured = (stage.summaries_shown(), ambient_exchanges(stage).await?);
    add_counts_row(&mut proof, "Setup", "5 concluded efforts, 30 ambient exchanges", (5, 10), measured, stage)
        .await?;
    let peak_at_setup = stage.layer_tokens().await?.total().0;

    let zero = stage.session.state().turn().0;
    stage.take_turn("effort-1-auth and effort-2-perf went well.", &[], "They did.").await?;
    let measured = (stage.summaries_shown(), ambient_exchanges(stage).await?);
    add_counts_row(&mut proof, "Turn 1", "reference effort-1 and effort-2", (5, 10), measured, stage).await?;

    while stage.session.state().turn().0 < zero + 19 {
        let at = stage.session.state().turn().0;
        if at == zero + 10 {
            stage.take_turn("Like effort-1-auth and effort-2-perf, in a way.", &[], "Yes.").await?;
        } else {
            small_talk(stage, usize::try_from(at).unwrap_or_default()).await?;
        }
    }
    let measured = (stage.summaries_shown(), ambient_exchanges(stage).await?);
    add_counts_row(&mut proof, "Turn 19", "19 turns without effort-3, 4, 5", (5, 10), measured, stage).await?;
    small_talk(stage, 3).await?;
    let measured = (stage.summaries_shown(), ambient_exchanges(stage).await?);
    add_counts_row(&mut proof, "Turn 20", "20 turns without them: evicted", (2, 10), measured, stage).await?;
    small_talk(stage, 4).await?;
    let measured = (stage.summaries_shown(), ambient_exchanges(stage).await?);
    add_counts_row(&mut proof, "Turn 21", "effort-1 and effort-2 are shown", (2, 10), measured, stage).await?;

    prove_recall(stage, &mut proof).await?;
    let peak = stage.session.report().context_tokens_peak.0;
    let budget = stage.session.state().policy().context_tokens_max;
    proof.add_row(
        "all",
        "the context has a ceiling",
        format!("never over {budget}"),
        format!("peak {peak} tokens, {peak_at_setup} at set-up"),
        peak <= budget,
    );
    Ok(proof)
}

/// Search finds an evicted effort, expansion restores it, decay collapses it, and its summary stays.
async fn prove_recall(stage: &mut ProofSession, proof: &mut Proof) -> Result<(), LabError> {
    let search = [("search_efforts", r#"{"query":"move billing to Postgres"}"#)];
    stage.take_turn("When was that cut-over planned?", &search, "Let me see what I find.").await?;
    let engine_found = best_match(stage).await?;
    proof.add_row(
        "Turn 22",
        "user asks about effort-4's topic",
        "search finds it",
        format!("best match: {engine_found}"),
        engine_found == "effort-4-migration",
    );
    let expand = [("expand_effort", r#"{"id":"effort-4-migration"}"#)];
    stage.take_turn("Yes, the details please.", &expand, "Sunday 22 March at 03:00.").await?;
    let raw = stage.layer_tokens().await?.get(Layer::Expanded).0;
    proof.add_row(
        "Turn 23",
        "user asks for details",
        "effort-4's raw log is expanded",
        format!("expanded: {}, {raw} tokens", stage.expanded_ids()),
        stage.expanded_ids() == "effort-4-migration" && raw >= stage.raw_tokens("effort-4-migration"),
    );
    for at in 0..3 {
        small_talk(stage, at + 2).await?;
    }
    let measured = (stage.summaries_shown(), ambient_exchanges(stage).await?);
    add_counts_row(proof, "Turn 26", "decay collapses effort-4", (3, 10), measured, stage).await?;
    proof.add_row("Turn 26", "expanded", "none", stage.expanded_ids(), stage.expanded_ids() == "none");
    Ok(())
}

async fn best_match(stage: &mut ProofSession) -> Result<String, LabError> {
    let outcome = stage.session.call_tool("search_efforts", r#"{"query":"move billing to Postgres"}"#).await?;
    let value: serde_json::Value = serde_json::from_str(&outcome.text).unwrap_or_default();
    Ok(value["results"][0]["id"].as_str().unwrap_or("nothing").to_owned())
}

async fn small_talk(stage: &mut ProofSession, at: usize) -> Result<(), LabError> {
    stage.take_turn(CHATTER[at % CHATTER.len()], &[], "Hm.").await?;
    Ok(())
}

async fn ambient_exchanges(stage: &mut ProofSession) -> Result<usize, LabError> {
    let ledger = stage.session.assemble(None).await?.ledger;
    let exchanges: u64 =
        ledger.logs.iter().filter(|log| log.layer == Layer::Ambient).map(|log| log.exchanges).sum();
    Ok(usize::try_from(exchanges).unwrap_or(usize::MAX))
}

async fn add_counts_row(
    proof: &mut Proof,
    at: &str,
    action: &str,
    expected: (usize, usize),
    measured: (usize, usize),
    stage: &mut ProofSession,
) -> Result<(), LabError> {
    let tokens = stage.layer_tokens().await?.variable();
    proof.add_row(
        at,
        action,
        format!("{} summaries, {} ambient exchanges", expected.0, expected.1),
        format!("{} summaries, {} ambient exchanges, {tokens} tokens", measured.0, measured.1),
        expected == measured,
    );
    Ok(())
}
