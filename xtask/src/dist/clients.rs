//! The wheel and the npm packages, which the tools of both clients make.

use std::process::Command;

use anyhow::{Context, Result, bail};

use super::Release;
use crate::{root, typescript};

/// Returns what this machine cannot make.
pub(super) fn write(release: &Release) -> Result<Vec<String>> {
    let mut left_out = Vec::new();
    if can_run("python3", &["-c", "import tomllib"]) {
        write_wheel(release)?;
    } else {
        left_out.push("the wheel needs Python 3.11".to_owned());
    }
    if typescript::can_compile() {
        write_npm(release)?;
    } else {
        left_out.push("the npm packages need npm".to_owned());
    }
    Ok(left_out)
}

pub(super) fn can_run(program: &str, args: &[&str]) -> bool {
    Command::new(program).args(args).output().is_ok_and(|ran| ran.status.success())
}

fn write_wheel(release: &Release) -> Result<()> {
    let mut python = Command::new("python3");
    python.arg(root().join("clients/python/tools/wheel.py"));
    python.arg("--binary").arg(&release.program_path).arg("--out").arg(&release.out);
    run(python.env("SOURCE_DATE_EPOCH", release.epoch.to_string()).env("PYTHONDONTWRITEBYTECODE", "1"))?;
    Ok(())
}

#[allow(clippy::disallowed_methods, reason = "folders that only this uses")]
fn write_npm(release: &Release) -> Result<()> {
    typescript::compile_client()?;
    let folders = release.out.join("npm");
    let mut node = Command::new("node");
    node.arg(root().join("clients/typescript/tools/packages.mjs")).args(["--target", "linux-x64"]);
    let made = run(node.arg("--binary").arg(&release.program_path).arg("--out").arg(&folders))?;
    for folder in made.lines() {
        let mut npm = Command::new("npm");
        npm.args(["pack", "--offline", "--silent", "--pack-destination"]).arg(&release.out);
        run(npm.arg(folder))?;
    }
    std::fs::remove_dir_all(&folders).context("cannot remove the folders of the npm packages")
}

/// Returns what it printed.
fn run(command: &mut Command) -> Result<String> {
    let ran = command.output().with_context(|| format!("cannot run {command:?}"))?;
    if !ran.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&ran.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
}
