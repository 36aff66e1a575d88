//! Runs all tests; each step is an ordinary command.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::{mcp, root};

/// Needs only Rust and a C compiler: stores are temporary files, models are scripted. With Python or Node and a
/// network, it also runs the OpenAI and Anthropic SDKs and the MCP conformance suite.
pub(crate) fn run() -> Result<()> {
    // Not `--all-targets`, which would run benches and skip doc tests.
    let tests = ["test", "--workspace", "--lib", "--bins", "--tests", "--quiet"];
    std::thread::scope(|scope| {
        // Downloads run while the tests compile.
        scope.spawn(|| {
            install_sdks();
            mcp::install();
        });
        cargo(&[&tests[..], &["--no-run"]].concat())
    })?;
    cargo(&tests)?;
    cargo(&["test", "--workspace", "--doc", "--quiet"])
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

/// Runs `make` unless its folder has the `ready` marker.
fn make_once(folder: &Path, make: impl FnOnce() -> bool) {
    if !folder.join("ready").exists() && make() {
        // A missing marker only means another try next time.
        let _ = std::fs::create_dir(folder.join("ready"));
    }
}

fn run_ok(program: &Path, args: &[&str]) -> bool {
    println!("── {} {}", program.display(), args.join(" "));
    Command::new(program).args(args).status().is_ok_and(|status| status.success())
}

fn cargo(args: &[&str]) -> Result<()> {
    run_timed(args, Command::new("cargo").args(args))
}

fn run_timed(args: &[&str], command: &mut Command) -> Result<()> {
    let name = format!("cargo {}", args.join(" "));
    println!("── {name}");
    let started = Instant::now();
    let status = command.current_dir(root()).status().with_context(|| format!("cannot run {name}"))?;
    println!("── {name}: {} s", started.elapsed().as_secs());
    if !status.success() {
        bail!("{name} failed");
    }
    Ok(())
}
