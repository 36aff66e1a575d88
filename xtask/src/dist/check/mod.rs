//! Installs each package into a folder of its own and runs what it brings. What this machine has no tool for is listed.

mod image;
mod packages;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use super::clients::can_run;
use super::{listed, publisher};
use crate::root;

/// The folder with the packages, and one for what they install.
struct Place {
    out: PathBuf,
    folder: PathBuf,
    is_root: bool,
}

type Check = fn(&Place) -> Result<()>;

/// Those that this machine may not be able to make, by the ends of their names.
const OPTIONAL: [(&str, &str); 2] = [("the wheel", ".whl"), ("the npm packages", ".tgz")];

/// Each with the programs that it needs, asked for their version.
const CHECKS: [(&str, &[&str], Check); 11] = [
    ("the digests", &["sha256sum"], packages::digests),
    ("the archive", &["tar"], packages::archive),
    ("completions for bash", &["bash"], packages::bash),
    ("the manual", &["man"], packages::manual),
    ("the Debian package", &["dpkg"], packages::deb),
    ("the wheel", &["python3"], packages::wheel),
    ("the npm packages", &["npm"], packages::npm),
    ("the image", &["tar", "chroot"], image::runs),
    ("the image by another reader", &["skopeo"], image::is_read),
    ("the MCP bundle", &["python3"], packages::bundle),
    ("the formula's syntax", &["ruby"], packages::formula),
];

/// Returns what could not be checked.
#[allow(clippy::disallowed_methods, reason = "a folder in target/ that only this uses")]
pub(crate) fn run(out: &Path) -> Result<Vec<String>> {
    let started = Instant::now();
    let folder = root().join("target/package-check");
    // There may be none yet.
    let _ = std::fs::remove_dir_all(&folder);
    let out = std::path::absolute(out).context("the folder's path is empty")?;
    let place = Place { out, folder, is_root: printed(Command::new("id").arg("-u"))?.trim() == "0" };
    let made = listed(&place.out)?;
    let is_made = |ending: &str| made.iter().any(|(name, _)| name.ends_with(ending));
    let mut unchecked = Vec::new();
    for (name, needs, check) in CHECKS {
        if OPTIONAL.iter().any(|(optional, ending)| *optional == name && !is_made(ending)) {
            unchecked.push(format!("{name}: not made"));
            continue;
        }
        match needs.iter().find(|program| !can_run(program, &["--version"])) {
            Some(missing) => unchecked.push(format!("{name}: there is no {missing}")),
            None => check(&place).with_context(|| format!("{name} failed the check"))?,
        }
    }
    println!("── {} checks of packages: {} s", CHECKS.len() - unchecked.len(), started.elapsed().as_secs());
    Ok(unchecked)
}

impl Place {
    /// The only package with this ending.
    fn package(&self, ending: &str) -> Result<PathBuf> {
        let mut found = listed(&self.out)?.into_iter().filter(|(name, _)| name.ends_with(ending));
        match (found.next(), found.next()) {
            (Some((name, _)), None) => Ok(self.out.join(name)),
            _ => bail!("there is no single package that ends with {ending}"),
        }
    }

    /// A command as root of this machine, or of a name space of its own.
    fn as_root(&self, program: &str) -> Command {
        if self.is_root {
            return Command::new(program);
        }
        let mut command = Command::new("unshare");
        command.arg("--map-root-user").arg(program);
        command
    }

    /// A folder that is empty at first.
    #[allow(clippy::disallowed_methods, reason = "a folder in target/ that only this uses")]
    fn make(&self, name: &str) -> Result<PathBuf> {
        let folder = self.folder.join(name);
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(folder)
    }
}

/// Runs a program as a person does first: its version, a fact, and the fact again.
fn works(program: &Path, data: &Path) -> Result<()> {
    let neap = || {
        let mut command = Command::new(program);
        command.env("NEAP_DATA_DIR", data);
        command
    };
    remembers(neap)
}

fn remembers(neap: impl Fn() -> Command) -> Result<()> {
    let version = printed(neap().arg("--version"))?;
    ensure!(version.starts_with(&format!("neap {} ", publisher::version()?)), "the version is {version}");
    run_quietly(neap().args(["remember", "The gateway listens on port 8443"]))?;
    let recalled = printed(neap().args(["recall", "which port does the gateway have?"]))?;
    ensure!(recalled.contains("8443"), "it recalls {recalled:?}");
    Ok(())
}

fn printed(command: &mut Command) -> Result<String> {
    Ok(String::from_utf8_lossy(&run_quietly(command)?.stdout).into_owned())
}

fn run_quietly(command: &mut Command) -> Result<Output> {
    let ran = command.stdin(Stdio::null()).output().with_context(|| format!("cannot run {command:?}"))?;
    if !ran.status.success() {
        let text = [ran.stdout, ran.stderr].concat();
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&text).trim());
    }
    Ok(ran)
}
