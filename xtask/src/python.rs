//! Runs the tests of the Python client against `neap`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::root;
use crate::test::{make_once, run_ok, run_timed};

const TOOLS: &str = "target/python";
const CLIENT: &str = "clients/python";
const PACKAGES: [&str; 3] = ["httpx==0.28.1", "pytest==9.2.0", "typing_extensions==4.16.0"];

/// Runs once.
pub(crate) fn install() {
    let folder = root().join(TOOLS);
    let path = folder.to_string_lossy();
    let install = ["-m", "pip", "install", "--quiet"];
    make_once(&folder, || {
        run_ok(Path::new("python3"), &["-m", "venv", &path])
            && run_ok(&folder.join("bin/python"), &[&install[..], &PACKAGES].concat())
    });
}

/// `neap` must be built. Counts a skip in `skips` where the tools are missing.
#[allow(clippy::disallowed_methods, reason = "a folder in target/ that only the tests use")]
pub(crate) fn run(skips: &Path) -> Result<()> {
    let tools = root().join(TOOLS);
    if !tools.join("ready").exists() {
        return std::fs::write(skips.join("python"), "the Python client: needs Python")
            .context("cannot count a skipped test");
    }
    let mut pytest = Command::new(tools.join("bin/python"));
    pytest.args(["-m", "pytest", CLIENT, "--quiet"]).env("PYTHONDONTWRITEBYTECODE", "1");
    run_timed("pytest", pytest.env("NEAP_BIN", root().join("target/debug/neap")))
}
