//! How what was said is found, and why it was in a context.

use clap::{Args, ValueEnum};

use neap_core::ids::Stamp;

use crate::when::start_of;

/// Where to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Place {
    /// What was said
    Raw,
    /// Efforts, by name and summary
    Efforts,
    /// What was said, and what stands for it: efforts and summaries
    Talk,
    /// What the agent knows
    Memories,
    /// All of it
    All,
}

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// What to look for
    #[arg(value_name = "QUERY", required = true)]
    pub(crate) query: Vec<String>,
    /// Where to look
    #[arg(long = "in", value_enum, default_value = "talk", value_name = "PLACE")]
    pub(crate) place: Place,
    /// Only in this session
    #[arg(long, short, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Only this effort, and what was said in it
    #[arg(long, value_name = "ID")]
    pub(crate) effort: Option<String>,
    /// Only what was said by user, assistant or tool, or by somebody of this name
    #[arg(long, value_name = "WHO")]
    pub(crate) by: Option<String>,
    /// Only what was said since then: a day as 2026-05-01, or a moment as 2026-05-01T09:30:00Z
    #[arg(long, value_name = "TIME", value_parser = start_of)]
    pub(crate) since: Option<Stamp>,
    /// Show what each score is the sum of
    #[arg(long)]
    pub(crate) explain: bool,
    /// How many, at most
    #[arg(long, short = 'n', default_value_t = 10, value_name = "N")]
    pub(crate) max: usize,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// Which session
    #[arg(long, short, default_value = "default", value_name = "NAME")]
    pub(crate) session: String,
    /// Which turn [default: the latest]
    #[arg(long, short, value_name = "N")]
    pub(crate) turn: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct OriginalArgs {
    /// What leads to the words, e.g. t12, t12.3 or t3-41@auth-bug
    #[arg(value_name = "HANDLE")]
    pub(crate) handle: String,
    /// Which session
    #[arg(long, short, default_value = "default", value_name = "NAME")]
    pub(crate) session: String,
}

#[derive(Debug, Args)]
pub(crate) struct ReceiptsArgs {
    /// Which session
    #[arg(long, short, default_value = "default", value_name = "NAME")]
    pub(crate) session: String,
    /// How many, at most; the newest come first
    #[arg(long, short = 'n', default_value_t = 20, value_name = "N")]
    pub(crate) limit: usize,
}
