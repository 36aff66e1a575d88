//! Commands that `neap --help` does not list: those that programs call, and former names.

use clap::{Args, Subcommand};
use clap_complete::Shell;

use super::{
    BenchArgs, CensorArgs, Command, DecideArgs, EvalArgs, FramesArgs, HookArgs, KeysArgs, LabArgs, LabSubcommand,
    MemoryArgs, MemorySubcommand, OptionalSessionArgs, OriginalArgs, ProofArgs, RebuildArgs, ReceiptsArgs,
    ReplayArgs, ReportArgs, ReviewArgs, SessionArgs, SessionNameArgs, SessionSubcommand, SettingsArgs, StoreArgs,
    StoreSubcommand, WatchArgs,
};

#[derive(Debug, Subcommand)]
pub(crate) enum HiddenCommand {
    /// Answer an agent's hook event, from standard input
    ///
    /// Claude Code and Codex call it (`neap install` sets that up): it records the conversation and returns what is
    /// relevant to the prompt. Whatever goes wrong, the agent continues: the exit code is 0, and the call ends
    /// within a second.
    #[command(hide = true)]
    Hook(HookArgs),
    /// Embed the texts that wait for it, in the background of `neap import`
    #[command(hide = true)]
    EmbedWaiting,
    /// Print a completion script for a shell
    #[command(hide = true)]
    Completions(CompletionArgs),
    #[command(flatten)]
    Former(Box<FormerCommand>),
}

#[derive(Debug, Args)]
pub(crate) struct CompletionArgs {
    /// Shell to print the script for
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// Names that commands had at the top level. They work, and say the present one.
#[derive(Debug, Subcommand)]
pub(crate) enum FormerCommand {
    /// See `neap report --live`
    #[command(hide = true)]
    Watch(WatchArgs),
    /// See `neap lab replay`
    #[command(hide = true)]
    Replay(ReplayArgs),
    /// See `neap lab proof`
    #[command(hide = true)]
    Proof(ProofArgs),
    /// See `neap lab eval`
    #[command(hide = true)]
    Eval(EvalArgs),
    /// See `neap lab bench`
    #[command(hide = true)]
    Bench(BenchArgs),
    /// See `neap session efforts`
    #[command(hide = true)]
    Efforts(SessionNameArgs),
    /// See `neap session original`
    #[command(hide = true)]
    Original(OriginalArgs),
    /// See `neap session receipts`
    #[command(hide = true)]
    Receipts(ReceiptsArgs),
    /// See `neap memory decide`
    #[command(hide = true)]
    Decide(DecideArgs),
    /// See `neap memory review`
    #[command(hide = true)]
    Review(ReviewArgs),
    /// See `neap memory censor`
    #[command(hide = true)]
    Censor(CensorArgs),
    /// See `neap memory frames`
    #[command(hide = true)]
    Frames(FramesArgs),
    /// See `neap store settings`
    #[command(hide = true)]
    Settings(SettingsArgs),
    /// See `neap store doctor`
    #[command(hide = true)]
    Doctor(OptionalSessionArgs),
    /// See `neap store rebuild`
    #[command(hide = true)]
    Rebuild(RebuildArgs),
    /// See `neap store keys`
    #[command(hide = true)]
    Keys(KeysArgs),
}

impl FormerCommand {
    /// The former name, the present one, and the command itself.
    pub(crate) fn replacement(self) -> (&'static str, &'static str, Command) {
        let session = |what| Command::Session(SessionArgs { what });
        let memory = |what| Command::Memory(MemoryArgs { what });
        let store = |what| Command::Store(StoreArgs { what });
        let lab = |what| Command::Lab(LabArgs { what });
        match self {
            Self::Watch(watch) => {
                let args = ReportArgs { session: None, all: false, live: true, watch };
                ("watch", "report --live", Command::Report(args))
            }
            Self::Replay(args) => ("replay", "lab replay", lab(LabSubcommand::Replay(args))),
            Self::Proof(args) => ("proof", "lab proof", lab(LabSubcommand::Proof(args))),
            Self::Eval(args) => ("eval", "lab eval", lab(LabSubcommand::Eval(args))),
            Self::Bench(args) => ("bench", "lab bench", lab(LabSubcommand::Bench(args))),
            Self::Efforts(args) => ("efforts", "session efforts", session(SessionSubcommand::Efforts(args))),
            Self::Original(args) => ("original", "session original", session(SessionSubcommand::Original(args))),
            Self::Receipts(args) => ("receipts", "session receipts", session(SessionSubcommand::Receipts(args))),
            Self::Decide(args) => ("decide", "memory decide", memory(MemorySubcommand::Decide(args))),
            Self::Review(args) => ("review", "memory review", memory(MemorySubcommand::Review(args))),
            Self::Censor(args) => ("censor", "memory censor", memory(MemorySubcommand::Censor(args))),
            Self::Frames(args) => ("frames", "memory frames", memory(MemorySubcommand::Frames(args))),
            Self::Settings(args) => ("settings", "store settings", store(StoreSubcommand::Settings(args))),
            Self::Doctor(args) => ("doctor", "store doctor", store(StoreSubcommand::Doctor(args))),
            Self::Rebuild(args) => ("rebuild", "store rebuild", store(StoreSubcommand::Rebuild(args))),
            Self::Keys(args) => ("keys", "store keys", store(StoreSubcommand::Keys(args))),
        }
    }
}
