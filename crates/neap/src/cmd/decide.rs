//! `neap memory decide` and `neap memory review`: record decisions and their outcomes.

use std::process::ExitCode;

use neap_core::memory::learn::{Amendment, MemoryCommand};
use neap_core::memory::{Author, Provenance};

use crate::app;
use crate::cli::{DecideArgs, ReviewArgs};
use crate::env::DataDir;
use crate::out::{self, DIM, Failure};
use crate::{memory_input, memory_output};

pub(crate) async fn run(data: &DataDir, args: DecideArgs, json: bool) -> Result<ExitCode, Failure> {
    let draft = memory_input::decision_draft(args);
    let mut agent = app::agent(data).await?;
    let response = agent.run_command(MemoryCommand::Remember(Box::new(draft))).await?;
    memory_output::print_outcome(&agent, response, json).await
}

pub(crate) async fn review(data: &DataDir, args: ReviewArgs, json: bool) -> Result<ExitCode, Failure> {
    let ReviewArgs { id, outcome, notes } = args;
    let mut agent = app::existing_agent(data).await?;
    let how = Amendment::Review { outcome: outcome.into(), notes };
    let response =
        agent.run_command(MemoryCommand::Amend { id, how, by: Provenance::from_author(Author::Person) }).await?;
    let code = memory_output::print_outcome(&agent, response, json).await?;
    if let (false, Some(calibration)) = (json, agent.head().reviews.calibration()) {
        out::print_line(format!("{DIM}{}{DIM:#}", calibration.note()));
    }
    Ok(code)
}
