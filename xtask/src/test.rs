//! Running everything: each step is an ordinary command that can be typed by hand.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::root;

/// Passes every test. They need nothing but Rust and a C compiler: stores are files in temporary folders,
/// models are scripted. Where Python and a network are at hand, the makers' own libraries are tried as well.
pub(crate) fn run() -> Result<()> {
    libraries();
    // Not `--all-targets`: that would run the benches, too, and leave the examples in documentation out.
    cargo(&["test", "--workspace", "--lib", "--bins", "--tests", "--quiet"])?;
    cargo(&["test", "--workspace", "--doc", "--quiet"])
}

/// Installs the libraries of OpenAI and Anthropic, once. Where that cannot be done, the test that needs them says so.
fn libraries() {
    let folder = root().join("target/sdk");
    if folder.join("ready").exists() {
        return;
    }
    let done = |program: &Path, args: &[&str]| {
        println!("── {} {}", program.display(), args.join(" "));
        Command::new(program).args(args).status().is_ok_and(|status| status.success())
    };
    let place = folder.to_string_lossy();
    let versions = ["-m", "pip", "install", "--quiet", "openai==3.49.0", "anthropic==2.8.0"];
    if done(Path::new("python3"), &["-m", "venv", &place]) && done(&folder.join("bin/python"), &versions) {
        // The mark is only for the next time.
        let _ = std::fs::create_dir(folder.join("ready"));
    }
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
