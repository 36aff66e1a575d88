//! Arguments of `neap memory`, `recall` and `context`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use neap_core::base::ids::Stamp;
use neap_core::memory::{MemoryId, MemoryKind};

use super::remember::{DecideArgs, DecisionFields, MemoryFields, ReviewArgs, RuleFields};
use super::session::ProjectArgs;
use super::value_enums::{AuthorName, ClearableField};
use crate::dates;

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  neap recall staging database
  neap recall --time \"last week\" --kind episode
  neap recall what did we do yesterday")]
pub(crate) struct RecallArgs {
    /// Search terms
    #[arg(value_name = "QUERY", required_unless_present = "time")]
    pub(crate) query: Vec<String>,
    /// Only this kind; may be given several times [default: all but censors]
    #[arg(long = "kind", value_name = "KIND")]
    pub(crate) kinds: Vec<MemoryKind>,
    /// When it was written, in words: today, yesterday, last week, recently
    #[arg(long, value_name = "WORDS")]
    pub(crate) time: Option<String>,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// Include superseded facts
    #[arg(long)]
    pub(crate) superseded: bool,
    /// Say instead what became of this memory
    #[arg(long, value_name = "ID")]
    pub(crate) expect: Option<MemoryId>,
    /// Most results to show
    #[arg(long, short = 'n', default_value_t = 10, value_name = "N")]
    pub(crate) max: usize,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryArgs {
    #[command(subcommand)]
    pub(crate) what: MemorySubcommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MemorySubcommand {
    /// List memories, newest first
    List(MemoryListArgs),
    /// Show a memory in full
    Show(MemoryIdArgs),
    /// Edit a memory; earlier versions stay in its history
    Edit(Box<MemoryEditArgs>),
    /// Undo the last change of a memory; undoing its first version retires it
    Undo(MemoryIdArgs),
    /// List all versions of a memory, oldest first
    History(MemoryIdArgs),
    /// Confirm that a fact is still true (the third time makes it a core fact), or accept a model's proposal
    Confirm(MemoryIdArgs),
    /// Mark a fact as a core fact
    Core(MemoryIdArgs),
    /// Mark a fact as wrong; decisions that rest on it are flagged
    Wrong(MemoryIdArgs),
    /// Retire a procedure or a rule
    Retire(MemoryIdArgs),
    /// Erase a memory for good: shows what would go, and does it only with --confirm
    Forget(ForgetArgs),
    /// List what a model, a tool or a file wrote; --confirm retires it
    RollBack(RollBackArgs),
    /// Show counts of memories, decisions without an outcome, and calibration
    Status,
    /// Write all memories, one JSON object per line; `import` reads them back
    Export(MemoryExportArgs),
    /// Import the memories of an export, under the usual rules and with low trust
    Import(MemoryImportArgs),
    /// Record a decision and how confident you are in it
    Decide(DecideArgs),
    /// Record how a decision turned out
    Review(ReviewArgs),
    /// Manage censors: rules about what not to do, checked in every turn
    Censor(CensorArgs),
    /// List the frames: the stances an agent can take, and what each loads
    ///
    /// The words of a message select a frame. Further frames are read from agents/NAME/frames.toml in the data
    /// directory, the agent's identity from agents/NAME/identity.md.
    Frames(FramesArgs),
}

#[derive(Debug, Args)]
pub(crate) struct MemoryIdArgs {
    /// Id of the memory, e.g. f7
    #[arg(value_name = "ID")]
    pub(crate) id: MemoryId,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryListArgs {
    /// Only this kind: decision, fact, procedure, episode or censor
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<MemoryKind>,
    /// Most memories to list
    #[arg(long, short = 'n', default_value_t = 20, value_name = "N")]
    pub(crate) max: usize,
    /// Only memories older than this one (for the next page)
    #[arg(long, value_name = "ID")]
    pub(crate) before: Option<MemoryId>,
}

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  neap memory edit f7 \"Tim prefers Celsius, Ann Fahrenheit\"
  neap memory edit f7 --always
  neap memory edit f7 --clear dates --clear tags
  neap memory edit d1 --reason \"evidence: measured again\" --stakes high

A list option replaces the whole list; fields that you do not name stay unchanged.")]
pub(crate) struct MemoryEditArgs {
    /// Id of the memory, e.g. f7
    #[arg(value_name = "ID")]
    pub(crate) id: MemoryId,
    /// New text; - for standard input
    #[arg(value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Move it to this project; `none` makes it yours, wherever you work
    #[arg(long, value_name = "NAME")]
    pub(crate) project: Option<String>,
    /// No longer always load it
    #[arg(long, conflicts_with = "always")]
    pub(crate) not_always: bool,
    /// Clear this field; may be given several times
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) clear: Vec<ClearableField>,
    #[command(flatten)]
    pub(crate) fields: MemoryFields,
    #[command(flatten)]
    pub(crate) decision: DecisionFields,
}

#[derive(Debug, Args)]
pub(crate) struct ForgetArgs {
    /// Id of the memory, e.g. f7
    #[arg(value_name = "ID", required_unless_present = "asked")]
    pub(crate) id: Option<MemoryId>,
    /// Repeat the id to erase the memory for good
    #[arg(long, value_name = "ID", requires = "id")]
    pub(crate) confirm: Option<MemoryId>,
    /// List what models asked to erase
    #[arg(long, conflicts_with_all = ["id", "confirm"])]
    pub(crate) asked: bool,
}

#[derive(Debug, Args)]
#[command(after_long_help = "Example:
  neap memory roll-back --author model --session default --since 2026-05-01

Marks facts as wrong (the facts that they superseded are valid again) and retires procedures and rules. Decisions
and episodes are permanent: it only lists them, and `neap memory forget` erases one.")]
pub(crate) struct RollBackArgs {
    /// Author of the memories
    #[arg(long, value_enum)]
    pub(crate) author: AuthorName,
    /// Only those written in this session
    #[arg(long, short, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Only those written since this day (YYYY-MM-DD, UTC) or timestamp
    #[arg(long, value_name = "DATE", value_parser = dates::parse_start)]
    pub(crate) since: Option<Stamp>,
    /// Retire them; without this they are only listed
    #[arg(long)]
    pub(crate) confirm: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryExportArgs {
    /// File to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryImportArgs {
    /// File written by `neap memory export`; - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct CensorArgs {
    #[command(subcommand)]
    pub(crate) what: CensorSubcommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CensorSubcommand {
    /// Add a rule about what not to do, after trying it on recent texts
    Add(CensorAddArgs),
    /// List the rules in force, and those that a model proposed
    List,
    /// Report a false positive of a rule; too many retire it
    FalsePositive(MemoryIdArgs),
    /// Retire a rule
    Retire(MemoryIdArgs),
    /// Try a pattern on a text; stores nothing
    Test(CensorTestArgs),
}

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  neap memory censor add \"delete production\" --reason \"ask Tim first\" --side tool-call --action refuse
  neap memory censor add \"sk-[a-z0-9]{20,}\" --regex --reason \"looks like a key\" --action abort

Words match in any order; steer gives guidance, refuse blocks the answer or the call, abort ends the turn.")]
pub(crate) struct CensorAddArgs {
    /// Pattern to match
    #[arg(value_name = "PATTERN")]
    pub(crate) pattern: String,
    /// Reason, which the model reads
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    #[command(flatten)]
    pub(crate) rule: RuleFields,
    /// Tag; may be given several times
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// Domain, e.g. infrastructure
    #[arg(long, value_name = "FIELD")]
    pub(crate) domain: Option<String>,
    /// Store the rule even if it matches most recent texts
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CensorTestArgs {
    /// Pattern to match
    #[arg(value_name = "PATTERN")]
    pub(crate) pattern: String,
    /// Text to check
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,
    /// Treat the pattern as a regular expression
    #[arg(long, conflicts_with = "like")]
    pub(crate) regex: bool,
    /// Treat the pattern as an example, and match similar texts
    #[arg(long)]
    pub(crate) like: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FramesArgs {
    /// Only this frame, in full
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Show which frame a message selects, and why
    #[arg(long = "for", value_name = "TEXT", conflicts_with = "name")]
    pub(crate) message: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  neap context \"should we use Redis for sessions?\"
  neap context \"should we use Redis for sessions?\" --explain
  neap context \"what did we do yesterday?\" --budget 1000 --json")]
pub(crate) struct ContextArgs {
    /// Question to build a context for
    #[arg(value_name = "QUESTION")]
    pub(crate) question: String,
    /// Frame to use [default: the one that the question selects]
    #[arg(long, value_name = "NAME")]
    pub(crate) frame: Option<String>,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// Token budget [default: what a session's settings leave]
    #[arg(long, value_name = "N")]
    pub(crate) budget: Option<u64>,
    /// Show every candidate with its score and why it is in or out, instead of the text
    #[arg(long)]
    pub(crate) explain: bool,
    /// Say instead what became of this memory
    #[arg(long, value_name = "ID")]
    pub(crate) expect: Option<MemoryId>,
}
