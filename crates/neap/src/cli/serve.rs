//! Arguments of `neap serve` and `neap run`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::UserWordsTrust;

use crate::env::{
    NEAP_AUDIT_DAYS, NEAP_BUDGET, NEAP_CALLERS, NEAP_LISTEN, NEAP_MCP_TOKEN_FILE, NEAP_TLS_CERT, NEAP_TLS_KEY,
    NEAP_UPSTREAM, NEAP_WITHOUT_KEYS,
};

/// Callers of the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CallersName {
    /// One on a loopback address, several on any other
    Auto,
    /// One, whatever credential a client sends
    One,
    /// Several, told apart by their credentials; requests without one are not stored
    Many,
}

/// What to do with a request that cannot be brought under its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OverBudget {
    /// Refuse it with the provider's own error for a full context, and the figures
    Refuse,
    /// Forward it unchanged, and report it in a header, on standard error and in the metrics
    Pass,
}

/// Arguments of the proxy.
#[derive(Debug, Clone, Args)]
pub(crate) struct ProxyArgs {
    /// Provider for all requests [default: OPENAI_BASE_URL or ANTHROPIC_BASE_URL by the request's protocol,
    /// otherwise OpenAI's and Anthropic's own]
    #[arg(long, env = NEAP_UPSTREAM, hide_env_values = true, value_name = "URL")]
    pub(crate) upstream: Option<String>,
    /// Token budget of a forwarded request [default: the model's context less its reply; 100,000 if that is
    /// unknown]
    #[arg(long, env = NEAP_BUDGET, hide_env_values = true, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1_000..))]
    pub(crate) budget: Option<u64>,
    /// What to do with a request over the budget that cannot be cut further: its system prompt, tools and last
    /// message alone exceed it
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = OverBudget::Refuse)]
    pub(crate) over_budget: OverBudget,
    /// Forward everything unchanged and only report what would be done
    #[arg(long)]
    pub(crate) shadow: bool,
    /// Leave older parts of a conversation out before the budget is full, as soon as carrying them has cost what
    /// leaving them out does. Without it, only a full budget does
    #[arg(long)]
    pub(crate) economy: bool,
    /// Show models long tool results (from 1,500 tokens) in short, by type: errors, beginning and end of an output,
    /// the shape of JSON. The whole is stored, and its handle is in the first line. Files that are read stay whole
    #[arg(long)]
    pub(crate) trim_tools: bool,
    /// Offer models tools for efforts and memories, executed by the proxy and hidden from the client
    #[arg(long)]
    pub(crate) tools: bool,
    /// Serve Anthropic's memory tool (memory_20250818) from the store, hidden from the client
    #[arg(long)]
    pub(crate) memory_tool: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Address to listen on
    #[arg(long, env = NEAP_LISTEN, hide_env_values = true, value_name = "ADDRESS", default_value = "127.0.0.1:6327")]
    pub(crate) listen: SocketAddr,
    /// Further host name under which clients may connect, besides addresses and localhost
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
    /// Author of the user's text in `record_turn` on /mcp. With `trusted` it counts as the person's, and standing
    /// instructions in it are loaded in every session; only for hosts that pass what their users typed
    #[arg(long, value_enum, value_name = "TRUST", default_value_t = UserWordsTrust::Untrusted)]
    pub(crate) user_words: UserWordsTrust,
    /// Certificate with which it serves TLS, in PEM, the server's own first
    #[arg(long, env = NEAP_TLS_CERT, hide_env_values = true, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Key of that certificate, in PEM
    #[arg(long, env = NEAP_TLS_KEY, hide_env_values = true, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Serve other machines although no key is configured: anybody who reaches the address may use the proxy. Without
    /// this, an address beyond this machine needs a key (`neap key add`)
    #[arg(long, env = NEAP_WITHOUT_KEYS, hide_env_values = true, value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) without_keys: bool,
    /// How long the audit log of keys is kept
    #[arg(long, env = NEAP_AUDIT_DAYS, hide_env_values = true, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub(crate) audit_days: u32,
    /// Whether all requests come from one caller, or from several who must not see each other's data
    #[arg(long, env = NEAP_CALLERS, hide_env_values = true, value_enum, value_name = "HOW MANY", default_value = "auto")]
    pub(crate) callers: CallersName,
    /// File with the bearer token for /mcp, also read from NEAP_MCP_TOKEN [default: one is made in the data directory,
    /// keys/mcp.token]
    #[arg(long, env = NEAP_MCP_TOKEN_FILE, hide_env_values = true, value_name = "FILE")]
    pub(crate) mcp_token_file: Option<PathBuf>,
    // Refused with a hint: everybody on the machine could read it in the process list.
    #[arg(long, hide = true, value_name = "TOKEN", num_args = 0..=1)]
    pub(crate) mcp_token: Option<Option<String>>,
    /// Connections to serve at once
    #[arg(long, value_name = "COUNT", default_value_t = 2_048, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) max_connections: u16,
    /// MCP sessions to keep open at once
    #[arg(long, value_name = "COUNT", default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) max_mcp_sessions: u16,
    #[command(flatten)]
    pub(crate) proxy: ProxyArgs,
}

#[derive(Debug, Args)]
pub(crate) struct UiArgs {
    /// Address of this machine to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6328")]
    pub(crate) listen: SocketAddr,
    /// Do not try to open a browser
    #[arg(long)]
    pub(crate) no_open: bool,
    /// End when standard input ends: for a program that starts Neap and must not leave it behind
    #[arg(long)]
    pub(crate) until_stdin_closes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) proxy: ProxyArgs,
    /// Command to run, with its arguments
    #[arg(value_name = "COMMAND", required = true, num_args = 1.., trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<std::ffi::OsString>,
}
