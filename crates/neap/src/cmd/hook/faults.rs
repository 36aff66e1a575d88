//! What went wrong in hooks, where nobody could be told.

use std::path::{Path, PathBuf};

use neap_core::secrets::mask;
use neap_engine::{Clock, SystemClock};

use crate::env::DataDir;
use crate::{files, out};

/// A log that is longer is set aside, and a new one begun; in bytes.
const BYTES_MAX: u64 = 64 * 1_024;
/// Longest fault, in characters.
const FAULT_CHARS_MAX: usize = 400;
/// Faults that are shown, at most.
const SHOWN: usize = 20;

fn log(data: &DataDir) -> PathBuf {
    data.hooks().join("faults.log")
}

fn older(data: &DataDir) -> PathBuf {
    data.hooks().join("faults.old.log")
}

/// Notes a fault; where even that fails, nobody is told. Many processes may do so at once.
pub(super) fn note(data: &DataDir, fault: &str) {
    let fault = out::shorten(&mask(fault).0, FAULT_CHARS_MAX).replace(['\n', '\r'], " ");
    let line = format!("{} {fault}\n", out::time(SystemClock.now()));
    let noted = files::create_dir(&data.hooks()).and_then(|()| files::append(&log(data), line.as_bytes()));
    if noted.is_ok_and(|length| length > BYTES_MAX) {
        let _ = files::rotate(&log(data), &older(data));
    }
}

/// Those that are kept, oldest first.
fn all(data: &DataDir) -> Vec<String> {
    [read(&older(data)), read(&log(data))].iter().flat_map(|log| log.lines()).map(str::to_owned).collect()
}

/// The latest, oldest first.
pub(crate) fn latest(data: &DataDir) -> Vec<String> {
    let mut all = all(data);
    all.split_off(all.len().saturating_sub(SHOWN))
}

/// The latest, and how many are kept.
pub(crate) fn last_of(data: &DataDir) -> Option<(String, usize)> {
    let mut all = all(data);
    let count = all.len();
    Some((all.pop()?, count))
}

fn read(path: &Path) -> String {
    files::read_note(path).map_or_else(String::new, |bytes| String::from_utf8_lossy(&bytes).into_owned())
}
