//! `neap lab proof model`: tests whether a given model opens, closes, expands, searches and reopens efforts when
//! it should.

use std::process::ExitCode;

use neap_lab::proof::model::{self as model_proof, ModelReport, ScenarioRate, TestedModel};

use crate::cli::ProofArgs;
use crate::env::DataDir;
use crate::out::{self, BAD, BOLD, DIM, Failure, GOOD};
use crate::{model, progress};

pub(super) async fn run(data: &DataDir, args: &ProofArgs, json: bool) -> Result<ExitCode, Failure> {
    let Some(chosen) = model::choose(data, &args.model).await? else {
        return Err(Failure::new("there is no model to ask")
            .hint("neap lab proof model --base-url http://localhost:11434/v1 --model NAME"));
    };
    let tested = TestedModel {
        name: args.model.model.clone().unwrap_or_default(),
        encoding: chosen.encoding(),
        settings: chosen.settings(Vec::new()),
        context_tokens_max: chosen.profile.context_tokens_max(),
        model: chosen.client,
    };
    let report = model_proof::prove(&tested, args.tries, &progress::show).await?;
    if json {
        out::print_json(&report)?
    } else {
        print(&report)
    }
    Ok(if report.ok { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn print(report: &ModelReport) {
    out::print_line(format!("{BOLD}model{BOLD:#}  {}", out::escape_control(&report.model)));
    let rows: Vec<Vec<String>> = report.rows.iter().map(table_row).collect();
    out::print_line(out::table(&["row", "expected", "passed", "talk alone", "seen instead"], &rows));
    let held = |rates: &[&ScenarioRate]| rates.iter().filter(|rate| rate.passed == rate.tries).count();
    let all: Vec<&ScenarioRate> = report.rows.iter().collect();
    let telling: Vec<&ScenarioRate> = report.rows.iter().filter(|rate| !rate.passed_mute).collect();
    let style = if report.ok { GOOD } else { BAD };
    out::print_line(format!("{style}{} of {} rows always hold{style:#}", held(&all), all.len()));
    out::print_line(format!(
        "{} of the {} that a model which only talks does not pass",
        held(&telling),
        telling.len()
    ));
    out::print_line(format!("{DIM}Judged by what happened, not by what was said.{DIM:#}"));
}

fn table_row(rate: &ScenarioRate) -> Vec<String> {
    let style = if rate.passed == rate.tries { GOOD } else { BAD };
    let passed = format!("{style}{} of {}{style:#}", rate.passed, rate.tries);
    let seen = rate.seen.first().map(|seen| out::escape_control(&out::shorten(seen, 80)).into_owned());
    let by_talk = if rate.passed_mute { "passes, too" } else { "" };
    vec![rate.row.to_owned(), rate.expected.to_owned(), passed, by_talk.to_owned(), seen.unwrap_or_default()]
}
