//! The agents that Neap can be installed into: where each keeps its files, and what is written there.

use std::path::PathBuf;

use clap::ValueEnum as _;
use serde_json::{Value, json};

use super::command::NeapCommand;
use super::config_file::{ConfigFile, Format, Part};
use super::json_tree::Dialect;
use crate::agent_folders as folders;
use crate::cli::InstallTarget;
use crate::out::Failure;

/// Folders of VS Code and of its variant for testers.
const VSCODE: [&str; 2] = ["Code", "Code - Insiders"];
/// Roo Code's folder among those of VS Code's extensions.
const ROO: &str = "globalStorage/rooveterinaryinc.roo-cline";

const MCP_SERVERS: &[&str] = &["mcpServers", "neap"];

/// What people are told of an agent.
pub(super) struct Described {
    pub(super) name: &'static str,
    /// How a running one reads its files again.
    pub(super) reload: &'static str,
}

pub(super) fn described(agent: InstallTarget) -> Described {
    let (name, reload) = match agent {
        InstallTarget::ClaudeCode => ("Claude Code", "restart Claude Code"),
        InstallTarget::Codex => {
            ("Codex", "restart Codex; it runs hooks only once you trust them: type /hooks in Codex")
        }
        InstallTarget::Copilot => ("Copilot CLI", "restart Copilot CLI"),
        InstallTarget::Opencode => ("opencode", "restart opencode"),
        InstallTarget::Cursor => ("Cursor", "restart Cursor"),
        InstallTarget::Gemini => ("Gemini CLI", "restart Gemini CLI"),
        InstallTarget::Cline => ("Cline", "restart Cline, or reload the window of VS Code"),
        InstallTarget::Roo => ("Roo Code", "reload the window of VS Code"),
        InstallTarget::Windsurf => {
            ("Windsurf", "press the refresh button in Cascade's MCP settings, or restart Windsurf")
        }
        InstallTarget::Zed => ("Zed", "Zed reads its settings by itself"),
        InstallTarget::Vscode => ("VS Code", "run \"MCP: List Servers\" in VS Code and start neap"),
        InstallTarget::Hermes => ("Hermes", "type /reload-mcp in Hermes, or restart it"),
        InstallTarget::Openclaw => ("OpenClaw", "run `openclaw mcp reload`, or restart its gateway"),
    };
    Described { name, reload }
}

/// The name in commands.
pub(super) fn id(agent: InstallTarget) -> String {
    agent.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// Whether the agent has left a folder or a file of its own on this machine.
pub(super) fn is_found(agent: InstallTarget) -> bool {
    let places = match agent {
        InstallTarget::ClaudeCode => vec![folders::claude(), folders::claude_servers()],
        InstallTarget::Codex => vec![folders::codex()],
        InstallTarget::Copilot => vec![folders::copilot()],
        InstallTarget::Opencode => vec![folders::opencode()],
        InstallTarget::Cursor => vec![folders::cursor()],
        InstallTarget::Gemini => vec![folders::gemini()],
        InstallTarget::Cline => vec![folders::cline(), folders::cline_servers()],
        InstallTarget::Roo => VSCODE.map(|variant| Some(folders::vscode(variant)?.join(ROO))).to_vec(),
        InstallTarget::Windsurf => vec![folders::windsurf()],
        InstallTarget::Zed => vec![folders::zed()],
        InstallTarget::Vscode => VSCODE.map(folders::vscode).to_vec(),
        InstallTarget::Hermes => vec![folders::hermes()],
        InstallTarget::Openclaw => vec![folders::openclaw(), folders::openclaw_config()],
    };
    places.into_iter().flatten().any(|path| path.exists())
}

pub(super) fn config_files(agent: InstallTarget, command: &NeapCommand) -> Result<Vec<ConfigFile>, Failure> {
    let files = match agent {
        InstallTarget::ClaudeCode => vec![
            (under(folders::claude(), "settings.json"), Format::Json(Dialect::Strict), Part::Hooks("claude-code")),
            (folders::claude_servers(), Format::Json(Dialect::Strict), server(agent, command, MCP_SERVERS)),
        ],
        InstallTarget::Codex => vec![
            (under(folders::codex(), "hooks.json"), Format::Json(Dialect::Strict), Part::Hooks("codex")),
            (
                under(folders::codex(), "config.toml"),
                Format::Toml,
                server(agent, command, &["mcp_servers", "neap"]),
            ),
        ],
        InstallTarget::Copilot => {
            vec![strict(under(folders::copilot(), "mcp-config.json"), server(agent, command, MCP_SERVERS))]
        }
        InstallTarget::Opencode => {
            let (plain, commented) =
                (under(folders::opencode(), "opencode.json"), under(folders::opencode(), "opencode.jsonc"));
            let has = |path: &Option<PathBuf>| path.as_ref().is_some_and(|path| path.exists());
            let path = if has(&commented) && !has(&plain) { commented } else { plain };
            vec![with_comments(path, server(agent, command, &["mcp", "neap"]))]
        }
        InstallTarget::Cursor => {
            vec![with_comments(under(folders::cursor(), "mcp.json"), server(agent, command, MCP_SERVERS))]
        }
        InstallTarget::Gemini => {
            let part = server(agent, command, MCP_SERVERS);
            vec![(under(folders::gemini(), "settings.json"), Format::Json(Dialect::Comments), part)]
        }
        InstallTarget::Cline => vec![strict(folders::cline_servers(), server(agent, command, MCP_SERVERS))],
        InstallTarget::Roo => variants(ROO)
            .into_iter()
            .map(|folder| strict(under(folder, "settings/mcp_settings.json"), server(agent, command, MCP_SERVERS)))
            .collect(),
        InstallTarget::Windsurf => {
            vec![strict(under(folders::windsurf(), "mcp_config.json"), server(agent, command, MCP_SERVERS))]
        }
        InstallTarget::Zed => {
            let part = server(agent, command, &["context_servers", "neap"]);
            vec![with_comments(under(folders::zed(), "settings.json"), part)]
        }
        InstallTarget::Vscode => variants("")
            .into_iter()
            .map(|folder| with_comments(under(folder, "mcp.json"), server(agent, command, &["servers", "neap"])))
            .collect(),
        InstallTarget::Hermes => {
            let part = server(agent, command, &["mcp_servers", "neap"]);
            vec![(under(folders::hermes(), "config.yaml"), Format::Yaml, part)]
        }
        InstallTarget::Openclaw => {
            let part = server(agent, command, &["mcp", "servers", "neap"]);
            vec![(folders::openclaw_config(), Format::Json(Dialect::Json5), part)]
        }
    };
    let file =
        |(path, format, part): (Option<PathBuf>, Format, Part)| Some(ConfigFile { path: path?, format, part });
    files
        .into_iter()
        .map(file)
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| Failure::new("cannot find the agent's files: there is no home directory").hint("set HOME"))
}

type FilePart = (Option<PathBuf>, Format, Part);

fn strict(path: Option<PathBuf>, part: Part) -> FilePart {
    (path, Format::Json(Dialect::Strict), part)
}

fn with_comments(path: Option<PathBuf>, part: Part) -> FilePart {
    (path, Format::Json(Dialect::CommentsAndCommas), part)
}

fn under(folder: Option<PathBuf>, rest: &str) -> Option<PathBuf> {
    Some(rest.split('/').filter(|part| !part.is_empty()).fold(folder?, |path, part| path.join(part)))
}

/// The folder below that of each variant of VS Code that is here; of VS Code itself, if none is.
fn variants(rest: &str) -> Vec<Option<PathBuf>> {
    let all = VSCODE.map(|variant| under(folders::vscode(variant), rest));
    let found: Vec<_> =
        all.iter().filter(|path| path.as_ref().is_some_and(|path| path.exists())).cloned().collect();
    if found.is_empty() { all[..1].to_vec() } else { found }
}

/// The server's entry, in the form that the agent reads.
fn server(agent: InstallTarget, command: &NeapCommand, path: &'static [&'static str]) -> Part {
    let (program, args) = (command.program(), command.args(&["mcp", "--for", &id(agent)]));
    let value = match agent {
        InstallTarget::ClaudeCode | InstallTarget::Cline | InstallTarget::Vscode => {
            json!({"type": "stdio", "command": program, "args": args})
        }
        InstallTarget::Copilot => json!({"type": "local", "command": program, "args": args, "tools": ["*"]}),
        InstallTarget::Opencode => {
            let words: Vec<Value> = std::iter::once(program).chain(args).map(Value::from).collect();
            json!({"type": "local", "command": words, "enabled": true})
        }
        InstallTarget::Codex
        | InstallTarget::Cursor
        | InstallTarget::Gemini
        | InstallTarget::Roo
        | InstallTarget::Windsurf
        | InstallTarget::Zed
        | InstallTarget::Hermes
        | InstallTarget::Openclaw => json!({"command": program, "args": args}),
    };
    Part::Server(path, value)
}
