//! `neap completions`: a script for the shell.

use std::process::ExitCode;

use clap::CommandFactory;

use crate::cli::{Cli, CompletionArgs};
use crate::out::{self, Failure};

pub(crate) fn run(args: &CompletionArgs) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "neap", &mut script);
    out::piece(String::from_utf8_lossy(&script));
    Ok(ExitCode::SUCCESS)
}
