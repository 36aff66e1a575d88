//! `neap man`: prints the manual, for packages.

use std::io::Write as _;
use std::process::ExitCode;

use clap_mangen::Man;

use crate::cli::command;
use crate::out::{self, Failure};

pub(crate) fn run() -> Result<ExitCode, Failure> {
    let mut command = command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    add_pages(command, &mut pages).map_err(|error| Failure::new(format!("cannot write the manual: {error}")))?;
    out::print_text(String::from_utf8_lossy(&pages));
    Ok(ExitCode::SUCCESS)
}

/// A comment before each page names its file.
fn add_pages(command: clap::Command, pages: &mut Vec<u8>) -> std::io::Result<()> {
    let shown: Vec<_> = command.get_subcommands().filter(|one| !one.is_hide_set()).cloned().collect();
    let page = Man::new(command);
    writeln!(pages, ".\\\" file: {}", page.get_filename())?;
    page.render(pages)?;
    shown.into_iter().try_for_each(|one| add_pages(one, pages))
}
