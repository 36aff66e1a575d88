//! Of each agent: whether it is here, whether it starts Neap, and when it was last heard.

use std::path::{Path, PathBuf};

use clap::ValueEnum as _;
use neap_core::base::ids::Stamp;
use serde::Serialize;

use super::agents::{config_files, described, id, is_found};
use super::command::NeapCommand;
use super::config_file::{ConfigFile, Entry};
use super::plan::{read_text, real_path};
use crate::cli::InstallTarget;
use crate::env::{self, DataDir};
use crate::out::{self, Failure};
use crate::{heard, table};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct AgentStatus {
    /// The name in commands.
    pub(crate) agent: String,
    pub(crate) name: &'static str,
    pub(crate) found: bool,
    pub(crate) connected: Connection,
    /// The program that its files name.
    pub(crate) program: Option<String>,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) heard: Option<Stamp>,
    /// What is wrong, and the next step.
    pub(crate) problem: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Connection {
    No,
    /// Some of its files name Neap.
    Partly,
    /// The program that its files name is gone.
    Broken,
    /// By the agent's own switch.
    Off,
    Yes,
}

impl Connection {
    fn as_str(self) -> &'static str {
        match self {
            Connection::No => "no",
            Connection::Partly => "partly",
            Connection::Broken => "program gone",
            Connection::Off => "switched off",
            Connection::Yes => "yes",
        }
    }
}

impl AgentStatus {
    /// Whether there is anything to say of it on this machine.
    pub(crate) fn is_here(&self) -> bool {
        self.found || self.connected != Connection::No
    }

    /// One line of a report.
    pub(crate) fn line(&self) -> String {
        let program = self.program.as_deref().map(|program| format!(" to {}", out::escape_control(program)));
        let connected = match self.connected {
            Connection::No => format!("not connected: `neap install {}` connects it", self.agent),
            Connection::Partly => {
                format!("connected in part: `neap install {}` connects the rest", self.agent)
            }
            Connection::Broken => format!("connected{}, which is gone", program.unwrap_or_default()),
            Connection::Off => "connected, but switched off in its settings".to_owned(),
            Connection::Yes => format!("connected{}", program.unwrap_or_default()),
        };
        let heard = match (self.heard, self.connected) {
            (Some(at), _) => format!(", last heard {}", out::time(at)),
            (None, Connection::No) => String::new(),
            (None, _) => ", never heard".to_owned(),
        };
        format!("{}: {connected}{heard}", self.name)
    }
}

/// Of all agents, found or not.
pub(crate) fn all(data: &DataDir) -> Vec<AgentStatus> {
    InstallTarget::value_variants().iter().map(|agent| status(*agent, data)).collect()
}

fn status(agent: InstallTarget, data: &DataDir) -> AgentStatus {
    // Only what is in the files counts here, not what would be written.
    let command = NeapCommand { program: PathBuf::new(), options: Vec::new() };
    let files = config_files(agent, &command).unwrap_or_default();
    let mut problem = None;
    let mut entries = Vec::new();
    for file in &files {
        match entry(file) {
            Ok(entry) => entries.extend(entry),
            Err(why) => problem = problem.or(Some(why)),
        }
    }
    let id = id(agent);
    let missing = entries.iter().find(|entry| env::find_program(Path::new(&entry.program)).is_none());
    if let Some(Entry { program, .. }) = missing {
        let what = format!("its files name {program}, which is not there; run `neap install {id}` again");
        problem = Some(what);
    }
    let connected = match entries.len() {
        0 => Connection::No,
        _ if missing.is_some() => Connection::Broken,
        _ if entries.iter().any(|entry| entry.is_off) => Connection::Off,
        count if count < files.len() => Connection::Partly,
        _ => Connection::Yes,
    };
    AgentStatus {
        name: described(agent).name,
        found: is_found(agent),
        connected,
        program: entries.first().map(|entry| entry.program.clone()),
        files: files.into_iter().map(|file| file.path).collect(),
        heard: heard::last(data, &id),
        problem,
        agent: id,
    }
}

/// The error is a whole sentence.
fn entry(file: &ConfigFile) -> Result<Option<Entry>, String> {
    let text = real_path(&file.path).and_then(|path| read_text(&path)).map_err(|failure| failure.to_string())?;
    let Some(text) = text else { return Ok(None) };
    file.entry(&text).map_err(|why| format!("{} {why}", file.path.display()))
}

pub(super) fn print(data: &DataDir, json: bool) -> Result<(), Failure> {
    let all = all(data);
    if json {
        return out::print_json(&all);
    }
    let row = |agent: &AgentStatus| {
        let heard = agent.heard.map_or_else(|| "never".to_owned(), out::time);
        let found = if agent.found { "yes" } else { "no" };
        let files: Vec<String> =
            agent.files.iter().map(|path| out::escape_control(&path.to_string_lossy()).into_owned()).collect();
        vec![
            agent.name.to_owned(),
            agent.agent.clone(),
            found.to_owned(),
            agent.connected.as_str().to_owned(),
            if agent.connected == Connection::No && agent.heard.is_none() { "–".to_owned() } else { heard },
            files.join(" "),
        ]
    };
    let rows: Vec<Vec<String>> = all.iter().map(row).collect();
    out::print_text(table::table(&["agent", "name", "found", "connected", "last heard", "files"], &rows));
    for agent in all.iter().filter(|agent| agent.found) {
        if let Some(problem) = &agent.problem {
            out::print_line(format!("{}: {}", agent.name, out::escape_control(problem)));
        }
    }
    out::print_line("`neap install NAME` connects an agent, `neap install --all` all that are found");
    Ok(())
}
