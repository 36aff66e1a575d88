//! The small files: made whole from the state each time.

use std::collections::BTreeMap;

use neap_core::effort::Effort;
use neap_core::state::SessionState;
use serde::Serialize;

use super::names::LogNames;
use super::{EXPANDED_FILE, MANIFEST_FILE, STATE_FILE, iso};
use crate::StoreError;

#[derive(Serialize)]
struct Manifest<'a> {
    efforts: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    id: &'a str,
    status: &'static str,
    active: bool,
    summary: Option<&'a str>,
    raw_file: String,
    created: String,
    updated: String,
}

#[derive(Serialize)]
struct Expanded<'a> {
    expanded: Vec<&'a str>,
    expanded_at: BTreeMap<&'a str, String>,
    last_referenced_turn: BTreeMap<&'a str, u64>,
    summary_last_referenced_turn: BTreeMap<&'a str, u64>,
}

#[derive(Serialize)]
struct State {
    turn_count: u64,
    updated: String,
}

/// The small files by name.
pub(super) fn small_files(
    state: &SessionState,
    names: &LogNames,
) -> Result<BTreeMap<&'static str, Vec<u8>>, StoreError> {
    let yaml = |e: serde_saphyr::ser::Error| StoreError::Failed(format!("the manifest cannot be written: {e}"));
    let json = |e: serde_json::Error| StoreError::Failed(format!("a view cannot be written: {e}"));
    let mut expanded = serde_json::to_vec_pretty(&expanded(state)).map_err(json)?;
    expanded.push(b'\n');
    let turns = State { turn_count: state.turn().0, updated: iso(state.head().updated) };
    let mut turns = serde_json::to_vec_pretty(&turns).map_err(json)?;
    turns.push(b'\n');
    Ok(BTreeMap::from([
        (MANIFEST_FILE, serde_saphyr::to_string(&manifest(state, names)).map_err(yaml)?.into_bytes()),
        (EXPANDED_FILE, expanded),
        (STATE_FILE, turns),
    ]))
}

fn manifest<'a>(state: &'a SessionState, names: &LogNames) -> Manifest<'a> {
    let mut efforts: Vec<&Effort> = state.efforts().collect();
    efforts.sort_by_key(|effort| effort.created);
    let active = state.active().map(|effort| &effort.id);
    let entry = |effort: &'_ Effort| Entry {
        active: active == Some(&effort.id),
        status: effort.status.as_str(),
        raw_file: names.file(&effort.id),
        created: iso(effort.created),
        updated: iso(effort.updated),
        id: "",
        summary: None,
    };
    let entries = efforts.into_iter().map(|effort| Entry {
        id: effort.id.as_str(),
        summary: effort.summary.as_ref().map(|summary| summary.text.as_str()),
        ..entry(effort)
    });
    Manifest { efforts: entries.collect() }
}

fn expanded(state: &SessionState) -> Expanded<'_> {
    let referenced = |effort: &'_ Effort| effort.last_referenced.0;
    let expanded = || state.expanded();
    let concluded = state.efforts().filter(|effort| effort.is_concluded());
    Expanded {
        expanded: expanded().map(|effort| effort.id.as_str()).collect(),
        expanded_at: expanded()
            .filter_map(|effort| effort.expanded.map(|since| (effort.id.as_str(), iso(since.at))))
            .collect(),
        last_referenced_turn: expanded().map(|effort| (effort.id.as_str(), referenced(effort))).collect(),
        summary_last_referenced_turn: concluded.map(|effort| (effort.id.as_str(), referenced(effort))).collect(),
    }
}
