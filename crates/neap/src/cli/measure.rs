//! What can be proved and measured.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::ModelArgs;

/// One of the design's slices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Slice {
    /// An open effort is whole, a concluded one is a summary
    Slice1,
    /// Expansion brings back everything; several efforts live side by side
    Slice2,
    /// Expansions fade when nothing refers to them
    Slice3,
    /// The context stays bounded, and what left it is found again
    Slice4,
    /// Every transcript is bounded: the phases and figures of the design on windows, over long chats
    Window,
    /// What bears on a question is loaded: a year of memories, and questions about them
    Memory,
    /// What only a model can do, asked of the one that is named: the share of tries in which it did
    Model,
    /// All four slices
    All,
}

#[derive(Debug, Args)]
pub(crate) struct ProofArgs {
    /// Which
    #[arg(value_enum, default_value = "all")]
    pub(crate) slice: Slice,
    /// With `window`: how many turns the long chat has
    #[arg(long, value_name = "N", default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) turns: u64,
    /// With `window`: play recorded sessions of coding agents instead, one a line of these files; - for standard input
    #[arg(long, value_name = "FILE.jsonl", num_args = 1..)]
    pub(crate) transcripts: Vec<PathBuf>,
    /// With `memory`: how much of the whole corpus is written, in per cent; shares and times are judged at 100
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) percent: u32,
    /// With `memory`: only build one context over this store, to be timed as a process of its own
    #[arg(long, value_name = "STORE", hide = true)]
    pub(crate) once: Option<PathBuf>,
    /// With `model`: how often each row is tried
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) tries: u32,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Suite {
    /// Which of the turns that answer a question are in its context
    Recall,
    /// To which piece of work the first message of an occasion belongs
    Efforts,
    /// Whether the current of several answers is there, and first
    Freshness,
    /// Whether the file that a coding agent turns to next is in what would be recalled
    Coding,
    /// Whatever the file has
    All,
}

/// A reason to recall a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Reason {
    /// Words that it shares with the question
    Words,
    /// That it means alike
    Meaning,
    /// What is said around it
    Beside,
    /// The best of its conversation
    Conversation,
    /// That the question names who said it
    Speaker,
    /// That it was said at a time which the question names
    Time,
    /// That it begins its conversation
    Opening,
    /// That it was said lately
    Lately,
    /// Whether a person or a model said it
    Role,
    /// What it costs
    Cost,
}

#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    /// Conversations, one a line, plain or compressed with gzip
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// What recalled text may cost, in tokens
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "500,1000,2000", value_parser = clap::value_parser!(u64).range(100..=1_000_000))]
    pub(crate) budget: Vec<u64>,
    /// What to measure
    #[arg(long, value_enum, default_value = "all")]
    pub(crate) suite: Suite,
    /// Leave reasons out of the order, to see what they are worth
    #[arg(long, value_enum, value_name = "REASON,…", value_delimiter = ',')]
    pub(crate) without: Vec<Reason>,
    /// Ask every question of recall and freshness again, with each reason left out in turn
    #[arg(long, conflicts_with = "without")]
    pub(crate) ablate: bool,
    /// Conversations that are measured at once
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) threads: usize,
    /// Also draw recall against budget, with simpler ways beside it; as SVG, which is all there is
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) curve: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// How many turns, for each size: 1k, 10k, 100k, 1M
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1k,10k,100k", value_parser = size)]
    pub(crate) records: Vec<u64>,
    /// Only search what was built in this folder, as a process of its own
    #[arg(long, value_name = "FOLDER", hide = true)]
    pub(crate) once: Option<PathBuf>,
}

/// A number with its thousands or millions in short.
fn size(text: &str) -> Result<u64, String> {
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
