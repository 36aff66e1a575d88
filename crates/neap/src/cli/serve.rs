//! The proxy, as it is typed.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::UserWords;

use crate::env::{NEAP_BUDGET, NEAP_CALLERS, NEAP_LISTEN, NEAP_MCP_TOKEN_FILE, NEAP_UPSTREAM};

/// How many callers the proxy serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CallersName {
    /// One where only this machine can ask, several elsewhere
    Auto,
    /// One, whatever key or sign-in token a client shows
    One,
    /// Several, told apart by all that looks like a credential; nothing is kept of whoever shows none
    Many,
}

/// What becomes of a request that cannot be brought under its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OverBudget {
    /// Refuse it, in the provider's own words for a context that is full, with the figures
    Refuse,
    /// Send it on as it came, and say so in a header, on standard error and in the metrics
    Pass,
}

/// Where requests go, and what becomes of them.
#[derive(Debug, Args)]
pub(crate) struct ProxyArgs {
    /// Where all requests go [default: OPENAI_BASE_URL or ANTHROPIC_BASE_URL by a request's kind, else their makers]
    #[arg(long, env = NEAP_UPSTREAM, hide_env_values = true, value_name = "URL")]
    pub(crate) upstream: Option<String>,
    /// The longest request that is sent on, in tokens [default: what the model takes, less its reply; 100,000 if that is not known]
    #[arg(long, env = NEAP_BUDGET, hide_env_values = true, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1_000..))]
    pub(crate) budget: Option<u64>,
    /// What becomes of a request that is over the budget whatever is left out of it: its system prompt, tools and last message
    /// alone are too long
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = OverBudget::Refuse)]
    pub(crate) over_budget: OverBudget,
    /// Send everything on as it came; only tell what would be done
    #[arg(long)]
    pub(crate) shadow: bool,
    /// Offer models tools for efforts and memories, and carry them out here, unseen by the client
    #[arg(long)]
    pub(crate) tools: bool,
    /// Serve the memory tool that Anthropic's models know (memory_20250818) from the store, unseen by the client
    #[arg(long)]
    pub(crate) memory_tool: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Where to listen
    #[arg(long, env = NEAP_LISTEN, hide_env_values = true, value_name = "ADDRESS", default_value = "127.0.0.1:6327")]
    pub(crate) listen: SocketAddr,
    /// A name by which clients may call, beside addresses and localhost
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
    /// Whose words `record_turn` brings to /mcp as the user's: with `trusted` they count as the person's, and what they state
    /// to hold from now on is loaded in every session. Only for hosts that pass on what their users typed
    #[arg(long, value_enum, value_name = "TRUST", default_value_t = UserWords::Untrusted)]
    pub(crate) user_words: UserWords,
    /// Whether all requests are one caller's, or several callers' who must not read each other's
    #[arg(long, env = NEAP_CALLERS, hide_env_values = true, value_enum, value_name = "HOW MANY", default_value = "auto")]
    pub(crate) callers: CallersName,
    /// The file with the token that whoever calls /mcp must bring; or give it in NEAP_MCP_TOKEN [default: none on this machine's own
    /// address; elsewhere one is made in the data directory, keys/mcp.token]
    #[arg(long, env = NEAP_MCP_TOKEN_FILE, hide_env_values = true, value_name = "FILE")]
    pub(crate) mcp_token_file: Option<PathBuf>,
    // Everybody on the machine could read it there: it is refused with what to do.
    #[arg(long, hide = true, value_name = "TOKEN", num_args = 0..=1)]
    pub(crate) mcp_token: Option<Option<String>>,
    /// Connections that are served at once
    #[arg(long, value_name = "COUNT", default_value_t = 2_048, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) max_connections: u16,
    /// Sessions of MCP clients that are open at once
    #[arg(long, value_name = "COUNT", default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) max_mcp_sessions: u16,
    #[command(flatten)]
    pub(crate) proxy: ProxyArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) proxy: ProxyArgs,
    /// The command and its arguments
    #[arg(value_name = "COMMAND", required = true, num_args = 1.., trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<std::ffi::OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// Where the proxy listens
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:6327")]
    pub(crate) url: String,
    /// Print what passed so far, and end
    #[arg(long)]
    pub(crate) once: bool,
}
