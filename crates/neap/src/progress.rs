//! A progress bar on standard error.

use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering};

const WIDTH: usize = 24;

/// Redrawn in place; shows nothing where standard error is not a terminal.
pub(crate) struct Progress {
    name: String,
    total: usize,
    done: AtomicUsize,
    is_shown: bool,
}

impl Progress {
    pub(crate) fn new(name: &str, total: usize) -> Self {
        let is_shown = std::io::stderr().is_terminal();
        let progress = Self { name: name.to_owned(), total, done: AtomicUsize::new(0), is_shown };
        progress.draw(0);
        progress
    }

    pub(crate) fn step(&self) {
        self.draw(self.done.fetch_add(1, Ordering::Relaxed) + 1);
    }

    pub(crate) fn clear(&self) {
        self.write(format_args!("\r\x1b[2K"));
    }

    fn draw(&self, done: usize) {
        let filled = WIDTH * done / self.total.max(1);
        let (full, rest) = ("█".repeat(filled), "░".repeat(WIDTH - filled));
        self.write(format_args!("\r\x1b[2K{} {full}{rest} {done}/{}", self.name, self.total));
    }

    fn write(&self, text: std::fmt::Arguments<'_>) {
        if self.is_shown {
            let mut err = std::io::stderr().lock();
            // A closed standard error cannot be reported anywhere.
            let _ = err.write_fmt(text).and_then(|()| err.flush());
        }
    }
}
