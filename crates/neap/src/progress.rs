//! A progress bar on standard error, and the seconds that a model thinks.

use std::io::{IsTerminal as _, Write as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

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
    draw(&bar);
}

/// Draws a line in place of the one before.
fn draw(line: &str) {
    let mut err = std::io::stderr().lock();
    // A closed standard error cannot be reported anywhere.
    let _ = write!(err, "\r\x1b[2K{line}").and_then(|()| err.flush());
}

/// Before this, an answer is on its way, and nothing is drawn.
const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(250);
const WHEEL: [&str; 4] = ["◐", "◓", "◑", "◒"];

/// A wheel with seconds, until it is stopped or dropped. Draws only where standard error is a terminal.
pub(crate) struct Spinner {
    is_stopped: Arc<Mutex<bool>>,
}

impl Spinner {
    pub(crate) fn start() -> Self {
        let is_stopped = Arc::new(Mutex::new(!std::io::stderr().is_terminal()));
        let spinner = Self { is_stopped: is_stopped.clone() };
        let began = Instant::now();
        // It ends by itself, at most a tick after it was stopped.
        std::thread::spawn(move || {
            for turn in 0_usize.. {
                std::thread::sleep(TICK);
                // Held while drawing, so that nothing is drawn after the stop.
                let is_stopped = is_stopped.lock().unwrap_or_else(PoisonError::into_inner);
                if *is_stopped {
                    return;
                }
                let seconds = began.elapsed();
                if seconds >= PATIENCE {
                    draw(&format!("{} thinking, {} s", WHEEL[turn % WHEEL.len()], seconds.as_secs()));
                }
            }
        });
        spinner
    }

    /// Clears the line.
    pub(crate) fn stop(&self) {
        let mut is_stopped = self.is_stopped.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_stopped {
            *is_stopped = true;
            draw("");
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.stop();
    }
}
