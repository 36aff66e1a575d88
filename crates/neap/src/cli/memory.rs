//! What can be typed about what an agent knows.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use neap_core::ids::Stamp;
use neap_core::memory::{MemoryId, MemoryKind};

use super::names::{AuthorName, Cleared};
use super::record::{DecisionFields, Fields, RuleFields};
use crate::when;

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  neap recall staging database
  neap recall --time \"last week\" --kind episode
  neap recall what did we do yesterday")]
pub(crate) struct RecallArgs {
    /// What to look for
    #[arg(value_name = "QUERY", required_unless_present = "time")]
    pub(crate) query: Vec<String>,
    /// Only this kind; may be given several times [default: all but censors]
    #[arg(long = "kind", value_name = "KIND")]
    pub(crate) kinds: Vec<MemoryKind>,
    /// When it was written, in words: today, yesterday, last week, recently
    #[arg(long, value_name = "WORDS")]
    pub(crate) time: Option<String>,
    /// Also facts that a newer one took the place of
    #[arg(long)]
    pub(crate) superseded: bool,
    /// How many, at most
    #[arg(long, short = 'n', default_value_t = 10, value_name = "N")]
    pub(crate) max: usize,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryArgs {
    #[command(subcommand)]
    pub(crate) what: MemoryCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// All records, newest first
    List(ListArgs),
    /// One record, whole
    Show(IdArgs),
    /// Change what a record says; the version before stays in its history
    Edit(Box<EditArgs>),
    /// Take the last change of a record back; undoing its first writing takes it out of use
    Undo(IdArgs),
    /// Every version of a record, oldest first
    History(IdArgs),
    /// Say that a fact still holds (at the third time it is a core one), or accept what a model proposed
    Confirm(IdArgs),
    /// Mark a fact as one to build on
    Core(IdArgs),
    /// Say that a fact proved wrong; decisions that rest on it are flagged
    Wrong(IdArgs),
    /// Take a procedure or a rule out of use
    Retire(IdArgs),
    /// Ask for a record to be erased; shows what would go, and does it only with --confirm
    Forget(ForgetArgs),
    /// List what a model, a tool or a file wrote, and take it out of use with --confirm
    RollBack(RollBackArgs),
    /// How much is known, what waits for an outcome, and how well confidence fits
    Status,
    /// Write all records, one JSON object a line; `import` reads them back
    Export(MemoryExportArgs),
    /// Remember the records of an export, by the same rules as anything else, with little trust
    Import(MemoryImportArgs),
}

#[derive(Debug, Args)]
pub(crate) struct IdArgs {
    /// Which, e.g. f7
    #[arg(value_name = "ID")]
    pub(crate) id: MemoryId,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only this kind: decision, fact, procedure, episode or censor
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<MemoryKind>,
    /// How many, at most
    #[arg(long, short = 'n', default_value_t = 20, value_name = "N")]
    pub(crate) max: usize,
    /// Only those that come after this one in the list
    #[arg(long, value_name = "ID")]
    pub(crate) before: Option<MemoryId>,
}

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  neap memory edit f7 \"Tim prefers Celsius, Ann Fahrenheit\"
  neap memory edit f7 --always
  neap memory edit f7 --clear dates --clear tags
  neap memory edit d1 --reason \"evidence: measured again\" --stakes high

A list that is given takes the place of the one before; what is not given stays as it is.")]
pub(crate) struct EditArgs {
    /// Which, e.g. f7
    #[arg(value_name = "ID")]
    pub(crate) id: MemoryId,
    /// What it says from now on; - for standard input
    #[arg(value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// No longer always in the context
    #[arg(long, conflicts_with = "always")]
    pub(crate) not_always: bool,
    /// Take this away from it; may be given several times
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) clear: Vec<Cleared>,
    #[command(flatten)]
    pub(crate) fields: Fields,
    #[command(flatten)]
    pub(crate) decision: DecisionFields,
}

#[derive(Debug, Args)]
pub(crate) struct ForgetArgs {
    /// Which, e.g. f7
    #[arg(value_name = "ID", required_unless_present = "asked")]
    pub(crate) id: Option<MemoryId>,
    /// The id once more: erases it, for good
    #[arg(long, value_name = "ID", requires = "id")]
    pub(crate) confirm: Option<MemoryId>,
    /// List what a model asked to have forgotten
    #[arg(long, conflicts_with_all = ["id", "confirm"])]
    pub(crate) asked: bool,
}

#[derive(Debug, Args)]
#[command(after_long_help = "Example:
  neap memory roll-back --author model --session default --since 2026-05-01

Facts are marked as wrong (and what they took the place of holds again), procedures and rules are retired. Decisions
and episodes are permanent: they are listed, and `neap memory forget` erases one.")]
pub(crate) struct RollBackArgs {
    /// Who wrote it
    #[arg(long, value_enum)]
    pub(crate) author: AuthorName,
    /// Only what was written in this session
    #[arg(long, short, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Only what was written on this day (YYYY-MM-DD, UTC) or later, or from a moment on
    #[arg(long, value_name = "DATE", value_parser = when::start_of)]
    pub(crate) since: Option<Stamp>,
    /// Do it; without this they are only listed
    #[arg(long)]
    pub(crate) confirm: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryExportArgs {
    /// Where to; standard output by default
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryImportArgs {
    /// A file written by `neap memory export`; - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct CensorArgs {
    #[command(subcommand)]
    pub(crate) what: CensorCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CensorCommand {
    /// Add a rule about what not to do; it is tried on recent texts first
    Add(CensorAddArgs),
    /// The rules in force, and those that a model proposed
    List,
    /// Say that a rule found something wrongly; too often, and it is retired
    FalsePositive(IdArgs),
    /// Take a rule out of use
    Retire(IdArgs),
    /// Try a pattern on a text; nothing is written
    Test(CensorTestArgs),
}

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  neap censor add \"delete production\" --reason \"ask Tim first\" --side tool-call --action refuse
  neap censor add \"sk-[a-z0-9]{20,}\" --regex --reason \"looks like a key\" --action abort

Words are found in any order; steer gives guidance, refuse blocks the answer or the call, abort ends the turn.")]
pub(crate) struct CensorAddArgs {
    /// What it looks for
    #[arg(value_name = "PATTERN")]
    pub(crate) pattern: String,
    /// Why, in words that the model reads
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    #[command(flatten)]
    pub(crate) rule: RuleFields,
    /// A word to sort by; may be given several times
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// The field it belongs to, e.g. infrastructure
    #[arg(long, value_name = "FIELD")]
    pub(crate) domain: Option<String>,
    /// Write it even if it finds something in most recent texts
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CensorTestArgs {
    /// What it would look for
    #[arg(value_name = "PATTERN")]
    pub(crate) pattern: String,
    /// What it would look at
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,
    /// The pattern is a regular expression, not words
    #[arg(long, conflicts_with = "like")]
    pub(crate) regex: bool,
    /// The pattern is an example: it finds texts like it
    #[arg(long)]
    pub(crate) like: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FramesArgs {
    /// Only this one, whole
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Say which frame a message calls for, and why
    #[arg(long = "for", value_name = "TEXT", conflicts_with = "name")]
    pub(crate) message: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  neap context \"should we use Redis for sessions?\"
  neap context \"should we use Redis for sessions?\" --explain
  neap context \"what did we do yesterday?\" --budget 1000 --json")]
pub(crate) struct ContextArgs {
    /// What is asked
    #[arg(value_name = "QUESTION")]
    pub(crate) question: String,
    /// The stance to take [default: what the question calls for]
    #[arg(long, value_name = "NAME")]
    pub(crate) frame: Option<String>,
    /// Tokens, at most [default: what a session's settings leave]
    #[arg(long, value_name = "N")]
    pub(crate) budget: Option<u64>,
    /// Instead of the text, every candidate with its score and why it is in or out
    #[arg(long)]
    pub(crate) explain: bool,
}
