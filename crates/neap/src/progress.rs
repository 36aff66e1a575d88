//! How far long work is, on standard error, where somebody watches.

use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering};

const WIDTH: usize = 24;

/// A bar that is drawn over itself; nothing at all where standard error is no terminal.
pub(crate) struct Progress {
    name: String,
    all: usize,
    done: AtomicUsize,
    is_shown: bool,
}

impl Progress {
    pub(crate) fn new(name: &str, all: usize) -> Self {
        let is_shown = std::io::stderr().is_terminal();
        let progress = Self { name: name.to_owned(), all, done: AtomicUsize::new(0), is_shown };
        progress.draw(0);
        progress
    }

    /// One more is done.
    pub(crate) fn step(&self) {
        self.draw(self.done.fetch_add(1, Ordering::Relaxed) + 1);
    }

    /// Takes the bar away.
    pub(crate) fn end(&self) {
        self.write(format_args!("\r\x1b[2K"));
    }

    fn draw(&self, done: usize) {
        let filled = WIDTH * done / self.all.max(1);
        let (full, rest) = ("█".repeat(filled), "░".repeat(WIDTH - filled));
        self.write(format_args!("\r\x1b[2K{} {full}{rest} {done}/{}", self.name, self.all));
    }

    fn write(&self, text: std::fmt::Arguments<'_>) {
        if self.is_shown {
            let mut err = std::io::stderr().lock();
            // Nobody is left to be told that standard error is closed.
            let _ = err.write_fmt(text).and_then(|()| err.flush());
        }
    }
}
