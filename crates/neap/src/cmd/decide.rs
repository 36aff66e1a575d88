//! `neap decide` and `neap review`: what was chosen, and how it came out.

use std::process::ExitCode;

use neap_core::learn::{Amendment, Wish};
use neap_core::memory::{Author, Provenance};

use crate::app;
use crate::cli::{DecideArgs, ReviewArgs};
use crate::env::DataDir;
use crate::out::{self, DIM, Failure};
use crate::{told, typed};

pub(crate) async fn run(data: &DataDir, args: DecideArgs, json: bool) -> Result<ExitCode, Failure> {
    let draft = typed::decision(args);
    let mut agent = app::agent(data).await?;
    let answer = agent.ask(Wish::Remember(Box::new(draft))).await?;
    told::tell(&agent, answer, json).await
}

pub(crate) async fn review(data: &DataDir, args: ReviewArgs, json: bool) -> Result<ExitCode, Failure> {
    let ReviewArgs { id, outcome, notes } = args;
    let mut agent = app::known_agent(data).await?;
    let how = Amendment::Review { outcome: outcome.into(), notes };
    let answer = agent.ask(Wish::Amend { id, how, by: Provenance::of(Author::Person) }).await?;
    let code = told::tell(&agent, answer, json).await?;
    if let (false, Some(calibration)) = (json, agent.head().reviews.calibration()) {
        out::line(format!("{DIM}{}{DIM:#}", calibration.note()));
    }
    Ok(code)
}
