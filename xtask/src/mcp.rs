//! Installs what the MCP server's tests need: the conformance suite, the inspector, and the Python and TypeScript
//! SDKs.

use std::path::Path;

use crate::root;
use crate::test::{make_once, run_ok};

/// Includes Node.js: the suite and the inspector need a newer one than many machines have.
const NPM_PACKAGES: [&str; 4] = [
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/sdk@1.32.2",
    "node@22",
];
const PYTHON_PACKAGE: &str = "mcp==2.3.0";

/// Runs once. If it fails, the tests that need these tools say so.
pub(crate) fn install() {
    let folder = root().join("target/mcp");
    let (prefix, python) = (folder.to_string_lossy().into_owned(), folder.join("venv"));
    let pip = ["-m", "pip", "install", "--quiet", PYTHON_PACKAGE];
    let npm = ["install", "--prefix", &prefix, "--no-save", "--no-audit", "--no-fund", "--silent"];
    make_once(&folder, || run_ok(Path::new("npm"), &[&npm[..], &NPM_PACKAGES].concat()));
    make_once(&python, || {
        run_ok(Path::new("python3"), &["-m", "venv", &python.to_string_lossy()])
            && run_ok(&python.join("bin/python"), &pip)
    });
}
