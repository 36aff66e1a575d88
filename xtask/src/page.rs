//! Runs the tests of the page: its types, its rules in Node.js, and all of it in Chromium.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::root;
use crate::test::{make_once, run_ok, run_timed, test_files};

const NPM_PACKAGES: [&str; 3] = ["playwright-core@1.65.1", "typescript@7.0.2", "axe-core@4.14.0"];
const TOOLS: &str = "target/page";
const TESTS: &str = "crates/neap-server/ui-tests";
/// Each test file starts a browser.
const FILES_AT_A_TIME: &str = "--test-concurrency=2";

/// Runs once. Without Chromium, only an administrator can install it.
pub(crate) fn install() {
    let folder = root().join(TOOLS);
    let prefix = folder.to_string_lossy();
    let npm = ["install", "--prefix", &prefix, "--no-save", "--no-audit", "--no-fund", "--silent"];
    make_once(&folder, || {
        (is_installed("chromium") || install_chromium())
            && run_ok(Path::new("npm"), &[&npm[..], &NPM_PACKAGES].concat())
    });
}

fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|ran| ran.status.success())
}

fn install_chromium() -> bool {
    let id = Command::new("id").arg("-u").output();
    let is_root = id.is_ok_and(|ran| ran.stdout.trim_ascii() == b"0");
    let apt = Path::new("apt-get");
    is_root
        && run_ok(apt, &["update", "-qq"])
        && run_ok(apt, &["install", "-y", "-qq", "--no-install-recommends", "chromium"])
}

/// Runs them against a server in Node.js, and against `neap` itself, which must be built. Counts a skip in `skips`
/// where the tools are missing.
#[allow(clippy::disallowed_methods, reason = "a folder in target/ that only the tests use")]
pub(crate) fn run(skips: &Path) -> Result<()> {
    let tools = root().join(TOOLS);
    if !tools.join("ready").exists() {
        let note = "the page: needs npm and Chromium";
        return std::fs::write(skips.join("page"), note).context("cannot count a skipped test");
    }
    let project = format!("{TESTS}/tsconfig.json");
    let compiler = tools.join("node_modules/.bin/tsc");
    run_timed("tsc", Command::new(compiler).args(["-p", &project]))?;
    let program = root().join("target/debug/neap");
    let mut node = Command::new("node");
    node.args(["--test", "--test-reporter=dot", FILES_AT_A_TIME]);
    for folder in ["unit", "browser"] {
        node.args(test_files(&root().join(TESTS).join(folder))?);
    }
    run_timed("node --test", node.env("NEAP_BIN", program).env("NEAP_PAGE_TOOLS", tools))
}
