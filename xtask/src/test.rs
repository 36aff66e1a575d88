//! Running everything: each step is an ordinary command that can be typed by hand.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::{mcp, root};

/// Passes every test. They need nothing but Rust and a C compiler: stores are files in temporary folders,
/// models are scripted. Where Python or Node and a network are at hand, the makers' own libraries are tried as well, and the
/// conformance suite of MCP.
pub(crate) fn run() -> Result<()> {
    // Not `--all-targets`: that would run the benches, too, and leave the examples in documentation out.
    let tests = ["test", "--workspace", "--lib", "--bins", "--tests", "--quiet"];
    std::thread::scope(|scope| {
        // The network's time, while the processor has its own.
        scope.spawn(|| {
            libraries();
            mcp::install();
        });
        cargo(&[&tests[..], &["--no-run"]].concat())
    })?;
    cargo(&tests)?;
    cargo(&["test", "--workspace", "--doc", "--quiet"])
}

/// Installs the libraries of OpenAI and Anthropic, once. Where that cannot be done, the test that needs them says so.
fn libraries() {
    let folder = root().join("target/sdk");
    let place = folder.to_string_lossy();
    let python = ["-m", "pip", "install", "--quiet", "openai==3.49.0", "anthropic==2.8.0"];
    once(&folder, || {
        done(Path::new("python3"), &["-m", "venv", &place]) && done(&folder.join("bin/python"), &python)
    });
    let folder = root().join("target/sdk-js");
    let place = folder.to_string_lossy();
    let quiet = ["install", "--silent", "--no-audit", "--no-fund", "--prefix", &place];
    let versions = ["openai@7.53.0", "@anthropic-ai/sdk@1.8.0"];
    once(&folder, || {
        // Where it is there already, or cannot be, npm says so.
        let _ = std::fs::create_dir(&folder);
        done(Path::new("npm"), &[&quiet[..], &versions].concat())
    });
}

/// Does something that leaves a folder behind, unless it was done before.
fn once(folder: &Path, make: impl FnOnce() -> bool) {
    if !folder.join("ready").exists() && make() {
        // The mark is only for the next time.
        let _ = std::fs::create_dir(folder.join("ready"));
    }
}

fn done(program: &Path, args: &[&str]) -> bool {
    println!("── {} {}", program.display(), args.join(" "));
    Command::new(program).args(args).status().is_ok_and(|status| status.success())
}

fn cargo(args: &[&str]) -> Result<()> {
    start(args, Command::new("cargo").args(args))
}

fn start(args: &[&str], command: &mut Command) -> Result<()> {
    let name = format!("cargo {}", args.join(" "));
    println!("── {name}");
    let began = Instant::now();
    let status = command.current_dir(root()).status().with_context(|| format!("cannot run {name}"))?;
    println!("── {name}: {} s", began.elapsed().as_secs());
    if !status.success() {
        bail!("{name} failed");
    }
    Ok(())
}
