//! The session folder: a live view of a session, readable by eye, grep and git; also the import of such a folder
//! from another tool.
//!
//! ```text
//! sessions/<session>/raw.jsonl            messages outside efforts
//!                    efforts/0001.jsonl   messages of each effort, numbered in the order of opening
//!                    manifest.yaml        the efforts
//!                    expanded.json        which efforts are expanded, and when each was last referenced
//!                    session_state.json   the turn count
//! ```
//!
//! It is a view: no decision about a context reads it (I4). The store reads only its cursor and whether it has
//! content, to notice that events were lost. It may lag, and a lost or damaged one is rebuilt from the stream.

mod compare;
mod cursor;
mod folder_state;
mod import;
mod log_lines;
mod log_names;
mod manifest;
mod rebuild;
mod surplus;
mod view_worker;
mod view_writer;

pub use compare::compare;
pub use folder_state::newer_folders;
pub use folder_state::{FolderCursor, FolderCursors, FolderSurvey, survey_folders};
pub use import::{ImportError, read_folder};
pub use rebuild::{FolderRebuild, rebuild, unknown_folders};
pub use surplus::SurplusLog;
pub use view_worker::FolderViews;
pub use view_writer::rewrite_folder;

use std::path::Path;

use neap_core::base::ids::Stamp;

use crate::StoreError;

const AMBIENT_FILE: &str = "raw.jsonl";
const EFFORTS_DIR: &str = "efforts";
const MANIFEST_FILE: &str = "manifest.yaml";
const EXPANDED_FILE: &str = "expanded.json";
const STATE_FILE: &str = "session_state.json";
const CURSOR_FILE: &str = ".view.json";
const LOCK_FILE: &str = ".view.lock";

/// ISO 8601 in UTC.
pub fn iso_timestamp(at: Stamp) -> String {
    jiff::Timestamp::from_millisecond(at.0).map_or_else(|_| String::new(), |at| at.to_string())
}

/// A timestamp for file names: only the digits and letters of ISO 8601.
pub fn compact_timestamp(at: Stamp) -> String {
    iso_timestamp(at).chars().filter(char::is_ascii_alphanumeric).take("20260215T180000".len()).collect()
}

fn folder_error(path: &Path, error: &std::io::Error) -> StoreError {
    let why = |path: std::path::PathBuf| format!("the session folder {}: {error}", path.display());
    crate::files::io_store_error(path, error, |path| StoreError::Failed(why(path)))
}
