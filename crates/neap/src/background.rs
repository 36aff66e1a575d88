//! Starts a process of ours that goes on after this one.

use std::io;
use std::process::{Command, Stdio};

use crate::env::{DataDir, NEAP_STORE};

/// Starts `neap` with `arguments` on the same data, without standard input and output.
pub(crate) fn spawn(data: &DataDir, arguments: &[&str]) -> io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(data.arguments()).args(arguments);
    // Not an argument: others could read its password there.
    command.envs(data.store_url().map(|url| (NEAP_STORE, url)));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // A process group of its own, so that it survives when the caller's group is killed.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().map(drop)
}
