//! What can be typed.

mod agents;
mod find;
mod mcp;
mod measure;
mod memory;
mod model;
mod names;
mod record;
mod serve;
mod session;
mod settings;

pub(crate) use agents::*;
pub(crate) use find::*;
pub(crate) use mcp::*;
pub(crate) use measure::*;
pub(crate) use memory::*;
pub(crate) use model::*;
pub(crate) use names::*;
pub(crate) use record::*;
pub(crate) use serve::*;
pub(crate) use session::*;
pub(crate) use settings::*;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use crate::app::setting;
use crate::env::{NEAP_AGENT, NEAP_DATA_DIR, NEAP_KEY_FILE, NEAP_MEM_DEBUG, NEAP_SUMMARY_MODEL};

/// Version and commit, for bug reports.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("NEAP_COMMIT"), ")");

/// Keeps an LLM agent's context bounded and its past within reach.
///
/// Start with `neap chat`: it needs no key and no network. What you say is stored under the data directory;
/// what is sent to the model stays under a hard token budget, however long the conversation runs.
#[derive(Debug, Parser)]
#[command(name = "neap", version = VERSION, propagate_version = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// Where everything is kept [default: the user's data directory, e.g. ~/.local/share/neap]
    #[arg(long, global = true, env = NEAP_DATA_DIR, hide_env_values = true, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,

    /// Where the keys are that sign what tools answer [default: keys/envelope.key in the data directory]
    #[arg(long, global = true, env = NEAP_KEY_FILE, hide_env_values = true, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,

    /// Whose memory: the agent that remembers, and whose conversations chats are
    #[arg(long, global = true, env = NEAP_AGENT, hide_env_values = true, default_value = "default", value_name = "NAME")]
    pub(crate) agent: String,

    /// Print data as JSON (one object or array; `replay` prints one object a line)
    #[arg(long, global = true)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Talk, in a session that can be resumed at any time
    ///
    /// Without --model, the built-in offline model answers. With it, any provider that speaks one of three protocols:
    /// the key is read from NEAP_API_KEY, else from OPENAI_API_KEY or ANTHROPIC_API_KEY, and is never stored or printed.
    Chat(ChatArgs),
    /// Stand between any client of OpenAI or Anthropic and its provider
    ///
    /// Point a client at http://127.0.0.1:6327/v1 (OpenAI) or http://127.0.0.1:6327 (Anthropic). Its key is passed on and never stored. /healthz,
    /// /readyz and /metrics tell how it goes.
    Serve(ServeArgs),
    /// Offer efforts and memories to the agent that starts it, as an MCP server on standard input and output
    ///
    /// An agent's configuration names this command, e.g. `claude mcp add neap -- neap mcp`; any number of agents may use one store at the
    /// same time. `neap serve` offers the same over HTTP, at /mcp.
    Mcp(McpArgs),
    /// Run a command whose client speaks through a proxy of its own, e.g. `neap run -- claude`
    Run(RunArgs),
    /// Watch what passes through a running proxy: tokens that came and that were sent, what was left out, cached share
    Watch(WatchArgs),
    /// Drive a scripted conversation through the engine, one turn a line
    Replay(ReplayArgs),
    /// Run the scripted proofs of the design and print expected beside measured
    Proof(ProofArgs),
    /// List, show, export, import or erase sessions
    Session(SessionArgs),
    /// Make sessions of conversations that other programs kept
    ///
    /// Efforts are found in them by rule, secrets are masked, and all of it can be searched at once. What was taken in before is passed over, so
    /// the same command takes in what is new since; ended half-way, it goes on from there. The originals are not touched.
    Import(TakeInArgs),
    /// Answer an event of an agent's hooks, from standard input
    ///
    /// Claude Code and Codex call it (`neap install` sets that up): it takes down what is said, and tells what bears on what is asked. Whatever goes
    /// wrong, the agent goes on: the exit code is 0, and after a second it is over.
    Hook(HookArgs),
    /// Put hooks and the MCP server into an agent's own files
    ///
    /// The change is shown before it is made; all that others wrote there stays as it is. --uninstall takes it out again.
    Install(InstallArgs),
    /// List the efforts of a session
    Efforts(OfSession),
    /// Find efforts and what was said, in one session or in all
    Search(SearchArgs),
    /// Show what was in the context of a turn and why, and what was left out
    Explain(ExplainArgs),
    /// Print what was said, word for word, by its handle
    ///
    /// Handles stand in the context, in `neap explain`, `neap receipts` and search results: `t12` is all of turn 12, `t12.3`
    /// its fourth message, `t3-41` all of turns 3 to 41, `t3-41@auth-bug` those of an effort's log, `t3-41@-` those of ambient chat. Into a
    /// pipe or a file, one message is printed byte for byte.
    Original(OriginalArgs),
    /// Show what each summary kept of what it stands for, and what only the original has
    Receipts(ReceiptsArgs),
    /// Have the agent know something from now on, in every conversation
    ///
    /// What it is told again confirms what it knows; a newer fact about the same subject takes the place of the one
    /// before, which stays in the history (`neap memory undo` brings it back). Keys and passwords are masked before
    /// anything is stored.
    Remember(RememberArgs),
    /// Find what the agent knows, by words or by time
    Recall(RecallArgs),
    /// List, show, change, erase, export or import what the agent knows
    Memory(MemoryArgs),
    /// Record a decision, with how sure one is of it
    Decide(DecideArgs),
    /// Say how a decision came out
    Review(ReviewArgs),
    /// Rules about what not to do, looked at in every turn
    Censor(CensorArgs),
    /// List the frames: the stances an agent can take, and what each loads
    ///
    /// A frame is chosen by the words of a message. More of them, or others in place of these, are read from
    /// agents/NAME/frames.toml in the data directory; who the agent is, from agents/NAME/identity.md.
    Frames(FramesArgs),
    /// Print what the agent's memory would put into the context for a question
    Context(ContextArgs),
    /// Measure recall on conversations with questions, one a line: {"id", "turns": […], "questions": […]}
    ///
    /// Each conversation is told to a fresh store, each occasion as a session; then every question is asked, and the context that is
    /// assembled for it, within each budget, is held against the turns that answer it. Recall is the share of those turns that
    /// are in it, word for word. No model is needed, nothing is kept, and the same files give the same figures.
    Eval(EvalArgs),
    /// Measure what adding, searching and assembling cost at several sizes, in one run
    ///
    /// A conversation of that many turns is made up, told to a fresh store and searched by another process. Nothing is kept.
    Bench(BenchArgs),
    /// Show the figures of a session: tokens, savings, decay, eviction, price, memories
    Report(OfSession),
    /// List all settings with their defaults, or change one of the store
    ///
    /// `neap settings mask_secrets=off` keeps what is said as it is said, secrets included, from then on; by default keys, tokens
    /// and passwords are masked before anything is stored. Settings of a session are changed with --set on `neap chat`.
    Settings(SettingsArgs),
    /// Examine the store and the session folders; changes nothing
    ///
    /// Exit code 0: clean. 1: something can be repaired by `neap rebuild`. 2: something is damaged.
    Doctor(MaybeSession),
    /// Make derived tables and session folders anew from the event streams
    ///
    /// Nothing is made shorter: where a session's folder says more than the store, it is left as it is, what the store has is written beside it,
    /// and `neap session import` takes the folder in. Where the database file itself is damaged, it is left as it is too, and all that is whole in it goes
    /// into a new data directory, `salvaged-…`, inside the old one. Exit code 2: something could not be brought back.
    Rebuild(RebuildArgs),
    /// List the keys that sign what tools answer, or have a new one sign
    ///
    /// Whatever a tool answers is signed before it is stored, so that what was altered, moved or sent twice can be
    /// told and is refused. The key is made on first use, readable by you alone. To bring your own, put one key a line
    /// (32 or more hexadecimal digits; the current one first) into a file of mode 0600 and name it with --key-file or
    /// NEAP_KEY_FILE, or put a single key into NEAP_KEY. A key itself is never printed: it goes by its id.
    Keys(KeysArgs),
    /// Print a completion script for a shell
    Completions(CompletionArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    /// Which session to begin or to go on with
    #[arg(long, short, default_value = "default", value_name = "NAME")]
    pub(crate) session: String,
    /// Change a setting of the session, for good (see `neap settings`)
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) set: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Who summarises, at the same place: a cheaper model will do [default: the built-in summariser]
    #[arg(long, env = NEAP_SUMMARY_MODEL, hide_env_values = true, value_name = "NAME")]
    pub(crate) summary_model: Option<String>,
    /// Show what is done to the memory as it happens, on standard error
    #[arg(long, env = NEAP_MEM_DEBUG, hide_env_values = true, value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) mem_debug: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// A turn a line: {"user": "…", "calls": [{"name": "…", "arguments": {…}}], "assistant": "…"}; - for standard
    /// input
    #[arg(value_name = "FILE.jsonl")]
    pub(crate) file: PathBuf,
    /// Keep the turns in this session; without it, they are forgotten afterwards
    #[arg(long, short, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Change a setting of the session (see `neap settings`)
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) set: Vec<(String, String)>,
}

#[derive(Debug, Args)]
pub(crate) struct KeysArgs {
    #[command(subcommand)]
    pub(crate) what: KeysCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// The ids of all keys, the current one first
    List,
    /// Have a new key sign from now on; those before it still verify
    ///
    /// To retire an old key for good, remove its line from the key file: the last line is the oldest key. Results that
    /// it signed stay stored and readable; `neap doctor` then notes that it cannot verify them.
    Rotate,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionArgs {
    /// Which shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}
