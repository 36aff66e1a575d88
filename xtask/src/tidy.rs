//! Style that matters is a test. What is checked here is what a reader would stumble over.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{edges, root};

/// Longest source file, in lines; tests may be longer, since they are lists.
const LINES_MAX: usize = 500;
/// Longest file of tests.
const TEST_LINES_MAX: usize = 700;
/// Names that say nothing.
const EMPTY_NAMES: [&str; 5] = ["utils", "util", "common", "helpers", "misc"];

/// Fails with everything that is not tidy.
pub(crate) fn run() -> Result<()> {
    let mut found = edges::violations()?;
    for path in tracked()? {
        let full = root().join(&path);
        let Ok(text) = std::fs::read_to_string(&full) else { continue };
        if path.extension().is_some_and(|ending| ending == "rs") {
            found.extend(source(&path, &text));
        }
        found.extend(any_text(&path, &text));
    }
    if found.is_empty() {
        println!("── tidy: clean");
        return Ok(());
    }
    for line in &found {
        eprintln!("{line}");
    }
    bail!("{} places are not tidy", found.len())
}

fn source(path: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut say = |what: String| found.push(format!("{}: {what}", path.display()));
    let is_test = path.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "benches");
    let (lines, max) = (text.lines().count(), if is_test { TEST_LINES_MAX } else { LINES_MAX });
    if lines > max {
        say(format!("{lines} lines; split it, {max} is the most"));
    }
    if !text.starts_with("//!") {
        say("begins without a //! line that says what it is for".to_owned());
    }
    let names = path.iter().map(|part| part.to_string_lossy().to_lowercase().replace(".rs", ""));
    if names.into_iter().any(|name| EMPTY_NAMES.contains(&name.as_str()) || name.ends_with("_v2")) {
        say("the name does not say what is in it".to_owned());
    }
    for (at, line) in text.lines().enumerate() {
        for mark in [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX:")] {
            if line.contains(mark) {
                say(format!("line {}: {mark} belongs into an issue", at + 1));
            }
        }
        if line.contains(concat!("#[ig", "nore")) {
            say(format!("line {}: a test that does not run is not a test", at + 1));
        }
    }
    found
}

/// No text speaks of the machine it was written on.
fn any_text(path: &Path, text: &str) -> Vec<String> {
    let homes = [concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/home/", "me/")];
    let slips = text.lines().enumerate().filter(|(_, line)| homes.iter().any(|home| line.contains(home)));
    slips.map(|(at, _)| format!("{}: line {}: a path of one machine", path.display(), at + 1)).collect()
}

fn tracked() -> Result<Vec<PathBuf>> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .context("cannot run git ls-files")?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(PathBuf::from).collect())
}
