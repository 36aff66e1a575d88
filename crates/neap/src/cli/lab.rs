//! Arguments of `neap lab`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use neap_lab::eval::RankingTerm;

use super::ModelArgs;
use crate::app::parse_setting;

#[derive(Debug, Args)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    pub(crate) what: LabSubcommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabSubcommand {
    /// Run the scripted proofs of the design and print expected beside measured
    Proof(ProofArgs),
    /// Measure recall on conversations with questions, one per line: {"id", "turns": […], "questions": […]}
    ///
    /// Records each conversation in a temporary store, then asks every question and compares the context assembled
    /// within each budget with the turns that answer it. Recall is the share of those turns that the context
    /// contains word for word. Needs no model and gives the same figures for the same files.
    Eval(EvalArgs),
    /// Measure the cost of adding, searching and assembling at several sizes, in one run
    ///
    /// Generates a conversation of that many turns, records it in a temporary store and searches it from another
    /// process. Your own store is not touched.
    Bench(BenchArgs),
    /// Play a scripted conversation through the engine, one turn per line
    Replay(ReplayArgs),
}

/// A proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProofSuite {
    /// An open effort is in the context whole, a concluded one as a summary
    Slice1,
    /// Expansion restores an effort; several efforts can be open
    Slice2,
    /// Expansions decay when nothing refers to them
    Slice3,
    /// The context stays bounded, and evicted efforts are found again
    Slice4,
    /// Every transcript stays within its budget: the design's phases and figures, over long chats
    Window,
    /// Relevant memories are loaded: a year of memories, and questions about them
    Memory,
    /// How often a given model manages efforts correctly (needs --model)
    Model,
    /// All four slices
    All,
}

#[derive(Debug, Args)]
pub(crate) struct ProofArgs {
    /// Proof to run
    #[arg(value_enum, default_value = "all")]
    pub(crate) slice: ProofSuite,
    /// With `window`: turns of the long chat
    #[arg(long, value_name = "N", default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) turns: u64,
    /// With `memory`: size of the corpus in per cent; shares and times are judged at 100 only
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) percent: u32,
    /// With `model`: tries per scenario
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) tries: u32,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

/// What to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EvalSuite {
    /// Which of the turns that answer a question are in its context
    Recall,
    /// Which work the first message of a session continues
    Efforts,
    /// Whether the current one of several answers is there, and first
    Freshness,
    /// Whether the next file that a coding agent touches would be recalled
    Coding,
    /// Whether only what bears on a question is loaded: built-in cases, no files
    Precision,
    /// Everything that the file has data for
    All,
}

/// Where questions are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SurfaceChoice {
    /// Recalled text alone
    Recall,
    /// The MCP tool `get_context`, in a new session
    GetContext,
    /// The reply to a prompt's hook, whose budget is its own
    Hook,
}

/// How conversations share a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SharedStore {
    /// Each conversation is a project
    Projects,
    /// Nothing tells them apart
    Nothing,
}

#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    /// Conversations, one per line, plain or gzipped
    #[arg(value_name = "FILE", required_unless_present = "suite")]
    pub(crate) files: Vec<PathBuf>,
    /// Tokens that recalled text may cost
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "500,1000,2000", value_parser = clap::value_parser!(u64).range(100..=1_000_000))]
    pub(crate) budget: Vec<u64>,
    /// What to measure
    #[arg(long, value_enum, default_value = "all")]
    pub(crate) suite: EvalSuite,
    /// Where to ask: what a tool or a hook gives, instead of recalled text alone
    #[arg(long, value_enum, value_name = "WHERE", default_value = "recall", conflicts_with_all = ["without", "ablate", "curve"])]
    pub(crate) surface: SurfaceChoice,
    /// Leave terms out of the ranking, to see what they contribute
    #[arg(long, value_name = "REASON,…", value_delimiter = ',', value_parser = ranking_term())]
    pub(crate) without: Vec<RankingTerm>,
    /// Repeat the questions of recall and freshness with each term left out in turn
    #[arg(long, conflicts_with = "without")]
    pub(crate) ablate: bool,
    /// Record all conversations of all files in one store, and ask each one's questions there
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, default_missing_value = "projects", conflicts_with_all = ["curve", "threads"])]
    pub(crate) shared: Option<SharedStore>,
    /// Conversations to measure in parallel
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) threads: usize,
    /// Also draw recall against budget, with baselines, as SVG
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) curve: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Turns per size, e.g. 1k, 10k, 100k, 1M
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1k,10k,100k", value_parser = parse_count)]
    pub(crate) records: Vec<u64>,
    /// Only search the store in this folder, as its own process
    #[arg(long, value_name = "FOLDER", hide = true)]
    pub(crate) once: Option<PathBuf>,
}

fn ranking_term() -> impl TypedValueParser<Value = RankingTerm> {
    let value = |term: RankingTerm| PossibleValue::new(term.name()).help(term.description());
    PossibleValuesParser::new(RankingTerm::ALL.map(value)).try_map(|name| {
        let term = RankingTerm::ALL.into_iter().find(|term| term.name() == name);
        term.ok_or_else(|| format!("there is no term '{name}'"))
    })
}

/// Parses a number with an optional suffix `k` or `M`.
fn parse_count(text: &str) -> Result<u64, String> {
    let lower = text.trim().to_lowercase();
    let (digits, times) = match lower.strip_suffix('k').map(|digits| (digits, 1_000)) {
        Some(thousands) => thousands,
        None => lower.strip_suffix('m').map_or((lower.as_str(), 1), |digits| (digits, 1_000_000)),
    };
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(times));
    number
        .filter(|n| (1..=10_000_000).contains(n))
        .ok_or_else(|| "write it as 500, 10k or 1M, up to 10M".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// One turn per line: {"user": "…", "calls": [{"name": "…", "arguments": {…}}], "assistant": "…"}; - for
    /// standard input
    #[arg(value_name = "FILE.jsonl")]
    pub(crate) file: PathBuf,
    /// Store the turns in this session; without it, nothing is stored
    #[arg(long, short, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Change a setting of the session (see `neap store settings`)
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_setting)]
    pub(crate) set: Vec<(String, String)>,
}
