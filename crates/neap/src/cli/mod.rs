//! What can be typed.

mod access;
mod help;
mod hidden;
mod integrations;
mod lab;
mod mcp;
mod memory;
mod model;
mod remember;
mod search;
mod serve;
mod session;
mod store;
mod value_enums;

pub(crate) use access::*;
pub(crate) use help::command;
pub(crate) use hidden::*;
pub(crate) use integrations::*;
pub(crate) use lab::*;
pub(crate) use mcp::*;
pub(crate) use memory::*;
pub(crate) use model::*;
pub(crate) use remember::*;
pub(crate) use search::*;
pub(crate) use serve::*;
pub(crate) use session::*;
pub(crate) use store::*;
pub(crate) use value_enums::*;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::app::parse_setting;
use crate::env::{NEAP_AGENT, NEAP_DATA_DIR, NEAP_KEY_FILE, NEAP_MEM_DEBUG, NEAP_STORE, NEAP_SUMMARY_MODEL};

/// Version and commit, for bug reports.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("NEAP_COMMIT"), ")");

/// Bounded context and long-term memory for LLM agents
#[derive(Debug, Parser)]
#[command(name = "neap", version = VERSION, propagate_version = true, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Cli {
    /// Data directory [default: ~/.local/share/neap]
    #[arg(long, global = true, display_order = 901, env = NEAP_DATA_DIR, hide_env_values = true, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,

    /// Database with the store, as postgres://user:password@host/name, instead of a file in the data directory
    #[arg(long, global = true, hide = true, env = NEAP_STORE, hide_env_values = true, value_name = "URL")]
    pub(crate) store: Option<String>,

    /// File with the keys that sign tool results
    #[arg(long, global = true, display_order = 902, env = NEAP_KEY_FILE, hide_env_values = true, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,

    /// Agent whose memories are used
    #[arg(long, global = true, display_order = 903, env = NEAP_AGENT, hide_env_values = true, default_value = "default", value_name = "NAME")]
    pub(crate) agent: String,

    /// Print data as JSON
    #[arg(long, global = true, display_order = 904)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: TopLevel,
}

#[expect(clippy::large_enum_variant, reason = "a process has one value of it")]
#[derive(Debug, Subcommand)]
pub(crate) enum TopLevel {
    #[command(flatten)]
    Shown(Command),
    #[command(flatten)]
    Hidden(HiddenCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Chat in the terminal (works offline; --model for a real one)
    ///
    /// Without --model, the built-in offline model answers. With --model, a provider answers, over one of three protocols. Neap reads the
    /// key from NEAP_API_KEY, otherwise from OPENAI_API_KEY or ANTHROPIC_API_KEY, and never stores or prints it.
    #[command(
        after_long_help = "Example:\n  neap chat --session work --model llama3.1 --base-url http://localhost:11434/v1"
    )]
    Chat(ChatArgs),
    /// Watch it work for a minute: no key, nothing is kept
    ///
    /// Plays 200 turns of a scripted agent through the engine, on a store that is thrown away: the tokens of every request beside
    /// those of sending everything, and a fact of turn 3 that comes back at the end.
    #[command(after_long_help = "Example:\n  neap demo --fast")]
    Demo(DemoArgs),
    /// Run an agent through the proxy: neap run -- claude
    ///
    /// Starts a proxy on a free port, points the command at it and ends with it. A conversation is cut when its budget is full; with
    /// --economy already when that pays: once carrying what could be left out has cost what leaving it out does.
    #[command(after_long_help = "Example:\n  neap run --budget 60000 --economy -- claude")]
    Run(RunArgs),
    /// Start the OpenAI/Anthropic-compatible proxy and MCP server
    ///
    /// Point a client at http://127.0.0.1:6327/v1 (OpenAI) or http://127.0.0.1:6327 (Anthropic). The proxy forwards the client's key and
    /// never stores it. /healthz, /readyz and /metrics report its state; /mcp serves MCP.
    #[command(after_long_help = "Example:\n  neap serve --budget 60000")]
    Serve(ServeArgs),
    /// Open the page: what fills the context, and why
    ///
    /// Serves the page and the HTTP API (/api/v1) on the local store, to this machine alone. Prints a link that lets one browser in, once,
    /// and tries to open it. `neap serve` serves both beside the proxy.
    #[command(after_long_help = "Example:\n  neap ui")]
    Ui(UiArgs),
    /// Serve MCP on stdin/stdout
    ///
    /// An agent's configuration names this command. Any number of agents may use one store at the same time. `neap serve` offers
    /// the same tools over HTTP, at /mcp.
    #[command(after_long_help = "Example:\n  claude mcp add neap -- neap mcp")]
    Mcp(McpArgs),
    /// Connect Claude Code, Codex, Cursor and other agents
    ///
    /// Adds the MCP server to the agent's own files, and hooks where they can add to its context. Shows the change before making it,
    /// and leaves every other byte alone; --uninstall reverts it. Without an agent it lists all, with what it knows of each.
    #[command(
        after_long_help = "Examples:\n  neap install\n  neap install claude-code --print\n  neap install --all\n  neap install --all --uninstall"
    )]
    Install(InstallArgs),
    /// Import past conversations of other agents
    ///
    /// Finds efforts by rule, masks secrets and makes everything searchable. Skips records that were imported before, so the same
    /// command imports only what is new; an interrupted import continues. Leaves the originals alone.
    #[command(after_long_help = "Example:\n  neap import claude-code")]
    Import(ConversationImportArgs),
    /// Search everything that was said
    #[command(after_long_help = "Example:\n  neap search \"refresh token\" --explain")]
    Search(SearchArgs),
    /// Show which memories a question would load, and why
    Context(ContextArgs),
    /// Show what a turn's prompt contained, and why
    #[command(after_long_help = "Example:\n  neap explain --session work --turn 3")]
    Explain(ExplainArgs),
    /// Show tokens, cache hits, cost and savings; --live follows a proxy
    #[command(
        after_long_help = "Examples:\n  neap report --session work\n  neap report --all\n  neap report --live"
    )]
    Report(ReportArgs),
    /// Store a fact, preference or rule
    ///
    /// Repeating a fact confirms it. A newer fact about the same subject supersedes the older one, which stays in its history
    /// (`neap memory undo` restores it). Neap masks keys and passwords before it stores anything.
    Remember(RememberArgs),
    /// Search memories, by words or by time
    Recall(RecallArgs),
    /// List, show, export and erase sessions, and show their efforts and summaries
    Session(SessionArgs),
    /// List, edit, undo, retire and forget memories; record decisions and rules
    Memory(MemoryArgs),
    /// Check, repair and configure the data store
    Store(StoreArgs),
    /// Run proofs, recall evaluations, benchmarks and scripted conversations
    Lab(LabArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Do not pause between turns
    #[arg(long)]
    pub(crate) fast: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    /// Session to continue, or to start if there is none of that name
    #[arg(long, short, default_value = "default", value_name = "NAME")]
    pub(crate) session: String,
    /// Project that the session is about from now on; `none` for no project [default for a new session:
    /// NEAP_PROJECT, else the working directory's repository]
    #[arg(long, value_name = "NAME")]
    pub(crate) project: Option<String>,
    /// Change a setting of the session, for good (see `neap store settings`)
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_setting)]
    pub(crate) set: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Model that summarises, at the same provider; a cheaper one will do [default: the built-in summariser]
    #[arg(long, env = NEAP_SUMMARY_MODEL, hide_env_values = true, value_name = "NAME")]
    pub(crate) summary_model: Option<String>,
    /// Print memory operations to standard error as they happen
    #[arg(long, env = NEAP_MEM_DEBUG, hide_env_values = true, value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) mem_debug: bool,
}
