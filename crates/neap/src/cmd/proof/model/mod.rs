//! `neap proof model`: what only a model can do, asked of one: does it open, keep, close, expand, search and reopen when it should?
//!
//! Each row is a small conversation in a fresh store. What counts is what happened, as the events tell it, never how the
//! model put it. A model is not the same twice: each row is tried several times, and its share is told.

mod rows;
mod scene;

use std::process::ExitCode;

use serde::Serialize;

use crate::cli::ProofArgs;
use crate::env::DataDir;
use crate::model::{self, Chosen};
use crate::out::{self, BAD, BOLD, DIM, Failure, GOOD};
use crate::progress::Progress;
use rows::{ROWS, Row};
use scene::Scene;

/// How a row came out.
#[derive(Debug, Serialize)]
struct Rate {
    row: &'static str,
    expected: &'static str,
    tries: u32,
    passed: u32,
    /// What was seen instead, where it did not pass.
    seen: Vec<String>,
}

/// All of them.
#[derive(Debug, Serialize)]
struct Rates {
    model: String,
    rows: Vec<Rate>,
    ok: bool,
}

pub(crate) async fn run(data: &DataDir, args: &ProofArgs, json: bool) -> Result<ExitCode, Failure> {
    let Some(chosen) = model::choose(data, &args.model)? else {
        return Err(Failure::new("there is no model to ask")
            .hint("neap proof model --base-url http://localhost:11434/v1 --model NAME"));
    };
    let mut rows = Vec::new();
    let progress = Progress::new("rows", ROWS.len());
    for row in &ROWS {
        rows.push(rate(&chosen, row, args.tries).await?);
        progress.step();
    }
    progress.end();
    let ok = rows.iter().all(|rate| rate.passed == rate.tries);
    let rates = Rates { model: args.model.model.clone().unwrap_or_default(), rows, ok };
    if json {
        out::json_line(&rates)?
    } else {
        print(&rates)
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

async fn rate(chosen: &Chosen, row: &Row, tries: u32) -> Result<Rate, Failure> {
    let mut rate = Rate { row: row.name, expected: row.expected, tries, passed: 0, seen: Vec::new() };
    for _ in 0..tries {
        let mut scene = Scene::new(chosen, row.given).await?;
        let seen = scene.play(row.says).await?;
        if (row.holds)(&seen) { rate.passed += 1 } else { rate.seen.push(seen.to_string()) }
    }
    Ok(rate)
}

fn print(rates: &Rates) {
    out::line(format!("{BOLD}model{BOLD:#}  {}", out::clean(&rates.model)));
    let rows: Vec<Vec<String>> = rates.rows.iter().map(told).collect();
    out::line(out::table(&["row", "expected", "passed", "seen instead"], &rows));
    let passed = rates.rows.iter().filter(|rate| rate.passed == rate.tries).count();
    let style = if rates.ok { GOOD } else { BAD };
    out::line(format!("{style}{passed} of {} rows always hold{style:#}", rates.rows.len()));
    out::line(format!("{DIM}Judged by what happened, not by what was said.{DIM:#}"));
}

fn told(rate: &Rate) -> Vec<String> {
    let style = if rate.passed == rate.tries { GOOD } else { BAD };
    let passed = format!("{style}{} of {}{style:#}", rate.passed, rate.tries);
    let seen = rate.seen.first().map(|seen| out::clean(&out::shorten(seen, 80)).into_owned());
    vec![rate.row.to_owned(), rate.expected.to_owned(), passed, seen.unwrap_or_default()]
}
