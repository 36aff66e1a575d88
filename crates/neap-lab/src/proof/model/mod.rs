//! Tests whether a given model opens, closes, expands, searches and reopens efforts when
//! it should.
//!
//! Each scenario is a small conversation in a fresh store, judged by its events and never by the model's wording.
//! Models are not deterministic, so each scenario runs several times and the share that passes is reported.

mod scenario_run;
mod scenarios;

use std::sync::Arc;

use neap_core::base::tokens::Tokens;
use neap_model::ChatModel;
use serde::Serialize;

use crate::{LabError, OnProgress};
use scenario_run::ScenarioRun;
use scenarios::{SCENARIOS, Scenario};

#[derive(Debug, Serialize)]
pub struct ScenarioRate {
    pub row: &'static str,
    pub expected: &'static str,
    pub tries: u32,
    pub passed: u32,
    /// What happened instead, where it failed.
    pub seen: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct ModelReport {
    pub model: String,
    pub rows: Vec<ScenarioRate>,
    pub ok: bool,
}

/// The model under test, and how sessions with it are set up.
pub struct TestedModel {
    pub name: String,
    pub model: Arc<dyn ChatModel>,
    pub encoding: String,
    pub settings: Vec<(String, String)>,
    /// What the model accepts besides its reply, where known.
    pub context_tokens_max: Option<Tokens>,
}

pub async fn prove(tested: &TestedModel, tries: u32, progress: OnProgress<'_>) -> Result<ModelReport, LabError> {
    let mut rows = Vec::new();
    for (at, row) in SCENARIOS.iter().enumerate() {
        rows.push(rate_scenario(tested, row, tries).await?);
        progress("rows", at as u64 + 1, SCENARIOS.len() as u64);
    }
    let ok = rows.iter().all(|rate| rate.passed == rate.tries);
    Ok(ModelReport { model: tested.name.clone(), rows, ok })
}

async fn rate_scenario(tested: &TestedModel, row: &Scenario, tries: u32) -> Result<ScenarioRate, LabError> {
    let mut rate = ScenarioRate { row: row.name, expected: row.expected, tries, passed: 0, seen: Vec::new() };
    for _ in 0..tries {
        let mut run = ScenarioRun::new(tested, row.setup).await?;
        let observed = run.run(row.messages).await?;
        if (row.passes)(&observed) { rate.passed += 1 } else { rate.seen.push(observed.to_string()) }
    }
    Ok(rate)
}
