//! One of an agent's files: what Neap's part of it is, put in and taken out.

use std::collections::BTreeMap;
use std::path::PathBuf;

use neap_model::hook::HookKind;
use serde_json::{Value, json};

use super::before::FileBefore;
use super::command::{NeapCommand, first_word};
use super::json_edit::JsonText;
use super::json_tree::{Dialect, without_mark};
use super::{toml_block, yaml_block};
use crate::out::Failure;

/// How long an agent waits for a hook; hooks end long before.
const TIMEOUT_S: u64 = 5;

pub(super) struct ConfigFile {
    pub(super) path: PathBuf,
    pub(super) format: Format,
    pub(super) part: Part,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Json(Dialect),
    Toml,
    Yaml,
}

pub(super) enum Part {
    /// Hooks of the named agent; only in JSON.
    Hooks(&'static str),
    /// An MCP server: its path of keys, and its value.
    Server(&'static [&'static str], Value),
}

/// What an agent's file says of Neap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) program: String,
    /// Whether the agent's own switch for the server is off.
    pub(super) is_off: bool,
}

impl ConfigFile {
    /// What the file says of Neap, whoever wrote it. The error completes "FILE …".
    pub(super) fn entry(&self, text: &str) -> Result<Option<Entry>, String> {
        let server = match (&self.part, self.format) {
            (_, Format::Json(_)) if without_mark(text).trim().is_empty() => None,
            (Part::Hooks(name), Format::Json(dialect)) => {
                let line = installed_commands(&parse(text, dialect)?.value(), name).into_iter().next();
                return Ok(line.map(|line| Entry { program: first_word(&line), is_off: false }));
            }
            (Part::Hooks(_), Format::Toml | Format::Yaml) => None,
            (Part::Server(path, _), Format::Json(dialect)) => parse(text, dialect)?.value_at(path),
            (Part::Server(path, _), Format::Toml) => toml_block::value_at(text, path)?,
            (Part::Server(path, _), Format::Yaml) => yaml_block::value_at(text, path)?,
        };
        let Some(server) = server else { return Ok(None) };
        let command = match server["command"].as_array() {
            Some(words) => words.first().and_then(Value::as_str),
            None => server["command"].as_str(),
        };
        let is_off = server["disabled"] == true || server["enabled"] == false;
        Ok(Some(Entry { program: command.unwrap_or_default().to_owned(), is_off }))
    }

    /// Whether there is something to take out.
    pub(super) fn has_neap(&self, text: &str) -> bool {
        match (&self.part, self.format) {
            (Part::Server(path, _), Format::Json(dialect)) => {
                parse(text, dialect).is_ok_and(|json| json.value_at(path).is_some())
            }
            (Part::Hooks(_), Format::Json(dialect)) => parse(text, dialect).is_ok_and(|mut json| {
                HookKind::ALL.iter().any(|event| json.remove_items(&["hooks", event.as_str()], is_own_group))
            }),
            (_, Format::Toml) => toml_block::has_neap(text),
            (Part::Server(path, _), Format::Yaml) => {
                yaml_block::value_at(text, path).is_ok_and(|found| found.is_some())
            }
            (Part::Hooks(_), Format::Yaml) => false,
        }
    }

    /// What is needed to leave the file as it was.
    pub(super) fn before(&self, text: Option<&str>) -> FileBefore {
        let mut containers = BTreeMap::new();
        match (self.format, text) {
            (Format::Json(dialect), Some(text)) => {
                if let Ok(json) = parse(text, dialect) {
                    for path in self.json_containers() {
                        if let Some((whole, is_empty)) = json.container(&path) {
                            containers.insert(path.join("/"), is_empty.then(|| whole.to_owned()));
                        }
                    }
                }
            }
            (Format::Yaml, Some(text)) => {
                for path in self.containers() {
                    if let Some(line) = yaml_block::group_line(text, path[0]) {
                        containers.insert(path.join("/"), line);
                    }
                }
            }
            (Format::Toml, _) | (_, None) => {}
        }
        FileBefore::new(text, containers)
    }

    /// What Neap's entries are put into, the innermost first.
    fn containers(&self) -> Vec<Vec<&'static str>> {
        match &self.part {
            Part::Server(path, _) => (1..path.len()).rev().map(|length| path[..length].to_vec()).collect(),
            Part::Hooks(_) => {
                let events = HookKind::ALL.iter().map(|event| vec!["hooks", event.as_str()]);
                events.chain([vec!["hooks"]]).collect()
            }
        }
    }

    /// And the outermost object, which comments may surround.
    fn json_containers(&self) -> Vec<Vec<&'static str>> {
        self.containers().into_iter().chain([Vec::new()]).collect()
    }

    /// The file with or without Neap; `None` if the file should not exist. `was`: what is known of it without Neap.
    pub(super) fn updated_text(
        &self,
        before: Option<&str>,
        was: Option<&FileBefore>,
        command: &NeapCommand,
        installs: bool,
    ) -> Result<Option<String>, Failure> {
        let text = before.unwrap_or_default();
        let after = match (self.format, &self.part) {
            (Format::Json(dialect), _) => self.updated_json(text, dialect, was, command, installs)?,
            (Format::Toml, Part::Server(path, server)) => {
                toml_block::updated(text, path, installs.then_some(server)).map_err(|why| self.refused(&why))?
            }
            (Format::Yaml, Part::Server(path, server)) => {
                if installs && yaml_block::value_at(text, path).is_ok_and(|found| found.as_ref() == Some(server)) {
                    return Ok(Some(text.to_owned()));
                }
                let group = was.and_then(|was| was.container(path[0]));
                let without = yaml_block::without_server(text, path, group).map_err(|why| self.refused(&why))?;
                match installs {
                    true => yaml_block::with_server(&without, path, server).map_err(|why| self.refused(&why))?,
                    false => without,
                }
            }
            (Format::Toml | Format::Yaml, Part::Hooks(_)) => text.to_owned(),
        };
        Ok(if installs { Some(after) } else { FileBefore::restore_file(was, after) })
    }

    fn updated_json(
        &self,
        text: &str,
        dialect: Dialect,
        was: Option<&FileBefore>,
        command: &NeapCommand,
        installs: bool,
    ) -> Result<String, Failure> {
        let blank = format!("{text}{{}}\n");
        let is_blank = without_mark(text).trim().is_empty();
        // A blank file keeps its byte order mark alone.
        let text = if is_blank { blank.trim_start_matches([' ', '\t', '\r', '\n']) } else { text };
        let json = parse(text, dialect).and_then(|json| match json.is_object() {
            true => Ok(json),
            false => Err("cannot be read as JSON: it is not an object".to_owned()),
        });
        let json = json.map_err(|why| self.refused(&why))?;
        if installs && self.is_installed(&json, command) {
            return Ok(text.to_owned());
        }
        let foreign = self.foreign(&json);
        let mut after = json;
        self.take_out(&mut after, was);
        if installs && !(self.put_in(&mut after, command) && self.is_installed(&after, command)) {
            let place = self.containers().pop().unwrap_or_default().join(".");
            return Err(Failure::new(format!(
                "{} has another value where Neap's entry belongs",
                self.path.display()
            ))
            .hint(format!("nothing was changed; check \"{place}\" in it")));
        }
        if self.foreign(&after) == foreign {
            Ok(after.into_text())
        } else {
            Err(self.refused("would change its meaning if Neap's entry were put in or taken out"))
        }
    }

    /// What is not ours.
    fn foreign(&self, json: &JsonText) -> Value {
        let mut json = json.clone();
        self.take_out(&mut json, None);
        self.containers().iter().for_each(|path| FileBefore::restore_container(None, &mut json, path));
        json.value()
    }

    fn refused(&self, why: &str) -> Failure {
        Failure::new(format!("{} {why}", self.path.display()))
            .hint("nothing was changed; fix the file, or add what `--print` shows by hand")
    }

    fn is_installed(&self, json: &JsonText, command: &NeapCommand) -> bool {
        match &self.part {
            Part::Server(path, server) => json.value_at(path).as_ref() == Some(server),
            Part::Hooks(name) => {
                let line = command.shell_line(&["hook", name]);
                installed_commands(&json.value(), name) == vec![line; hook_events(name).len()]
            }
        }
    }

    fn put_in(&self, json: &mut JsonText, command: &NeapCommand) -> bool {
        match &self.part {
            Part::Server(path, server) => json.set(path, server),
            Part::Hooks(name) => {
                let line = command.shell_line(&["hook", name]);
                hook_events(name).iter().all(|event| {
                    let call = json!({"type": "command", "command": line, "timeout": TIMEOUT_S});
                    let group = if *event == HookKind::PostToolUse {
                        json!({"matcher": "*", "hooks": [call]})
                    } else {
                        json!({"hooks": [call]})
                    };
                    json.push(&["hooks", event.as_str()], &group)
                })
            }
        }
    }

    fn take_out(&self, json: &mut JsonText, was: Option<&FileBefore>) {
        let mut is_changed = match &self.part {
            Part::Server(path, _) => json.remove(path),
            Part::Hooks(_) => false,
        };
        for path in self.json_containers() {
            if matches!(self.part, Part::Hooks(_)) && path.len() == 2 {
                if !json.remove_items(&path, is_own_group) {
                    continue;
                }
                is_changed = true;
            }
            if is_changed {
                FileBefore::restore_container(was, json, &path);
            }
        }
    }
}

fn parse(text: &str, dialect: Dialect) -> Result<JsonText, String> {
    JsonText::new(text.to_owned(), dialect).map_err(|why| format!("cannot be read as JSON: {why}"))
}

fn hook_events(name: &str) -> Vec<HookKind> {
    // Codex has no session-end event.
    HookKind::ALL.into_iter().filter(|event| name != "codex" || *event != HookKind::SessionEnd).collect()
}

fn is_own_group(group: &Value) -> bool {
    !own_commands(group).is_empty()
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

fn installed_commands(value: &Value, name: &str) -> Vec<String> {
    let groups = |event: &HookKind| value["hooks"][event.as_str()].as_array().cloned().unwrap_or_default();
    hook_events(name).iter().flat_map(groups).flat_map(|group| own_commands(&group)).collect()
}
