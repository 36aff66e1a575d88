//! Edits each agent's configuration files to install or remove Neap.

use std::path::{Path, PathBuf};

use neap_model::hook::HookKind;
use serde_json::{Value, json};

use super::before::FileBefore;
use super::json_edit;
use crate::cli::InstallTarget;
use crate::env;
use crate::out::Failure;

/// How long an agent waits for a hook; hooks end long before.
const TIMEOUT_S: u64 = 5;
/// Enclose our part of a TOML file.
const BEGIN: &str = "# neap: begin, written by `neap install codex`";
const END: &str = "# neap: end";

pub(super) struct NeapCommand {
    pub(super) program: PathBuf,
    /// Global options before the command, such as the data directory.
    pub(super) options: Vec<String>,
}

impl NeapCommand {
    fn args(&self, command: &[&str]) -> Vec<String> {
        self.options.iter().cloned().chain(command.iter().map(|&word| word.to_owned())).collect()
    }

    fn shell_line(&self, command: &[&str]) -> String {
        let words = std::iter::once(self.program.to_string_lossy().into_owned()).chain(self.args(command));
        words.map(|word| shell_quoted(&word)).collect::<Vec<_>>().join(" ")
    }
}

fn shell_quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./-=:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

pub(super) struct ConfigFile {
    pub(super) path: PathBuf,
    kind: ConfigKind,
}

enum ConfigKind {
    /// Hooks of the named agent, in JSON.
    Hooks(&'static str),
    /// An MCP server in JSON: its path of keys, and its value.
    Server(Vec<&'static str>, Value),
    /// An MCP server in TOML.
    Toml,
}

pub(super) fn config_files(agent: InstallTarget, command: &NeapCommand) -> Result<Vec<ConfigFile>, Failure> {
    let no_home = || Failure::new("cannot find the agent's files: there is no home directory").hint("set HOME");
    let home = || env::home().ok_or_else(no_home);
    let (program, args) = (command.program.to_string_lossy().into_owned(), command.args(&["mcp"]));
    let target = |path: PathBuf, kind: ConfigKind| ConfigFile { path, kind };
    Ok(match agent {
        InstallTarget::ClaudeCode => {
            let folder = env::claude_folder().ok_or_else(no_home)?;
            let server = json!({"type": "stdio", "command": program, "args": args});
            vec![
                target(folder.join("settings.json"), ConfigKind::Hooks("claude-code")),
                target(
                    env::claude_config_file().ok_or_else(no_home)?,
                    ConfigKind::Server(vec!["mcpServers", "neap"], server),
                ),
            ]
        }
        InstallTarget::Codex => {
            let folder = env::codex_folder().ok_or_else(no_home)?;
            vec![
                target(folder.join("hooks.json"), ConfigKind::Hooks("codex")),
                target(folder.join("config.toml"), ConfigKind::Toml),
            ]
        }
        InstallTarget::Copilot => {
            let server = json!({"type": "local", "command": program, "args": args, "tools": ["*"]});
            let path = home()?.join(".copilot").join("mcp-config.json");
            vec![target(path, ConfigKind::Server(vec!["mcpServers", "neap"], server))]
        }
        InstallTarget::Opencode => {
            let folder = env::config_folder().ok_or_else(no_home)?.join("opencode");
            let (plain, commented) = (folder.join("opencode.json"), folder.join("opencode.jsonc"));
            if commented.exists() && !plain.exists() {
                return Err(Failure::new(format!(
                    "{} may contain comments, which an edit would lose",
                    commented.display()
                ))
                .hint(
                    "add what `neap install opencode --print` shows by hand, or rename the file to opencode.json",
                ));
            }
            let server_command: Vec<String> = std::iter::once(program).chain(args).collect();
            let server = json!({"type": "local", "command": server_command, "enabled": true});
            vec![target(plain, ConfigKind::Server(vec!["mcp", "neap"], server))]
        }
    })
}

impl ConfigFile {
    /// Whether Neap is in the file.
    pub(super) fn has_neap(&self, text: &str) -> bool {
        match &self.kind {
            ConfigKind::Toml => text.contains(BEGIN),
            ConfigKind::Hooks(_) | ConfigKind::Server(..) => {
                let is_json = serde_json::from_str::<Value>(text).is_ok();
                is_json && self.without_neap(text, None) != text
            }
        }
    }

    /// What Neap's entries are put into.
    pub(super) fn containers(&self) -> Vec<Vec<&'static str>> {
        match &self.kind {
            ConfigKind::Toml => Vec::new(),
            ConfigKind::Server(path, _) => vec![path[..1].to_vec()],
            ConfigKind::Hooks(_) => {
                let events = HookKind::ALL.iter().map(|event| vec!["hooks", event.as_str()]);
                std::iter::once(vec!["hooks"]).chain(events).collect()
            }
        }
    }

    /// The file with or without Neap; `None` if the file should not exist. `was`: what is known of it without Neap.
    pub(super) fn updated_text(
        &self,
        before: Option<&str>,
        was: Option<&FileBefore>,
        command: &NeapCommand,
        installs: bool,
    ) -> Result<Option<String>, Failure> {
        match &self.kind {
            ConfigKind::Toml => {
                let after = updated_toml(&self.path, before.unwrap_or_default(), command, installs)?;
                Ok(if installs { Some(after) } else { FileBefore::restore_file(was, after) })
            }
            ConfigKind::Hooks(_) | ConfigKind::Server(..) => {
                let text = before.filter(|text| !text.trim().is_empty()).unwrap_or("{}\n");
                let value: Result<Value, _> = serde_json::from_str(text);
                let reason = match value {
                    Ok(value) if value.is_object() => None,
                    Ok(_) => Some("it is not an object".to_owned()),
                    Err(error) => Some(error.to_string()),
                };
                if let Some(reason) = reason {
                    return Err(Failure::new(format!("{} cannot be read as JSON: {reason}", self.path.display()))
                        .hint("nothing was changed; fix the file, or add what `--print` shows by hand"));
                }
                let without = self.without_neap(text, was);
                let after = if installs { self.with_neap(&without, text, command) } else { Some(without) };
                let after = after.ok_or_else(|| {
                    Failure::new(format!("{} has another value where Neap's entry belongs", self.path.display()))
                        .hint("nothing was changed; check \"hooks\" and \"mcpServers\" in it")
                })?;
                Ok(if installs { Some(after) } else { FileBefore::restore_file(was, after) })
            }
        }
    }

    fn with_neap(&self, without: &str, before: &str, command: &NeapCommand) -> Option<String> {
        match &self.kind {
            ConfigKind::Server(path, server) => {
                let current = json_edit::find(before, path).map(|at| serde_json::from_str::<Value>(&before[at]));
                if matches!(current, Some(Ok(current)) if current == *server) {
                    return Some(before.to_owned());
                }
                json_edit::set_value(without, path, server)
            }
            ConfigKind::Hooks(name) => {
                let hook_command = command.shell_line(&["hook", name]);
                if installed_commands(before, name) == vec![hook_command.clone(); hook_events(name).len()] {
                    return Some(before.to_owned());
                }
                hook_events(name).iter().try_fold(without.to_owned(), |text, event| {
                    let call = json!({"type": "command", "command": hook_command, "timeout": TIMEOUT_S});
                    let group = if *event == HookKind::PostToolUse {
                        json!({"matcher": "*", "hooks": [call]})
                    } else {
                        json!({"hooks": [call]})
                    };
                    json_edit::push_item(&text, &["hooks", event.as_str()], &group)
                })
            }
            ConfigKind::Toml => None,
        }
    }

    fn without_neap(&self, text: &str, was: Option<&FileBefore>) -> String {
        match &self.kind {
            ConfigKind::Server(path, _) => {
                let result = json_edit::remove(text, path);
                if result == text { result } else { FileBefore::restore_container(was, &result, &path[..1]) }
            }
            ConfigKind::Hooks(_) => {
                let result = HookKind::ALL.iter().fold(text.to_owned(), |text, event| {
                    let path = ["hooks", event.as_str()];
                    let cut = json_edit::remove_items(&text, &path, |group| !own_commands(group).is_empty());
                    if cut == text { text } else { FileBefore::restore_container(was, &cut, &path) }
                });
                if result == text { result } else { FileBefore::restore_container(was, &result, &["hooks"]) }
            }
            ConfigKind::Toml => text.to_owned(),
        }
    }
}

fn hook_events(name: &str) -> Vec<HookKind> {
    // Codex has no session-end event.
    HookKind::ALL.into_iter().filter(|event| name != "codex" || *event != HookKind::SessionEnd).collect()
}

fn own_commands(group: &Value) -> Vec<String> {
    let hooks = group["hooks"].as_array().into_iter().flatten();
    let commands = hooks.filter_map(|hook| hook["command"].as_str());
    let is_ours = |command: &&str| {
        let words = command.split_whitespace().collect::<Vec<_>>();
        command.contains("neap")
            && words.windows(2).any(|two| two[0] == "hook" && matches!(two[1], "claude-code" | "codex"))
    };
    commands.filter(is_ours).map(str::to_owned).collect()
}

fn installed_commands(text: &str, name: &str) -> Vec<String> {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let groups = |event: &HookKind| value["hooks"][event.as_str()].as_array().cloned().unwrap_or_default();
    hook_events(name).iter().flat_map(groups).flat_map(|group| own_commands(&group)).collect()
}

fn updated_toml(path: &Path, before: &str, command: &NeapCommand, installs: bool) -> Result<String, Failure> {
    let failure = |problem: String| {
        Failure::new(format!("{} {problem}", path.display()))
            .hint("nothing was changed; fix the file, or add what `--print` shows by hand")
    };
    let parse = |text: &str| {
        toml::from_str::<toml::Table>(text)
            .map_err(|error| failure(format!("cannot be read as TOML: {}", error.message())))
    };
    parse(before)?;
    let without = match (before.find(BEGIN), before.find(END)) {
        (Some(begin), Some(end)) if begin < end => {
            let rest = before[end + END.len()..].strip_prefix('\n').unwrap_or(&before[end + END.len()..]);
            let head = before[..begin].strip_suffix('\n').unwrap_or(&before[..begin]);
            format!("{head}{rest}")
        }
        _ => before.to_owned(),
    };
    if !installs {
        return Ok(without);
    }
    let foreign = parse(&without)?;
    if foreign.get("mcp_servers").and_then(|servers| servers.get("neap")).is_some() {
        return Err(failure("has an MCP server called neap that was not written by `neap install`".to_owned()));
    }
    // Strings and lists of strings look the same in JSON and TOML.
    let (program, args) = (json!(command.program.to_string_lossy()), json!(command.args(&["mcp"])));
    let gap = if without.is_empty() {
        ""
    } else {
        "
"
    };
    let block = format!("{BEGIN}\n[mcp_servers.neap]\ncommand = {program}\nargs = {args}\n{END}\n");
    let after = format!("{without}{gap}{block}");
    // Verify that everything else is unchanged.
    let mut updated = parse(&after)?;
    if let Some(servers) = updated.get_mut("mcp_servers").and_then(toml::Value::as_table_mut) {
        servers.remove("neap");
        if servers.is_empty() && foreign.get("mcp_servers").is_none() {
            updated.remove("mcp_servers");
        }
    }
    if updated != foreign {
        Err(failure("would change its meaning if Neap's entry were appended".to_owned()))
    } else {
        Ok(after)
    }
}
