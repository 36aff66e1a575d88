//! Runs the tests of the TypeScript client against `neap`: alone, in the AI SDK, and in OpenClaw.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::root;
use crate::test::{make_once, run_ok, run_timed, test_files};

const CLIENT: &str = "clients/typescript";
const OPENCLAW: &str = "clients/typescript/hosts/openclaw";
/// Where npm puts what a lock file names.
pub(crate) const PACKAGES: [&str; 2] =
    ["clients/typescript/node_modules", "clients/typescript/hosts/openclaw/node_modules"];
/// Two test files at a time: each starts servers.
const FILES_AT_A_TIME: &str = "--test-concurrency=2";

/// Runs once. npm reports an error if this fails.
pub(crate) fn install() {
    for (folder, packages) in [CLIENT, OPENCLAW].iter().zip(PACKAGES) {
        install_for(folder, packages);
    }
}

/// Whether they are there.
fn install_for(folder: &str, packages: &str) -> bool {
    let prefix = root().join(folder).to_string_lossy().into_owned();
    // OpenClaw's scripts refuse a Node.js older than the one that comes with it.
    let npm = ["ci", "--prefix", &prefix, "--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
    make_once(&root().join(packages), || run_ok(Path::new("npm"), &npm));
    root().join(packages).join("ready").exists()
}

/// Installs what the client is compiled with.
pub(crate) fn can_compile() -> bool {
    install_for(CLIENT, PACKAGES[0])
}

/// As it is published, without tests.
#[allow(clippy::disallowed_methods, reason = "a folder that only builds use")]
pub(crate) fn compile_client() -> Result<()> {
    // There is none after a fresh clone.
    let _ = std::fs::remove_dir_all(root().join(CLIENT).join("dist"));
    compile(CLIENT)
}

/// `neap` must be built. Counts a skip in `skips` where packages are missing.
#[allow(clippy::disallowed_methods, reason = "folders that only builds and tests use")]
pub(crate) fn run(skips: &Path) -> Result<()> {
    let [has_packages, has_openclaw] = PACKAGES.map(|packages| root().join(packages).join("ready").exists());
    let skip =
        |name: &str, note: &str| std::fs::write(skips.join(name), note).context("cannot count a skipped test");
    if !has_packages {
        return skip("typescript", "the TypeScript client: needs npm");
    }
    let client = root().join(CLIENT);
    for outdated in ["build", "dist"] {
        // There is none after a fresh clone.
        let _ = std::fs::remove_dir_all(client.join(outdated));
    }
    for project in [CLIENT.to_owned(), format!("{CLIENT}/tests")] {
        compile(&project)?;
    }
    let built = client.join("build");
    let mut tests = test_files(&built)?;
    if has_openclaw {
        compile(OPENCLAW)?;
        tests.extend(test_files(&built.join("hosts"))?);
    } else {
        skip("openclaw", "the context engine in OpenClaw: needs npm")?;
    }
    run_tests(&tests)
}

fn compile(project: &str) -> Result<()> {
    let compiler = root().join(PACKAGES[0]).join(".bin/tsc");
    run_timed(&format!("tsc -p {project}"), Command::new(compiler).args(["-p", project]))
}

fn run_tests(tests: &[PathBuf]) -> Result<()> {
    let mut node = Command::new("node");
    node.args(["--test", "--test-reporter=dot", FILES_AT_A_TIME]).args(tests);
    run_timed("node --test", node.env("NEAP_BIN", root().join("target/debug/neap")))
}
