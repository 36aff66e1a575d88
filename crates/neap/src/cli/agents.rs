//! What has to do with other people's agents, as it is typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Where conversations come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFrom {
    /// Transcripts of Claude Code [default path: ~/.claude/projects]
    ClaudeCode,
    /// Transcripts of Codex [default path: ~/.codex/sessions]
    Codex,
    /// `conversations.json` of a ChatGPT export
    Chatgpt,
    /// `conversations.json` of a Claude.ai export
    ClaudeAi,
    /// A session folder made by another tool
    Folder,
}

#[derive(Debug, Args)]
pub(crate) struct TakeInArgs {
    /// Where the conversations come from
    #[arg(value_enum, value_name = "FROM")]
    pub(crate) from: ImportFrom,
    /// Files, or folders that are looked through
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Only say what would be taken in
    #[arg(long)]
    pub(crate) dry_run: bool,
}
