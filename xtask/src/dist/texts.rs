//! Shell completions and man pages, as the program itself writes them.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::archive::Files;

/// The shells, with the names by which each finds its script.
const SHELLS: [(&str, &str); 5] = [
    ("bash", "neap.bash"),
    ("zsh", "_neap"),
    ("fish", "neap.fish"),
    ("elvish", "neap.elv"),
    ("powershell", "_neap.ps1"),
];

/// A comment that begins each page, with the name of its file behind it.
const PAGE: &str = ".\\\" file: ";

pub(super) struct Texts {
    pub(super) completions: Files,
    /// Pages of section 1.
    pub(super) manual: Files,
}

impl Texts {
    pub(super) fn of(program: &Path) -> Result<Self> {
        let mut completions = Files::default();
        for (shell, name) in SHELLS {
            completions.add(name, run(program, &["completions", shell])?, 0o644);
        }
        let mut manual = Files::default();
        let pages = run(program, &["man"])?;
        for page in String::from_utf8(pages).context("the manual is not UTF-8")?.split(PAGE).skip(1) {
            let (name, page) = page.split_once('\n').context("a page of the manual is empty")?;
            manual.add(name, page, 0o644);
        }
        Ok(Self { completions, manual })
    }
}

fn run(program: &Path, args: &[&str]) -> Result<Vec<u8>> {
    let ran = Command::new(program).args(args).output();
    let ran = ran.with_context(|| format!("cannot run {}", program.display()))?;
    if !ran.status.success() {
        bail!("neap {} failed: {}", args.join(" "), String::from_utf8_lossy(&ran.stderr).trim());
    }
    Ok(ran.stdout)
}
