//! `neap completions`: prints a shell completion script.

use std::process::ExitCode;

use crate::cli::{CompletionArgs, command};
use crate::out::{self, Failure};

pub(crate) fn run(args: &CompletionArgs) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "neap", &mut script);
    out::print_text(String::from_utf8_lossy(&script));
    Ok(ExitCode::SUCCESS)
}
