//! Checks file lengths, module comments, file names, sleeps in tests, and other style that matters to readers.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{edges, rooms, root, sleeps};

/// In lines.
const LINES_MAX: usize = 500;
/// Tests are lists, so they may be longer.
const TEST_LINES_MAX: usize = 700;
/// File names that say nothing.
const BANNED_NAMES: [&str; 5] = ["utils", "util", "common", "helpers", "misc"];

/// Fails and lists every violation.
pub(crate) fn run() -> Result<()> {
    let mut found = edges::violations()?;
    let mut sources = Vec::new();
    for path in tracked_files()? {
        let full = root().join(&path);
        let Ok(text) = std::fs::read_to_string(&full) else { continue };
        found.extend(check_text(&path, &text));
        if path.extension().is_some_and(|extension| extension == "rs") {
            found.extend(check_source(&path, &text));
            found.extend(sleeps::violations(&path, &text));
            sources.push((path, text));
        }
    }
    found.extend(rooms::violations(&sources));
    if found.is_empty() {
        println!("── tidy: clean");
        return Ok(());
    }
    for line in &found {
        eprintln!("{line}");
    }
    bail!("{} places are not tidy", found.len())
}

fn check_source(path: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut report = |message: String| found.push(format!("{}: {message}", path.display()));
    let is_test = path.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "benches");
    let (lines, max) = (text.lines().count(), if is_test { TEST_LINES_MAX } else { LINES_MAX });
    if lines > max {
        report(format!("{lines} lines; split it, {max} is the most"));
    }
    if !text.starts_with("//!") {
        report("begins without a //! line that says what it is for".to_owned());
    }
    let names = path.iter().map(|part| part.to_string_lossy().to_lowercase().replace(".rs", ""));
    if names.into_iter().any(|name| BANNED_NAMES.contains(&name.as_str()) || name.ends_with("_v2")) {
        report("the name does not say what is in it".to_owned());
    }
    for (at, line) in text.lines().enumerate() {
        for mark in [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX:")] {
            if line.contains(mark) {
                report(format!("line {}: {mark} belongs into an issue", at + 1));
            }
        }
        if line.contains(concat!("#[ig", "nore")) {
            report(format!("line {}: a test that does not run is not a test", at + 1));
        }
    }
    found
}

/// No text may contain a path of the machine it was written on.
fn check_text(path: &Path, text: &str) -> Vec<String> {
    let homes = [concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/home/", "me/")];
    let matches = text.lines().enumerate().filter(|(_, line)| homes.iter().any(|home| line.contains(home)));
    matches.map(|(at, _)| format!("{}: line {}: a path of one machine", path.display(), at + 1)).collect()
}

fn tracked_files() -> Result<Vec<PathBuf>> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .context("cannot run git ls-files")?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(PathBuf::from).collect())
}
