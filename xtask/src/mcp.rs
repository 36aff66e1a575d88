//! What the tests of the MCP server need of others: the protocol's conformance suite, its inspector, its Python and TypeScript libraries.

use std::path::Path;
use std::process::Command;

use crate::root;

/// The suite and the inspector need a newer Node.js than many machines have, so it comes along.
const PACKAGES: [&str; 4] = [
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/sdk@1.32.2",
    "node@22",
];
const LIBRARY: &str = "mcp==2.3.0";

/// Installs them, once. Where that cannot be done, the tests that need them say so.
pub(crate) fn install() {
    let folder = root().join("target/mcp");
    if folder.join("ready").exists() {
        return;
    }
    let done = |program: &Path, args: &[&str]| {
        println!("── {} {}", program.display(), args.join(" "));
        Command::new(program).args(args).status().is_ok_and(|status| status.success())
    };
    let (place, python) = (folder.to_string_lossy().into_owned(), folder.join("venv"));
    let pip = ["-m", "pip", "install", "--quiet", LIBRARY];
    let has_library = done(Path::new("python3"), &["-m", "venv", &python.to_string_lossy()])
        && done(&python.join("bin/python"), &pip);
    let npm = ["install", "--prefix", &place, "--no-save", "--no-audit", "--no-fund", "--silent"];
    let has_packages = done(Path::new("npm"), &[&npm[..], &PACKAGES].concat());
    if has_packages && has_library {
        // The mark is only for the next time.
        let _ = std::fs::create_dir(folder.join("ready"));
    }
}
