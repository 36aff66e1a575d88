//! Where other agents keep their files, as each of them decides it: by a variable of its own, else by the system's custom.

use std::path::PathBuf;

use crate::env::{self, HOME, XDG_CONFIG_HOME};

/// Replaces `~/.claude`.
const CLAUDE_CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";
/// Replaces `~/.codex`.
const CODEX_HOME: &str = "CODEX_HOME";
/// Replaces `~/.copilot`.
const COPILOT_HOME: &str = "COPILOT_HOME";
/// Replaces the home directory, for Gemini CLI alone.
const GEMINI_CLI_HOME: &str = "GEMINI_CLI_HOME";
/// The file, the folder of its folder, and the folder above that.
const CLINE_MCP_SETTINGS_PATH: &str = "CLINE_MCP_SETTINGS_PATH";
const CLINE_DATA_DIR: &str = "CLINE_DATA_DIR";
const CLINE_DIR: &str = "CLINE_DIR";
/// Replaces `~/.hermes`.
const HERMES_HOME: &str = "HERMES_HOME";
/// The file, and what replaces `~/.openclaw`.
const OPENCLAW_CONFIG_PATH: &str = "OPENCLAW_CONFIG_PATH";
const OPENCLAW_STATE_DIR: &str = "OPENCLAW_STATE_DIR";
/// Replaces `~/.config` for Zed in a Flatpak.
const FLATPAK_XDG_CONFIG_HOME: &str = "FLATPAK_XDG_CONFIG_HOME";
/// Windows' folders of a user.
const USERPROFILE: &str = "USERPROFILE";
const APPDATA: &str = "APPDATA";
const LOCALAPPDATA: &str = "LOCALAPPDATA";

pub(crate) fn home() -> Option<PathBuf> {
    path_var(HOME).or_else(|| path_var(USERPROFILE).filter(|_| cfg!(windows)))
}

pub(crate) fn claude() -> Option<PathBuf> {
    path_var(CLAUDE_CONFIG_DIR).or_else(|| Some(home()?.join(".claude")))
}

/// The file with Claude Code's MCP servers, among other things.
pub(crate) fn claude_servers() -> Option<PathBuf> {
    Some(path_var(CLAUDE_CONFIG_DIR).or_else(home)?.join(".claude.json"))
}

pub(crate) fn codex() -> Option<PathBuf> {
    path_var(CODEX_HOME).or_else(|| Some(home()?.join(".codex")))
}

pub(crate) fn copilot() -> Option<PathBuf> {
    path_var(COPILOT_HOME).or_else(|| Some(home()?.join(".copilot")))
}

pub(crate) fn opencode() -> Option<PathBuf> {
    Some(config()?.join("opencode"))
}

pub(crate) fn cursor() -> Option<PathBuf> {
    Some(home()?.join(".cursor"))
}

pub(crate) fn gemini() -> Option<PathBuf> {
    Some(path_var(GEMINI_CLI_HOME).or_else(home)?.join(".gemini"))
}

pub(crate) fn cline() -> Option<PathBuf> {
    path_var(CLINE_DIR).or_else(|| Some(home()?.join(".cline")))
}

/// The file with Cline's MCP servers.
pub(crate) fn cline_servers() -> Option<PathBuf> {
    let data = || path_var(CLINE_DATA_DIR).or_else(|| Some(cline()?.join("data")));
    path_var(CLINE_MCP_SETTINGS_PATH).or_else(|| Some(data()?.join("settings").join("cline_mcp_settings.json")))
}

pub(crate) fn windsurf() -> Option<PathBuf> {
    Some(home()?.join(".codeium").join("windsurf"))
}

pub(crate) fn zed() -> Option<PathBuf> {
    Some(if cfg!(windows) {
        path_var(APPDATA)?.join("Zed")
    } else if cfg!(target_os = "macos") {
        home()?.join(".config").join("zed")
    } else {
        path_var(FLATPAK_XDG_CONFIG_HOME).or_else(config)?.join("zed")
    })
}

/// The folder of a user of VS Code, or of its variant for testers.
pub(crate) fn vscode(variant: &str) -> Option<PathBuf> {
    let folder = if cfg!(windows) {
        path_var(APPDATA)?
    } else if cfg!(target_os = "macos") {
        home()?.join("Library").join("Application Support")
    } else {
        config()?
    };
    Some(folder.join(variant).join("User"))
}

pub(crate) fn hermes() -> Option<PathBuf> {
    let default = || match path_var(LOCALAPPDATA).filter(|_| cfg!(windows)) {
        Some(folder) => Some(folder.join("hermes")),
        None => Some(home()?.join(".hermes")),
    };
    path_var(HERMES_HOME).or_else(default)
}

pub(crate) fn openclaw() -> Option<PathBuf> {
    path_var(OPENCLAW_STATE_DIR).or_else(|| Some(home()?.join(".openclaw")))
}

/// The file with OpenClaw's configuration.
pub(crate) fn openclaw_config() -> Option<PathBuf> {
    path_var(OPENCLAW_CONFIG_PATH).or_else(|| Some(openclaw()?.join("openclaw.json")))
}

fn config() -> Option<PathBuf> {
    path_var(XDG_CONFIG_HOME).or_else(|| Some(home()?.join(".config")))
}

fn path_var(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from)
}
