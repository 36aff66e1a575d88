//! Arguments of `neap search`, `explain`, `report`, `session original` and `session receipts`.

use clap::{Args, ValueEnum};

use neap_core::base::ids::Stamp;
use neap_engine::SearchPart;

use super::ProjectArgs;
use crate::dates::parse_start;

/// What to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SearchIn {
    /// Messages
    Raw,
    /// Efforts, by name and summary
    Efforts,
    /// Messages, efforts and summaries
    Talk,
    /// Memories
    Memories,
    /// Everything
    All,
}

impl From<SearchIn> for SearchPart {
    fn from(place: SearchIn) -> Self {
        match place {
            SearchIn::Raw => Self::Raw,
            SearchIn::Efforts => Self::Efforts,
            SearchIn::Talk => Self::Talk,
            SearchIn::Memories => Self::Memories,
            SearchIn::All => Self::All,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// Search terms
    #[arg(value_name = "QUERY", required = true)]
    pub(crate) query: Vec<String>,
    /// What to search
    #[arg(long = "in", value_enum, default_value = "talk", value_name = "PLACE")]
    pub(crate) place: SearchIn,
    /// Only this session
    #[arg(long, short, value_name = "NAME")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// Only this effort and its messages
    #[arg(long, value_name = "ID")]
    pub(crate) effort: Option<String>,
    /// Only messages by user, assistant or tool, or by the speaker of this name
    #[arg(long, value_name = "WHO")]
    pub(crate) by: Option<String>,
    /// Only since a day, as 2026-05-01, or a timestamp, as 2026-05-01T09:30:00Z
    #[arg(long, value_name = "TIME", value_parser = parse_start)]
    pub(crate) since: Option<Stamp>,
    /// Show the terms of each score
    #[arg(long)]
    pub(crate) explain: bool,
    /// Say instead what became of this text: f7, an effort's id, or SESSION/t12
    #[arg(long, value_name = "ID")]
    pub(crate) expect: Option<String>,
    /// Most results to show
    #[arg(long, short = 'n', default_value_t = 10, value_name = "N")]
    pub(crate) max: usize,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// Session to explain [default: the one used last]
    #[arg(long, short, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Turn to explain [default: the latest]
    #[arg(long, short, value_name = "N")]
    pub(crate) turn: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct OriginalArgs {
    /// Handle of the text, e.g. t12, t12.3 or t3-41@auth-bug
    #[arg(value_name = "HANDLE")]
    pub(crate) handle: String,
    /// Session of the handle [default: the one used last]
    #[arg(long, short, value_name = "NAME")]
    pub(crate) session: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ReceiptsArgs {
    /// Session to show [default: the one used last]
    #[arg(long, short, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Most receipts to show, newest first
    #[arg(long, short = 'n', default_value_t = 20, value_name = "N")]
    pub(crate) limit: usize,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Session to report on [default: the one used last]
    #[arg(long, short, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Report the totals of all sessions
    #[arg(long, conflicts_with = "session")]
    pub(crate) all: bool,
    /// Follow the requests of a running proxy instead: tokens received and sent, what was left out, cached share
    #[arg(long, conflicts_with_all = ["session", "all"])]
    pub(crate) live: bool,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
}

#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// With --live: address of the proxy
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:6327")]
    pub(crate) url: String,
    /// With --live: print the requests so far and exit
    #[arg(long)]
    pub(crate) once: bool,
}
