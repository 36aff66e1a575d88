//! What can be asked of sessions.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    #[command(subcommand)]
    pub(crate) what: SessionCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// All sessions
    List,
    /// One session: its efforts, figures and settings, or one of its turns
    Show(ShowArgs),
    /// Write a session's events, one JSON object a line; `import` reads them back
    Export(ExportArgs),
    /// Make a session of an export, or of a session folder made by another tool
    Import(ImportArgs),
    /// Ask for a session to be erased; shows what would go, and does it only with --confirm
    DeleteRequest(DeleteArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Its name
    #[arg(value_name = "NAME", default_value = "default")]
    pub(crate) session: String,
    /// Print what was said in this turn, whole
    #[arg(long, value_name = "N")]
    pub(crate) turn: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Its name
    #[arg(value_name = "NAME")]
    pub(crate) session: String,
    /// Where to; standard output by default
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// A session folder, or a file written by `neap session export`
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,
    /// What to call it [default: its own name]
    #[arg(long = "session", short, value_name = "NAME")]
    pub(crate) session: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    /// Its name
    #[arg(value_name = "NAME")]
    pub(crate) session: String,
    /// The name once more: erases it, for good
    #[arg(long, value_name = "NAME")]
    pub(crate) confirm: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct OfSession {
    /// Which session
    #[arg(long, short, default_value = "default", value_name = "NAME")]
    pub(crate) session: String,
}

#[derive(Debug, Args)]
pub(crate) struct RebuildArgs {
    /// Only this session
    #[arg(long, short, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Go on without what does not fit: a log or marker that knows more than the database, folders that say more than the store. They are
    /// renamed to `….aside-…`, never removed
    #[arg(long)]
    pub(crate) set_aside: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MaybeSession {
    /// Only this session
    #[arg(long, short, value_name = "NAME")]
    pub(crate) session: Option<String>,
}
