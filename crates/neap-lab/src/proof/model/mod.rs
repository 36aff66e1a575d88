//! Tests whether a given model opens, closes, expands, searches and reopens efforts when
//! it should.
//!
//! Each scenario is a small conversation in a fresh store, judged by its events and never by the model's wording.
//! Models are not deterministic, so each scenario runs several times and the share that passes is reported.

mod mute;
mod scenario_run;
mod scenarios;

use std::sync::Arc;

use neap_core::base::tokens::Tokens;
use neap_model::ChatModel;
use serde::Serialize;

use crate::{LabError, OnProgress};
use mute::MuteModel;
use scenario_run::ScenarioRun;
use scenarios::{Scenario, scenarios};

#[derive(Debug, Serialize)]
pub struct ScenarioRate {
    pub row: String,
    pub expected: String,
    pub tries: u32,
    pub passed: u32,
    /// Whether a model that only talks passes it, too.
    pub passed_mute: bool,
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
#[derive(Clone)]
pub struct TestedModel {
    pub name: String,
    pub model: Arc<dyn ChatModel>,
    pub encoding: String,
    pub settings: Vec<(String, String)>,
    /// What the model accepts besides its reply, where known.
    pub context_tokens_max: Option<Tokens>,
}

pub async fn prove(tested: &TestedModel, tries: u32, progress: OnProgress<'_>) -> Result<ModelReport, LabError> {
    let (mut rows, scenarios) = (Vec::new(), scenarios()?);
    let all = scenarios.len() as u64;
    for (at, scenario) in scenarios.into_iter().enumerate() {
        rows.push(rate_scenario(tested, scenario, tries).await?);
        progress("rows", at as u64 + 1, all);
    }
    let ok = rows.iter().all(|rate| rate.passed == rate.tries);
    Ok(ModelReport { model: tested.name.clone(), rows, ok })
}

async fn rate_scenario(tested: &TestedModel, scenario: Scenario, tries: u32) -> Result<ScenarioRate, LabError> {
    let (mut passed, mut seen) = (0, Vec::new());
    for _ in 0..tries {
        let observed = ScenarioRun::new(tested, scenario.setup).await?.run(&scenario.messages).await?;
        if scenario.passes(&observed) { passed += 1 } else { seen.push(observed.to_string()) }
    }
    let mute = TestedModel { name: String::new(), model: Arc::new(MuteModel), ..tested.clone() };
    let observed = ScenarioRun::new(&mute, scenario.setup).await?.run(&scenario.messages).await?;
    let passed_mute = scenario.passes(&observed);
    Ok(ScenarioRate { row: scenario.name, expected: scenario.expected, tries, passed, passed_mute, seen })
}
