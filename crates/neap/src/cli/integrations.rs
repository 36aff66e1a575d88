//! Arguments of `neap import`, `install` and `hook`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};

/// Source of conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportSource {
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
pub(crate) struct ConversationImportArgs {
    /// Source of the conversations
    #[arg(value_enum, value_name = "FROM")]
    pub(crate) from: ImportSource,
    /// Files, or folders to search
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Only report what would be imported
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Return only when the new text is embedded, instead of embedding it in the background
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) wait: bool,
}

/// The agent that calls a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HookClient {
    /// Claude Code
    ClaudeCode,
    /// Codex
    Codex,
}

#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// Agent that calls [default: read from the event]
    #[arg(value_enum, value_name = "AGENT")]
    pub(crate) client: Option<HookClient>,
    /// Show recent errors
    #[arg(long)]
    pub(crate) log: bool,
    /// Record the events that earlier calls could not, and read none
    #[arg(long, hide = true, conflicts_with = "log")]
    pub(crate) catch_up: bool,
}

/// An agent that Neap can be installed into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InstallTarget {
    /// Claude Code: hooks and the MCP server
    ClaudeCode,
    /// Codex: hooks and the MCP server
    Codex,
    /// Copilot CLI: the MCP server
    Copilot,
    /// opencode: the MCP server
    Opencode,
    /// Cursor: the MCP server
    Cursor,
    /// Gemini CLI: the MCP server
    Gemini,
    /// Cline: the MCP server
    Cline,
    /// Roo Code: the MCP server
    Roo,
    /// Windsurf: the MCP server
    Windsurf,
    /// Zed: the MCP server
    Zed,
    /// VS Code: the MCP server
    Vscode,
    /// Hermes: the MCP server
    Hermes,
    /// OpenClaw: the MCP server
    Openclaw,
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which").args(["into", "all"])))]
pub(crate) struct InstallArgs {
    /// Agent to connect; without one, all are listed: found or not, connected or not, and when each was last heard
    #[arg(value_enum, value_name = "AGENT")]
    pub(crate) into: Option<InstallTarget>,
    /// Every agent that is found on this machine
    #[arg(long)]
    pub(crate) all: bool,
    /// List the agents
    #[arg(long, conflicts_with = "which")]
    pub(crate) list: bool,
    /// Only show the change
    #[arg(long, requires = "which")]
    pub(crate) print: bool,
    /// Remove Neap from the agent's files
    #[arg(long, requires = "which")]
    pub(crate) uninstall: bool,
    /// Make the change without asking
    #[arg(long, short, requires = "which")]
    pub(crate) yes: bool,
}
