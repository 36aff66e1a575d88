//! Arguments of `neap session`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{OriginalArgs, ReceiptsArgs};

#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    #[command(subcommand)]
    pub(crate) what: SessionSubcommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionSubcommand {
    /// List all sessions, or those of a project
    List(SessionListArgs),
    /// Show a session: its efforts, figures and settings, or one of its turns
    Show(SessionShowArgs),
    /// List the efforts of a session
    Efforts(SessionNameArgs),
    /// Show what each summary kept of its original, and what only the original has
    Receipts(ReceiptsArgs),
    /// Print the original words behind a handle
    ///
    /// Handles appear in the context, in `neap explain`, `neap session receipts` and search results: `t12` is all
    /// of turn 12, `t12.3` its fourth message, `t3-41` turns 3 to 41, `t3-41@auth-bug` those of an effort's log,
    /// `t3-41@-` those of ambient chat. Into a pipe or a file, one message is printed byte for byte.
    Original(OriginalArgs),
    /// Write a session's events, one JSON object per line; `import` reads them back
    Export(SessionExportArgs),
    /// Create a session from an export, or from a session folder made by another tool
    Import(SessionImportArgs),
    /// Erase a session for good: shows what would go, and does it only with --confirm
    #[command(alias = "delete-request")]
    Erase(SessionDeleteArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SessionListArgs {
    /// Only this project, as it is listed; `none` for sessions without one
    #[arg(long, value_name = "NAME")]
    pub(crate) project: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ProjectArgs {
    /// Only this project, and what belongs to none; `all` for every project [default: NEAP_PROJECT, else the
    /// working directory's repository]
    #[arg(long, value_name = "NAME")]
    pub(crate) project: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SessionShowArgs {
    /// Session to show [default: the one used last]
    #[arg(value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Print the messages of this turn in full
    #[arg(long, value_name = "N")]
    pub(crate) turn: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct SessionExportArgs {
    /// Session to export
    #[arg(value_name = "NAME")]
    pub(crate) session: String,
    /// File to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct SessionImportArgs {
    /// Session folder, or file written by `neap session export`
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,
    /// Name of the new session [default: its own name]
    #[arg(long = "session", short, value_name = "NAME")]
    pub(crate) session: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SessionDeleteArgs {
    /// Session to erase
    #[arg(value_name = "NAME")]
    pub(crate) session: String,
    /// Repeat the name to erase the session for good
    #[arg(long, value_name = "NAME")]
    pub(crate) confirm: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SessionNameArgs {
    /// Session to use [default: the one used last]
    #[arg(long, short, value_name = "NAME")]
    pub(crate) session: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct OptionalSessionArgs {
    /// Only this session
    #[arg(long, short, value_name = "NAME")]
    pub(crate) session: Option<String>,
}
