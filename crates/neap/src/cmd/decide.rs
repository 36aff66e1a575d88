//! `neap memory decide` and `neap memory review`: record decisions and their outcomes.

use std::process::ExitCode;

use neap_core::memory::learn::{Amendment, MemoryCommand};

use crate::app;
use crate::cli::{DecideArgs, ReviewArgs};
use crate::env::DataDir;
use crate::memory_output::amendment;
use crate::out::{self, DIM, Failure};
use crate::project::Asked;
use crate::{memory_input, memory_output};

pub(crate) async fn run(data: &DataDir, args: DecideArgs, json: bool) -> Result<ExitCode, Failure> {
    let draft = memory_input::decision_draft(args);
    let draft = Asked::of(None)?.assign(draft);
    memory_output::run(&mut app::agent(data).await?, MemoryCommand::Remember(Box::new(draft)), json).await
}

pub(crate) async fn review(data: &DataDir, args: ReviewArgs, json: bool) -> Result<ExitCode, Failure> {
    let ReviewArgs { id, outcome, notes } = args;
    let mut agent = app::existing_agent(data).await?;
    let how = Amendment::Review { outcome: outcome.into(), notes };
    let code = memory_output::run(&mut agent, amendment(id, how), json).await?;
    if let (false, Some(calibration)) = (json, agent.head().reviews.calibration()) {
        out::print_line(format!("{DIM}{}{DIM:#}", calibration.note()));
    }
    Ok(code)
}
