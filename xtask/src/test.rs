//! Running everything: each step is an ordinary command that can be typed by hand.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::root;

/// Passes every test. They need nothing but Rust and a C compiler: stores are files in temporary folders,
/// models are scripted.
pub(crate) fn run() -> Result<()> {
    // Not `--all-targets`: that would run the benches, too, and leave the examples in documentation out.
    cargo(&["test", "--workspace", "--lib", "--bins", "--tests", "--quiet"])?;
    cargo(&["test", "--workspace", "--doc", "--quiet"])
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
