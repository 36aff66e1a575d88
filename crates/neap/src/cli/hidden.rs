//! Commands that `neap --help` does not list: those that programs call, and former names.

use std::ffi::OsString;

use clap::{Args, Subcommand};
use clap_complete::Shell;

use super::HookArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum HiddenCommand {
    /// Answer an agent's hook event, from standard input
    ///
    /// Claude Code and Codex call it (`neap install` sets that up): it records the conversation and returns what is
    /// relevant to the prompt. Whatever goes wrong, the agent continues: the exit code is 0, and the call ends
    /// within a second.
    #[command(hide = true)]
    Hook(HookArgs),
    /// Embed the texts that wait for it, in the background of `neap import`
    #[command(hide = true)]
    EmbedWaiting,
    /// Print a completion script for a shell
    #[command(hide = true)]
    Completions(CompletionArgs),
    /// Print the manual, a page of roff for each command
    #[command(hide = true)]
    Man,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionArgs {
    /// Shell to print the script for
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// Names that commands had at the top level, and what they are now.
const FORMER_NAMES: [(&str, &str); 16] = [
    ("watch", "report --live"),
    ("replay", "lab replay"),
    ("proof", "lab proof"),
    ("eval", "lab eval"),
    ("bench", "lab bench"),
    ("efforts", "session efforts"),
    ("original", "session original"),
    ("receipts", "session receipts"),
    ("decide", "memory decide"),
    ("review", "memory review"),
    ("censor", "memory censor"),
    ("frames", "memory frames"),
    ("settings", "store settings"),
    ("doctor", "store doctor"),
    ("rebuild", "store rebuild"),
    ("keys", "store keys"),
];

/// Other ways to write a command.
const SHORT_NAMES: [(&str, &str); 3] =
    [("access", "store access"), ("tenant", "store access tenant"), ("key", "store access key")];

const GLOBAL_OPTIONS_WITH_VALUE: [&str; 4] = ["--data-dir", "--store", "--key-file", "--agent"];

/// Replaces a former name among the arguments; returns it with the present one.
pub(crate) fn replace_former_name(arguments: &mut Vec<OsString>) -> Option<(&'static str, &'static str)> {
    replace_command(arguments, &SHORT_NAMES);
    replace_command(arguments, &FORMER_NAMES)
}

fn replace_command(
    arguments: &mut Vec<OsString>,
    names: &[(&'static str, &'static str)],
) -> Option<(&'static str, &'static str)> {
    let mut words = arguments.iter().enumerate().skip(1);
    let at = loop {
        let (at, word) = words.next()?;
        if GLOBAL_OPTIONS_WITH_VALUE.iter().any(|option| word == option) {
            words.next();
        } else if !word.as_encoded_bytes().starts_with(b"-") {
            break at;
        }
    };
    let renamed = *names.iter().find(|(former, _)| arguments[at] == *former)?;
    arguments.splice(at..=at, renamed.1.split(' ').map(OsString::from));
    Some(renamed)
}
