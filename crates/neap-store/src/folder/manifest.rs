//! The small files, written whole from the state each time.

use std::collections::BTreeMap;

use neap_core::session::effort::Effort;
use neap_core::session::state::SessionState;
use serde::Serialize;

use super::log_names::LogNames;
use super::{EXPANDED_FILE, MANIFEST_FILE, STATE_FILE, iso_timestamp};
use crate::StoreError;

#[derive(Serialize)]
struct Manifest<'a> {
    efforts: Vec<ManifestEntry<'a>>,
}

#[derive(Serialize)]
struct ManifestEntry<'a> {
    id: &'a str,
    status: &'static str,
    active: bool,
    summary: Option<&'a str>,
    raw_file: String,
    created: String,
    updated: String,
}

#[derive(Serialize)]
struct ExpandedFile<'a> {
    expanded: Vec<&'a str>,
    expanded_at: BTreeMap<&'a str, String>,
    last_referenced_turn: BTreeMap<&'a str, u64>,
    summary_last_referenced_turn: BTreeMap<&'a str, u64>,
}

#[derive(Serialize)]
struct StateFile {
    turn_count: u64,
    updated: String,
}

pub(super) fn small_files(
    state: &SessionState,
    names: &LogNames,
) -> Result<BTreeMap<&'static str, Vec<u8>>, StoreError> {
    let yaml = |e: serde_saphyr::ser::Error| StoreError::Failed(format!("the manifest cannot be written: {e}"));
    let json = |e: serde_json::Error| StoreError::Failed(format!("a view cannot be written: {e}"));
    let mut expanded = serde_json::to_vec_pretty(&expanded(state)).map_err(json)?;
    expanded.push(b'\n');
    let turns = StateFile { turn_count: state.turn().0, updated: iso_timestamp(state.head().updated) };
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
    let active = state.active_effort().map(|effort| &effort.id);
    let entry = |effort: &'_ Effort| ManifestEntry {
        active: active == Some(&effort.id),
        status: effort.status.as_str(),
        raw_file: names.log_path(&effort.id),
        created: iso_timestamp(effort.created),
        updated: iso_timestamp(effort.updated),
        id: "",
        summary: None,
    };
    let entries = efforts.into_iter().map(|effort| ManifestEntry {
        id: effort.id.as_str(),
        summary: effort.summary.as_ref().map(|summary| summary.text.as_str()),
        ..entry(effort)
    });
    Manifest { efforts: entries.collect() }
}

fn expanded(state: &SessionState) -> ExpandedFile<'_> {
    let referenced = |effort: &'_ Effort| effort.last_referenced.0;
    let expanded = || state.expanded_efforts();
    let concluded = state.efforts().filter(|effort| effort.is_concluded());
    ExpandedFile {
        expanded: expanded().map(|effort| effort.id.as_str()).collect(),
        expanded_at: expanded()
            .filter_map(|effort| effort.expanded.map(|since| (effort.id.as_str(), iso_timestamp(since.at))))
            .collect(),
        last_referenced_turn: expanded().map(|effort| (effort.id.as_str(), referenced(effort))).collect(),
        summary_last_referenced_turn: concluded.map(|effort| (effort.id.as_str(), referenced(effort))).collect(),
    }
}
