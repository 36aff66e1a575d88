//! A progress bar on standard error.

use std::io::{IsTerminal as _, Write as _};

const WIDTH: u64 = 24;

/// Draws the bar in place, and clears it once all is done. Shows nothing where standard error is not a terminal.
pub(crate) fn show(name: &str, done: u64, total: u64) {
    if !std::io::stderr().is_terminal() {
        return;
    }
    let bar = if done < total {
        let filled = WIDTH * done / total;
        let (full, rest) = ("█".repeat(filled as usize), "░".repeat((WIDTH - filled) as usize));
        format!("{name} {full}{rest} {done}/{total}")
    } else {
        String::new()
    };
    let mut err = std::io::stderr().lock();
    // A closed standard error cannot be reported anywhere.
    let _ = write!(err, "\r\x1b[2K{bar}").and_then(|()| err.flush());
}
