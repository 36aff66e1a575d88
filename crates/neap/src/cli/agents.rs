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

/// Who calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HookClient {
    /// Claude Code
    ClaudeCode,
    /// Codex
    Codex,
}

#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// Who calls [default: told by the event]
    #[arg(value_enum, value_name = "AGENT")]
    pub(crate) client: Option<HookClient>,
    /// Show what went wrong lately
    #[arg(long)]
    pub(crate) log: bool,
    /// Record what earlier calls could not, and read no event
    #[arg(long, hide = true, conflicts_with = "log")]
    pub(crate) catch_up: bool,
}

/// An agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InstallFor {
    /// Claude Code: hooks and the MCP server
    ClaudeCode,
    /// Codex: hooks and the MCP server
    Codex,
    /// Copilot CLI: the MCP server
    Copilot,
    /// opencode: the MCP server
    Opencode,
}

#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    /// Which agent
    #[arg(value_enum, value_name = "AGENT")]
    pub(crate) into: InstallFor,
    /// Only show the change
    #[arg(long)]
    pub(crate) print: bool,
    /// Take it out again
    #[arg(long)]
    pub(crate) uninstall: bool,
    /// Make the change without being asked
    #[arg(long, short)]
    pub(crate) yes: bool,
}
