//! Installs the coding agents that the proxy's tests run: a download of 240 MB, once.

use std::path::Path;

use crate::root;
use crate::test::{make_once, run_ok};

const NPM_PACKAGES: [&str; 2] = ["@anthropic-ai/claude-code@2.1.197", "@openai/codex@0.169.0"];
/// Puts Claude Code's program in its place; not every npm runs it by itself.
const AFTER_INSTALL: &str = "node_modules/@anthropic-ai/claude-code/install.cjs";

/// Runs once for these versions. If it fails, the tests that need the agents say so.
#[allow(clippy::disallowed_methods, reason = "a folder in target/ that only this uses")]
pub(crate) fn install() {
    let folder = root().join("target/agents");
    let (versions, wanted) = (folder.join("versions"), NPM_PACKAGES.join("\n"));
    if std::fs::read_to_string(&versions).ok().as_ref() != Some(&wanted) {
        // An error shows in the installation.
        let _ = std::fs::remove_dir_all(&folder);
        let _ = std::fs::create_dir_all(&folder);
        let _ = std::fs::write(&versions, &wanted);
    }
    let prefix = folder.to_string_lossy();
    let npm =
        ["install", "--prefix", &prefix, "--no-save", "--no-audit", "--no-fund", "--silent", "--ignore-scripts"];
    make_once(&folder, || {
        run_ok(Path::new("npm"), &[&npm[..], &NPM_PACKAGES].concat())
            && run_ok(Path::new("node"), &[&folder.join(AFTER_INSTALL).to_string_lossy()])
    });
}
