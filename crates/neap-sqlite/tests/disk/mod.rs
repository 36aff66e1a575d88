//! What a machine may not allow, also for the tests of the binary: a disk of one's own, and the word that a test could not run.
#![allow(clippy::disallowed_methods, reason = "tests set the scene by hand")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// A small disk in memory, mounted over a folder for as long as this lives.
pub(crate) struct Disk(PathBuf);

impl Disk {
    /// Where nobody may mount, the test that asks is counted as skipped.
    pub(crate) fn mount(folder: &Path, options: &str) -> Option<Self> {
        std::fs::create_dir_all(folder).expect("a folder");
        let mut mount = Command::new("mount");
        let ran = mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(folder).output();
        let is_mounted = ran.is_ok_and(|ran| ran.status.success());
        if !is_mounted {
            skip(std::thread::current().name().unwrap_or_default(), "nothing can be mounted here");
        }
        is_mounted.then(|| Self(folder.to_owned()))
    }

    pub(crate) fn remount(&self, options: &str) {
        let mut mount = Command::new("mount");
        let ran = mount.args(["-o", &format!("remount,{options}")]).arg(&self.0).status().expect("mount runs");
        assert!(ran.success());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // As soon as nobody uses it any more.
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// Says aloud that something could not be tested here, and has `cargo xtask test` count it.
#[allow(clippy::print_stderr, reason = "a skip is declared")]
pub(crate) fn skip(what: &str, why: &str) {
    eprintln!("SKIPPED {what}: {why}");
    if let Some(folder) = std::env::var_os("NEAP_TEST_SKIPS") {
        let name = what.replace(|c: char| !c.is_alphanumeric(), "-");
        std::fs::write(Path::new(&folder).join(name), format!("{what}: {why}")).expect("the skip is counted");
    }
}
