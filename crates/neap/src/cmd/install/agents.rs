//! What each agent's files say once Neap is installed, and without it.

use std::path::{Path, PathBuf};

use neap_core::hook::Moment;
use serde_json::{Value, json};

use super::edit;
use crate::cli::InstallFor;
use crate::env;
use crate::out::Failure;

/// How long an agent waits for a hook, in seconds: it is over long before that.
const TIMEOUT_S: u64 = 5;
/// Our part of a TOML file stands between these.
const BEGIN: &str = "# neap: begin, written by `neap install codex`";
const END: &str = "# neap: end";

/// How Neap is called.
pub(super) struct Calls {
    pub(super) program: PathBuf,
    /// What stands before a command: where the data are, if that was said.
    pub(super) options: Vec<String>,
}

impl Calls {
    /// The arguments of a command.
    fn args(&self, command: &[&str]) -> Vec<String> {
        self.options.iter().cloned().chain(command.iter().map(|&word| word.to_owned())).collect()
    }

    /// As a shell reads it.
    fn line(&self, command: &[&str]) -> String {
        let words = std::iter::once(self.program.to_string_lossy().into_owned()).chain(self.args(command));
        words.map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
    }
}

/// A word as a shell takes it for one.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./-=:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A file to change, and how.
pub(super) struct Target {
    pub(super) path: PathBuf,
    kind: Kind,
}

enum Kind {
    /// Hooks of an agent by this name, as JSON.
    Hooks(&'static str),
    /// An MCP server, as JSON: where it stands, and what stands there.
    Server(Vec<&'static str>, Value),
    /// An MCP server, as TOML.
    Toml,
}

/// The files of an agent.
pub(super) fn targets(agent: InstallFor, calls: &Calls) -> Result<Vec<Target>, Failure> {
    let nowhere = || Failure::new("there is no home directory to look for the agent's files in").hint("set HOME");
    let home = || env::home().ok_or_else(nowhere);
    let (program, args) = (calls.program.to_string_lossy().into_owned(), calls.args(&["mcp"]));
    let target = |path: PathBuf, kind: Kind| Target { path, kind };
    Ok(match agent {
        InstallFor::ClaudeCode => {
            let folder = env::claude_folder().ok_or_else(nowhere)?;
            let server = json!({"type": "stdio", "command": program, "args": args});
            vec![
                target(folder.join("settings.json"), Kind::Hooks("claude-code")),
                target(env::claude_file().ok_or_else(nowhere)?, Kind::Server(vec!["mcpServers", "neap"], server)),
            ]
        }
        InstallFor::Codex => {
            let folder = env::codex_folder().ok_or_else(nowhere)?;
            vec![
                target(folder.join("hooks.json"), Kind::Hooks("codex")),
                target(folder.join("config.toml"), Kind::Toml),
            ]
        }
        InstallFor::Copilot => {
            let server = json!({"type": "local", "command": program, "args": args, "tools": ["*"]});
            let path = home()?.join(".copilot").join("mcp-config.json");
            vec![target(path, Kind::Server(vec!["mcpServers", "neap"], server))]
        }
        InstallFor::Opencode => {
            let folder = env::config_folder().ok_or_else(nowhere)?.join("opencode");
            let (plain, commented) = (folder.join("opencode.json"), folder.join("opencode.jsonc"));
            if commented.exists() && !plain.exists() {
                return Err(Failure::new(format!(
                    "{} may have comments, which would be lost",
                    commented.display()
                ))
                .hint(
                    "add what `neap install opencode --print` shows by hand, or rename the file to opencode.json",
                ));
            }
            let command: Vec<String> = std::iter::once(program).chain(args).collect();
            let server = json!({"type": "local", "command": command, "enabled": true});
            vec![target(plain, Kind::Server(vec!["mcp", "neap"], server))]
        }
    })
}

impl Target {
    /// The file with Neap installed, or without; none if there is no file then.
    pub(super) fn changed(
        &self,
        before: Option<&str>,
        calls: &Calls,
        installs: bool,
    ) -> Result<Option<String>, Failure> {
        match &self.kind {
            Kind::Toml => toml_file(&self.path, before.unwrap_or_default(), calls, installs),
            Kind::Hooks(_) | Kind::Server(..) => {
                let text = before.filter(|text| !text.trim().is_empty()).unwrap_or("{}\n");
                let value: Result<Value, _> = serde_json::from_str(text);
                let why = match value {
                    Ok(value) if value.is_object() => None,
                    Ok(_) => Some("it is not an object".to_owned()),
                    Err(error) => Some(error.to_string()),
                };
                if let Some(why) = why {
                    return Err(Failure::new(format!("{} cannot be read as JSON: {why}", self.path.display()))
                        .hint("nothing was changed; mend the file, or add what `--print` shows by hand"));
                }
                let without = self.without(text);
                let after = if installs { self.with(&without, text, calls) } else { Some(without) };
                let after = after.ok_or_else(|| {
                    Failure::new(format!("{} has something else where Neap belongs", self.path.display()))
                        .hint("nothing was changed; look at \"hooks\" and \"mcpServers\" in it")
                })?;
                // A file that holds nothing but braces was ours.
                let is_empty = after.split_whitespace().collect::<String>() == "{}";
                Ok((installs || !is_empty).then_some(after))
            }
        }
    }

    fn with(&self, without: &str, before: &str, calls: &Calls) -> Option<String> {
        match &self.kind {
            Kind::Server(path, server) => {
                let known = edit::find(before, path).map(|at| serde_json::from_str::<Value>(&before[at]));
                if matches!(known, Some(Ok(known)) if known == *server) {
                    return Some(before.to_owned());
                }
                edit::put(without, path, server)
            }
            Kind::Hooks(name) => {
                let command = calls.line(&["hook", name]);
                if installed(before, name) == vec![command.clone(); moments(name).len()] {
                    return Some(before.to_owned());
                }
                moments(name).iter().try_fold(without.to_owned(), |text, moment| {
                    let call = json!({"type": "command", "command": command, "timeout": TIMEOUT_S});
                    let group = if *moment == Moment::PostToolUse {
                        json!({"matcher": "*", "hooks": [call]})
                    } else {
                        json!({"hooks": [call]})
                    };
                    edit::push(&text, &["hooks", moment.as_str()], &group)
                })
            }
            Kind::Toml => None,
        }
    }

    fn without(&self, text: &str) -> String {
        match &self.kind {
            Kind::Server(path, _) => {
                let out = edit::remove(text, path);
                tidied(&out, &path[..1])
            }
            Kind::Hooks(_) => {
                let out = Moment::ALL.iter().fold(text.to_owned(), |text, moment| {
                    let path = ["hooks", moment.as_str()];
                    let cut = edit::remove_items(&text, &path, |group| !ours(group).is_empty());
                    if cut == text { text } else { tidied(&cut, &path) }
                });
                if out == text { out } else { tidied(&out, &["hooks"]) }
            }
            Kind::Toml => text.to_owned(),
        }
    }
}

/// The moments at which an agent calls.
fn moments(name: &str) -> Vec<Moment> {
    // Codex knows no end of a session.
    Moment::ALL.into_iter().filter(|moment| name != "codex" || *moment != Moment::SessionEnd).collect()
}

/// Our commands in a group of hooks.
fn ours(group: &Value) -> Vec<String> {
    let hooks = group["hooks"].as_array().into_iter().flatten();
    let commands = hooks.filter_map(|hook| hook["command"].as_str());
    let is_ours = |command: &&str| {
        let words = command.split_whitespace().collect::<Vec<_>>();
        command.contains("neap")
            && words.windows(2).any(|two| two[0] == "hook" && matches!(two[1], "claude-code" | "codex"))
    };
    commands.filter(is_ours).map(str::to_owned).collect()
}

/// Our commands in a file, moment by moment.
fn installed(text: &str, name: &str) -> Vec<String> {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let of = |moment: &Moment| value["hooks"][moment.as_str()].as_array().cloned().unwrap_or_default();
    moments(name).iter().flat_map(of).flat_map(|group| ours(&group)).collect()
}

/// Without what holds nothing any more.
fn tidied(text: &str, path: &[&str]) -> String {
    let is_empty =
        edit::find(text, path).is_some_and(|at| text[at].split_whitespace().collect::<String>().len() == 2);
    if is_empty { edit::remove(text, path) } else { text.to_owned() }
}

fn toml_file(path: &Path, before: &str, calls: &Calls, installs: bool) -> Result<Option<String>, Failure> {
    let wrong = |what: String| {
        Failure::new(format!("{} {what}", path.display()))
            .hint("nothing was changed; mend the file, or add what `--print` shows by hand")
    };
    let read = |text: &str| {
        toml::from_str::<toml::Table>(text)
            .map_err(|error| wrong(format!("cannot be read as TOML: {}", error.message())))
    };
    read(before)?;
    let without = match (before.find(BEGIN), before.find(END)) {
        (Some(begin), Some(end)) if begin < end => {
            let rest = before[end + END.len()..].strip_prefix('\n').unwrap_or(&before[end + END.len()..]);
            let head = before[..begin].strip_suffix('\n').unwrap_or(&before[..begin]);
            format!("{head}{rest}")
        }
        _ => before.to_owned(),
    };
    if !installs {
        return Ok((!without.is_empty()).then_some(without));
    }
    let foreign = read(&without)?;
    if foreign.get("mcp_servers").and_then(|servers| servers.get("neap")).is_some() {
        return Err(wrong("has an MCP server called neap that was not written by `neap install`".to_owned()));
    }
    // A string, or a list of them, is written alike in JSON and TOML.
    let (program, args) = (json!(calls.program.to_string_lossy()), json!(calls.args(&["mcp"])));
    let gap = if without.is_empty() {
        ""
    } else {
        "
"
    };
    let block = format!("{BEGIN}\n[mcp_servers.neap]\ncommand = {program}\nargs = {args}\n{END}\n");
    let after = format!("{without}{gap}{block}");
    // Everything else must say what it said.
    let mut said = read(&after)?;
    if let Some(servers) = said.get_mut("mcp_servers").and_then(toml::Value::as_table_mut) {
        servers.remove("neap");
        if servers.is_empty() && foreign.get("mcp_servers").is_none() {
            said.remove("mcp_servers");
        }
    }
    if said != foreign { Err(wrong("cannot be added to at its end".to_owned())) } else { Ok(Some(after)) }
}
