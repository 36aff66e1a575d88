//! The seeds' session folder: a live view of a session that is readable by eye, grep and git, and the import of
//! such a folder made by another tool.
//!
//! ```text
//! sessions/<session>/raw.jsonl            what was said outside efforts
//!                    efforts/0001.jsonl   what was said in each effort, numbered in the order they were opened
//!                    manifest.yaml        the efforts
//!                    expanded.json        which of them are expanded, and when each was last referenced
//!                    session_state.json   the turn count
//! ```
//!
//! A view: no decision ever reads it (I4). It may lag, and a lost or damaged one is made again from the stream.

mod compare;
mod cursor;
mod import;
mod known;
mod lines;
mod manifest;
mod names;
mod rebuild;
mod surplus;
mod view;
mod views;

pub use compare::compare;
pub use import::{ImportError, read_folder};
pub use known::newer_folders;
pub(crate) use known::{AllShown, Folders, Shown, look};
pub use rebuild::{Rebuilt, rebuild, unknown_folders};
pub use surplus::Surplus;
pub use view::write_all;
pub use views::FolderViews;

use std::path::Path;

use neap_core::ids::Stamp;

use crate::StoreError;

const AMBIENT_FILE: &str = "raw.jsonl";
const EFFORTS_DIR: &str = "efforts";
const MANIFEST_FILE: &str = "manifest.yaml";
const EXPANDED_FILE: &str = "expanded.json";
const STATE_FILE: &str = "session_state.json";
const CURSOR_FILE: &str = ".view.json";
const LOCK_FILE: &str = ".view.lock";

/// A moment as ISO 8601 in UTC.
pub(crate) fn iso(at: Stamp) -> String {
    jiff::Timestamp::from_millisecond(at.0).map_or_else(|_| String::new(), |at| at.to_string())
}

/// A moment for a name: digits, and the letters of ISO 8601.
pub fn compact(at: Stamp) -> String {
    iso(at).chars().filter(char::is_ascii_alphanumeric).take("20260215T180000".len()).collect()
}

/// An error of the file system as one of the store.
fn named(path: &Path, error: &std::io::Error) -> StoreError {
    let why = |path: std::path::PathBuf| format!("the session folder {}: {error}", path.display());
    crate::files::named(path, error, |path| StoreError::Failed(why(path)))
}
