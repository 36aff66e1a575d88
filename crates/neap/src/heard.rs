//! When each agent was last heard: a call of its hooks, or of the MCP server that it started.

use std::path::PathBuf;

use jiff::Timestamp;
use neap_core::base::ids::Stamp;

use crate::env::DataDir;
use crate::files;

/// What is newer than this is not written again: calls may come by the hundred.
const KEPT_MS: i64 = 10_000;

/// Notes that an agent was heard now. Whatever goes wrong, the call that is being answered continues.
pub(crate) fn note(data: &DataDir, agent: &str) {
    let Some(path) = file(data, agent) else { return };
    let now = Timestamp::now();
    let age = last(data, agent).map(|Stamp(at)| now.as_millisecond() - at);
    if age.is_none_or(|age| !(0..KEPT_MS).contains(&age)) {
        let _ = files::write_best_effort(&path, now.to_string().as_bytes());
    }
}

/// `None` if it never was.
pub(crate) fn last(data: &DataDir, agent: &str) -> Option<Stamp> {
    let bytes = files::read_best_effort(&file(data, agent)?)?;
    let at: Timestamp = std::str::from_utf8(&bytes).ok()?.trim().parse().ok()?;
    Some(Stamp(at.as_millisecond()))
}

/// Only a plain name names a file.
fn file(data: &DataDir, agent: &str) -> Option<PathBuf> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (!agent.is_empty() && agent.len() <= 40 && agent.chars().all(is_plain))
        .then(|| data.heard_folder().join(agent))
}
