//! Logs errors of hooks, which cannot report them to anybody.

use std::path::{Path, PathBuf};

use neap_core::text::secrets::mask;
use neap_engine::{Clock, SystemClock};

use crate::env::DataDir;
use crate::{files, out};

/// A longer log is rotated.
const BYTES_MAX: u64 = 64 * 1_024;
const FAULT_CHARS_MAX: usize = 400;
const SHOWN_MAX: usize = 20;

fn log_file(data: &DataDir) -> PathBuf {
    data.hooks_folder().join("faults.log")
}

fn rotated_file(data: &DataDir) -> PathBuf {
    data.hooks_folder().join("faults.old.log")
}

/// Appends an error; a failure to do so is ignored. Safe for concurrent processes.
pub(super) fn append(data: &DataDir, fault: &str) {
    let fault = out::shorten(&mask(fault).0, FAULT_CHARS_MAX).replace(['\n', '\r'], " ");
    let line = format!("{} {fault}\n", out::time(SystemClock.now()));
    let appended =
        files::create_dir(&data.hooks_folder()).and_then(|()| files::append(&log_file(data), line.as_bytes()));
    if appended.is_ok_and(|length| length > BYTES_MAX) {
        let _ = files::rename(&log_file(data), &rotated_file(data));
    }
}

fn all_lines(data: &DataDir) -> Vec<String> {
    [read(&rotated_file(data)), read(&log_file(data))]
        .iter()
        .flat_map(|log| log.lines())
        .map(str::to_owned)
        .collect()
}

pub(crate) fn latest(data: &DataDir) -> Vec<String> {
    let mut all = all_lines(data);
    all.split_off(all.len().saturating_sub(SHOWN_MAX))
}

pub(crate) fn latest_and_count(data: &DataDir) -> Option<(String, usize)> {
    let mut all = all_lines(data);
    let count = all.len();
    Some((all.pop()?, count))
}

fn read(path: &Path) -> String {
    files::read_best_effort(path).map_or_else(String::new, |bytes| String::from_utf8_lossy(&bytes).into_owned())
}
