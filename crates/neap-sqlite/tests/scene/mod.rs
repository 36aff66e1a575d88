//! What several test files need.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]
#![allow(clippy::disallowed_methods, reason = "tests set the scene by hand")]

use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Every file under a directory with its bytes.
pub(crate) fn tree(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                let name = path.strip_prefix(dir).unwrap().to_string_lossy().into_owned();
                files.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// A small disk of its own, where the machine allows one; tests that need it say so when they cannot run.
pub(crate) struct Disk(PathBuf);

impl Disk {
    pub(crate) fn mount(dir: &Path, options: &str) -> Option<Self> {
        let run = |program: &mut Command| program.output().is_ok_and(|out| out.status.success());
        let is_mounted = run(Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(dir));
        if !is_mounted {
            count_skip();
        }
        is_mounted.then(|| Self(dir.to_owned()))
    }

    pub(crate) fn remount(&self, options: &str) {
        let done =
            Command::new("mount").args(["-o", &format!("remount,{options}")]).arg(&self.0).status().unwrap();
        assert!(done.success());
    }
}

/// Has `cargo xtask test` count that nothing could be mounted here.
#[allow(clippy::print_stderr, clippy::disallowed_methods, reason = "a skip is declared")]
fn count_skip() {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or_default();
    eprintln!("SKIPPED {test}: nothing can be mounted here");
    if let Some(folder) = std::env::var_os("NEAP_TEST_SKIPS") {
        let line = format!("{test}: nothing can be mounted here");
        std::fs::write(Path::new(&folder).join(test.replace(':', "-")), line).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}
