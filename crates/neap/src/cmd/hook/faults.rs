//! What went wrong in hooks, where nobody could be told.

use neap_core::secrets::mask;
use neap_engine::{Clock, SystemClock};

use crate::env::DataDir;
use crate::{files, out};

/// The log is cut to its newer half beyond this, in bytes.
const BYTES_MAX: usize = 64 * 1_024;
/// Longest fault, in characters.
const FAULT_CHARS_MAX: usize = 400;
/// Faults that are shown, at most.
const SHOWN: usize = 20;

/// Notes a fault; where even that fails, nobody is told.
pub(super) fn note(data: &DataDir, fault: &str) {
    let path = data.hooks().join("faults.log");
    let mut log = std::fs::read_to_string(&path).unwrap_or_default();
    if log.len() > BYTES_MAX {
        let start = log.ceil_char_boundary(log.len() / 2);
        log = log[start..].split_once('\n').map_or_else(String::new, |(_, rest)| rest.to_owned());
    }
    let fault = mask(fault).0;
    log.push_str(&format!("{} {}\n", out::time(SystemClock.now()), out::shorten(&fault, FAULT_CHARS_MAX)));
    let _ = files::create_dir(&data.hooks()).and_then(|()| files::replace(&path, log.as_bytes()));
}

/// The latest, oldest first.
pub(crate) fn latest(data: &DataDir) -> Vec<String> {
    let log = std::fs::read_to_string(data.hooks().join("faults.log")).unwrap_or_default();
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(SHOWN)..].iter().map(|line| (*line).to_owned()).collect()
}
