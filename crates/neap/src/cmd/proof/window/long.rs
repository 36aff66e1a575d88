//! The long chat: everything that is measured while it runs.

use std::io::Write;
use std::time::Instant;

use neap_core::cost::Cost;
use neap_store::Footprint;

use super::kpi::raw_line;
use super::phases::{BEGINNING, WARM_UP, ordinary};
use super::stage::{Stage, ms};
use super::witness::Seen;
use super::{progress, retention};
use crate::files;
use crate::out::Failure;

/// The chat is begun anew once in so many turns: one beginning alone is too few turns to know what one takes, and a
/// machine is not equally quick all the while.
pub(super) const BEGIN_EVERY: u64 = 100;

/// What came of it.
pub(super) struct Run {
    pub(super) budget: u64,
    pub(super) seen: Seen,
    /// How many calls there had been after each turn.
    pub(super) calls_until: Vec<usize>,
    pub(super) turn_ms: Vec<f64>,
    /// What the first turns of the same chat take, of each time it was begun anew beside the long one.
    pub(super) beginnings_ms: Vec<Vec<f64>>,
    pub(super) upkeep_ms: Vec<f64>,
    /// What it takes to append the same messages to a file, each made durable.
    pub(super) append_ms: Vec<f64>,
    /// The size of that file.
    pub(super) raw_log_bytes: u64,
    pub(super) footprint: Footprint,
    pub(super) asked: retention::Asked,
}

/// Runs it.
pub(super) async fn run(turns: u64, budget: u64) -> Result<Run, Failure> {
    let mut stage = Stage::new(budget, &[], None).await?;
    let mut log = files::create_new(&stage.folder.path().join("raw.jsonl"))?;
    let (mut turn_ms, mut upkeep_ms, mut append_ms) = (Vec::new(), Vec::new(), Vec::new());
    let (mut calls_until, mut beginnings_ms, mut raw_log_bytes) = (Vec::new(), Vec::new(), 0);
    for n in 1..=turns {
        if n.is_multiple_of(BEGIN_EVERY) {
            beginnings_ms.push(beginning(budget).await?);
        }
        let said = ordinary(n);
        let began = Instant::now();
        for (role, content) in said.messages() {
            let line = raw_line(role, content);
            raw_log_bytes += line.len() as u64;
            log.write_all(line.as_bytes())?;
            log.sync_data()?;
        }
        append_ms.push(ms(began.elapsed()));
        let took = stage.say(&said.user, said.replies).await?;
        turn_ms.push(ms(took.turn));
        upkeep_ms.push(ms(took.upkeep));
        calls_until.push(stage.model.seen_calls());
        progress("turn", n, turns, 500);
    }
    let seen = stage.model.seen();
    let footprint = stage.engine.store().footprint(Some(stage.session.id())).await?;
    let asked = retention::ask(&mut stage, turns).await?;
    Ok(Run {
        budget,
        seen,
        calls_until,
        turn_ms,
        beginnings_ms,
        upkeep_ms,
        append_ms,
        raw_log_bytes,
        footprint,
        asked,
    })
}

/// The first turns of the same chat in a store of its own: what each takes, once its pages have been touched.
async fn beginning(budget: u64) -> Result<Vec<f64>, Failure> {
    let mut stage = Stage::new(budget, &[], None).await?;
    let mut turn_ms = Vec::new();
    for n in 1..=BEGINNING as u64 {
        let said = ordinary(n);
        turn_ms.push(ms(stage.say(&said.user, said.replies).await?.turn));
    }
    Ok(turn_ms.split_off(WARM_UP))
}

/// What the same chat costs with some settings.
pub(super) async fn cost(turns: u64, budget: u64, set: &[(&str, &str)]) -> Result<Cost, Failure> {
    let mut stage = Stage::new(budget, set, None).await?;
    for n in 1..=turns {
        let said = ordinary(n);
        stage.say(&said.user, said.replies).await?;
        progress("turn", n, turns, 500);
    }
    Ok(stage.session.state().metrics().cost)
}
