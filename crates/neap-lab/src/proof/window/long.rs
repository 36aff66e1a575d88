//! Runs the long chat and measures it.

use std::io::Write;
use std::time::Instant;

use neap_core::base::cost::Cost;
use neap_store::Footprint;
use serde_json::json;

use super::counting_model::RequestStats;
use super::phases::{BEGINNING, WARM_UP, ordinary_turn};
use super::retention::{RetentionScore, measure_retention};
use super::session::MeasuredSession;
use crate::measure::ms;
use crate::{LabError, OnProgress};

/// The chat's beginning is measured again every so many turns: one beginning is too short to be reliable, and a
/// machine's speed varies.
pub(super) const BEGIN_EVERY: u64 = 100;

#[derive(Default)]
pub(super) struct LongRun {
    pub(super) stats: RequestStats,
    pub(super) calls_until: Vec<usize>,
    pub(super) turn_ms: Vec<f64>,
    /// Times of the first turns, for each new beginning.
    pub(super) beginnings_ms: Vec<Vec<f64>>,
    pub(super) upkeep_ms: Vec<f64>,
    /// Time to append the same messages durably to a plain file.
    pub(super) append_ms: Vec<f64>,
    /// Size of that file.
    pub(super) raw_log_bytes: u64,
    pub(super) footprint: Footprint,
    pub(super) retention: RetentionScore,
}

pub(super) async fn run(turns: u64, budget: u64, progress: OnProgress<'_>) -> Result<LongRun, LabError> {
    let mut stage = MeasuredSession::new(budget, &[]).await?;
    let mut log = std::fs::File::create_new(stage.folder.path().join("raw.jsonl"))?;
    let mut run = LongRun::default();
    for n in 1..=turns {
        if n.is_multiple_of(BEGIN_EVERY) {
            run.beginnings_ms.push(time_beginning(budget).await?);
        }
        let turn = ordinary_turn(n);
        let began = Instant::now();
        for (role, content) in turn.messages() {
            // A line of the uncompressed raw log (`raw.jsonl`).
            let line = json!({"role": role, "content": content, "ts": "2026-11-15T12:00:00Z"}).to_string() + "\n";
            run.raw_log_bytes += line.len() as u64;
            log.write_all(line.as_bytes())?;
            log.sync_data()?;
        }
        run.append_ms.push(ms(began.elapsed()));
        let took = stage.take_turn(&turn.user, turn.replies).await?;
        run.turn_ms.push(ms(took.turn));
        run.upkeep_ms.push(ms(took.upkeep));
        run.calls_until.push(stage.model.call_count());
        progress("turns", n, turns);
    }
    run.stats = stage.model.stats();
    run.footprint = stage.engine.store().footprint(Some(stage.session.id())).await?;
    run.retention = measure_retention(&mut stage, turns, progress).await?;
    Ok(run)
}

/// Times of the first turns of the chat in a new store, after a warm-up.
async fn time_beginning(budget: u64) -> Result<Vec<f64>, LabError> {
    let mut stage = MeasuredSession::new(budget, &[]).await?;
    let mut turn_ms = Vec::new();
    for n in 1..=BEGINNING as u64 {
        let turn = ordinary_turn(n);
        turn_ms.push(ms(stage.take_turn(&turn.user, turn.replies).await?.turn));
    }
    Ok(turn_ms.split_off(WARM_UP))
}

pub(super) async fn chat_cost(
    turns: u64,
    budget: u64,
    set: &[(&str, &str)],
    progress: OnProgress<'_>,
) -> Result<Cost, LabError> {
    let mut stage = MeasuredSession::new(budget, set).await?;
    for n in 1..=turns {
        let turn = ordinary_turn(n);
        stage.take_turn(&turn.user, turn.replies).await?;
        progress("turns", n, turns);
    }
    Ok(stage.session.state().metrics().cost)
}
