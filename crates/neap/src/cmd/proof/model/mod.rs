//! `neap lab proof model`: tests whether a given model opens, closes, expands, searches and reopens efforts when
//! it should.
//!
//! Each scenario is a small conversation in a fresh store, judged by its events and never by the model's wording.
//! Models are not deterministic, so each scenario runs several times and the share that passes is reported.

mod scenario_run;
mod scenarios;

use std::process::ExitCode;

use serde::Serialize;

use crate::cli::ProofArgs;
use crate::env::DataDir;
use crate::model::{self, ChosenModel};
use crate::out::{self, BAD, BOLD, DIM, Failure, GOOD};
use crate::progress::Progress;
use scenario_run::ScenarioRun;
use scenarios::{SCENARIOS, Scenario};

#[derive(Debug, Serialize)]
struct ScenarioRate {
    row: &'static str,
    expected: &'static str,
    tries: u32,
    passed: u32,
    /// What happened instead, where it failed.
    seen: Vec<String>,
}

#[derive(Debug, Serialize)]
struct ModelReport {
    model: String,
    rows: Vec<ScenarioRate>,
    ok: bool,
}

pub(crate) async fn run(data: &DataDir, args: &ProofArgs, json: bool) -> Result<ExitCode, Failure> {
    let Some(chosen) = model::choose(data, &args.model)? else {
        return Err(Failure::new("there is no model to ask")
            .hint("neap lab proof model --base-url http://localhost:11434/v1 --model NAME"));
    };
    let mut rows = Vec::new();
    let progress = Progress::new("rows", SCENARIOS.len());
    for row in &SCENARIOS {
        rows.push(rate_scenario(&chosen, row, args.tries).await?);
        progress.step();
    }
    progress.clear();
    let ok = rows.iter().all(|rate| rate.passed == rate.tries);
    let report = ModelReport { model: args.model.model.clone().unwrap_or_default(), rows, ok };
    if json {
        out::print_json(&report)?
    } else {
        print(&report)
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

async fn rate_scenario(chosen: &ChosenModel, row: &Scenario, tries: u32) -> Result<ScenarioRate, Failure> {
    let mut rate = ScenarioRate { row: row.name, expected: row.expected, tries, passed: 0, seen: Vec::new() };
    for _ in 0..tries {
        let mut run = ScenarioRun::new(chosen, row.setup).await?;
        let observed = run.run(row.messages).await?;
        if (row.passes)(&observed) { rate.passed += 1 } else { rate.seen.push(observed.to_string()) }
    }
    Ok(rate)
}

fn print(report: &ModelReport) {
    out::print_line(format!("{BOLD}model{BOLD:#}  {}", out::escape_control(&report.model)));
    let rows: Vec<Vec<String>> = report.rows.iter().map(table_row).collect();
    out::print_line(out::table(&["row", "expected", "passed", "seen instead"], &rows));
    let passed = report.rows.iter().filter(|rate| rate.passed == rate.tries).count();
    let style = if report.ok { GOOD } else { BAD };
    out::print_line(format!("{style}{passed} of {} rows always hold{style:#}", report.rows.len()));
    out::print_line(format!("{DIM}Judged by what happened, not by what was said.{DIM:#}"));
}

fn table_row(rate: &ScenarioRate) -> Vec<String> {
    let style = if rate.passed == rate.tries { GOOD } else { BAD };
    let passed = format!("{style}{} of {}{style:#}", rate.passed, rate.tries);
    let seen = rate.seen.first().map(|seen| out::escape_control(&out::shorten(seen, 80)).into_owned());
    vec![rate.row.to_owned(), rate.expected.to_owned(), passed, seen.unwrap_or_default()]
}
