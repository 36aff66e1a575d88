//! Runs all tests; each step is an ordinary command.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::{agents, dist, mcp, page, postgres, python, root, typescript};

/// Set by `.ci/run`: what cannot be installed although its installer is here is a failure.
const STRICT: &str = "NEAP_TEST_STRICT";
const INSTALL_TRIES: usize = 3;

/// Needs only Rust and a C compiler: stores are temporary files, models are scripted. With Python or Node and a
/// network, it also runs the OpenAI and Anthropic SDKs, schemathesis, the MCP conformance suite, Claude Code and Codex, the
/// page in Chromium, the clients for Python and TypeScript and a Postgres server. Tests that could not run are counted at the end.
#[allow(clippy::disallowed_methods, reason = "a folder in target/ that only this uses")]
pub(crate) fn run() -> Result<()> {
    let skips = root().join("target/skipped");
    // None may be left from the last run.
    let _ = std::fs::remove_dir_all(&skips);
    std::fs::create_dir_all(&skips).context("cannot make a folder for skipped tests")?;
    // Not `--all-targets`, which would run benches and skip doc tests.
    let tests = ["test", "--workspace", "--lib", "--bins", "--tests", "--quiet"];
    std::thread::scope(|scope| {
        // Downloads run while the tests compile.
        let installing = scope.spawn(|| {
            install_sdks();
            install_fuzzer();
            mcp::install();
            agents::install();
            page::install();
            python::install();
            typescript::install();
            postgres::install();
        });
        cargo(&[&tests[..], &["--no-run"]].concat())?;
        installing.join().map_err(|_| anyhow::anyhow!("the installation panicked"))?;
        check_installed()
    })?;
    let command = format!("cargo {}", tests.join(" "));
    let mut testing = Command::new("cargo");
    testing.args(tests).arg("--no-fail-fast").env("NEAP_TEST_SKIPS", &skips);
    let server = postgres::Server::start()?;
    testing.envs(server.iter().flat_map(postgres::Server::variables));
    let result = run_timed(&command, &mut testing);
    drop(server);
    let result = result.and_then(|()| page::run(&skips)).and_then(|()| python::run(&skips));
    let result = result.and_then(|()| typescript::run(&skips)).and_then(|()| dist::test(&skips));
    print_skips(&skips);
    result?;
    cargo(&["test", "--workspace", "--doc", "--quiet"])
}

fn check_installed() -> Result<()> {
    let has =
        |program: &str| Command::new(program).arg("--version").output().is_ok_and(|ran| ran.status.success());
    let needs = [
        ("target/sdk", &["python3"][..]),
        ("target/sdk-js", &["npm"]),
        ("target/mcp", &["npm"]),
        ("target/mcp/venv", &["python3"]),
        ("target/agents", &["npm"]),
        ("target/schemathesis", &["python3"]),
        ("target/page", &["npm"]),
        ("target/python-libraries", &["python3"]),
        ("target/postgres", &["python3"]),
        (typescript::PACKAGES[0], &["npm"]),
        (typescript::PACKAGES[1], &["npm"]),
    ];
    let is_missing = |(folder, installers): &(&str, &[&str])| {
        !root().join(folder).join("ready").exists() && installers.iter().all(|name| has(name))
    };
    let missing: Vec<&str> = needs.iter().filter(|need| is_missing(need)).map(|(folder, _)| *folder).collect();
    if !missing.is_empty() && std::env::var_os(STRICT).is_some() {
        bail!(
            "{} could not be installed; without {STRICT} the tests that need them are skipped",
            missing.join(", ")
        );
    }
    Ok(())
}

fn print_skips(folder: &Path) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let skipped: Vec<String> = entries.filter_map(|entry| std::fs::read_to_string(entry.path()).ok()).collect();
    println!("── {} tests were skipped", skipped.len());
    skipped.iter().for_each(|line| println!("   {line}"));
}

/// Installs the OpenAI and Anthropic SDKs once. If that fails, the test that needs them says so.
fn install_sdks() {
    let folder = root().join("target/sdk");
    let path = folder.to_string_lossy();
    let python = ["-m", "pip", "install", "--quiet", "openai==3.49.0", "anthropic==2.8.0"];
    make_once(&folder, || {
        run_ok(Path::new("python3"), &["-m", "venv", &path]) && run_ok(&folder.join("bin/python"), &python)
    });
    let folder = root().join("target/sdk-js");
    let path = folder.to_string_lossy();
    let quiet = ["install", "--silent", "--no-audit", "--no-fund", "--prefix", &path];
    let versions = ["openai@7.53.0", "@anthropic-ai/sdk@1.8.0"];
    make_once(&folder, || {
        // npm reports an error if this fails.
        let _ = std::fs::create_dir(&folder);
        run_ok(Path::new("npm"), &[&quiet[..], &versions].concat())
    });
}

/// Installs the fuzzer of the HTTP API once.
fn install_fuzzer() {
    let folder = root().join("target/schemathesis");
    let path = folder.to_string_lossy();
    let python = ["-m", "pip", "install", "--quiet", "schemathesis==4.32.5"];
    make_once(&folder, || {
        run_ok(Path::new("python3"), &["-m", "venv", &path]) && run_ok(&folder.join("bin/python"), &python)
    });
}

/// Runs `make` unless its folder has the `ready` marker; a network may fail once.
pub(crate) fn make_once(folder: &Path, mut make: impl FnMut() -> bool) {
    if !folder.join("ready").exists() && (0..INSTALL_TRIES).any(|_| make()) {
        // A missing marker only means another try next time.
        let _ = std::fs::create_dir(folder.join("ready"));
    }
}

pub(crate) fn run_ok(program: &Path, args: &[&str]) -> bool {
    println!("── {} {}", program.display(), args.join(" "));
    Command::new(program).args(args).status().is_ok_and(|status| status.success())
}

fn cargo(args: &[&str]) -> Result<()> {
    run_timed(&format!("cargo {}", args.join(" ")), Command::new("cargo").args(args))
}

pub(crate) fn run_timed(name: &str, command: &mut Command) -> Result<()> {
    println!("── {name}");
    let started = Instant::now();
    let status = command.current_dir(root()).status().with_context(|| format!("cannot run {name}"))?;
    println!("── {name}: {} s", started.elapsed().as_secs());
    if !status.success() {
        bail!("{name} failed");
    }
    Ok(())
}

/// Those for Node.js, by name: versions of Node.js differ in what a folder stands for.
pub(crate) fn test_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let files = entries.flatten().map(|entry| entry.path());
    let mut tests: Vec<PathBuf> = files.filter(|path| path.to_string_lossy().ends_with(".test.js")).collect();
    tests.sort();
    Ok(tests)
}
