//! Waiting for a condition, also for the tests of the binary: no other place in tests sleeps to wait.

use std::time::{Duration, Instant};

/// Far longer than anything takes, also on a busy machine.
const LIMIT: Duration = Duration::from_secs(180);
const PAUSE: Duration = Duration::from_millis(5);

/// Whether it is true before the limit.
pub(crate) fn comes_true(mut is_true: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while !is_true() {
        if began.elapsed() > LIMIT {
            return false;
        }
        std::thread::sleep(PAUSE);
    }
    true
}

/// Fails after the limit, with what was waited for.
#[track_caller]
pub(crate) fn wait_until(what: &str, is_true: impl FnMut() -> bool) {
    assert!(comes_true(is_true), "waited {LIMIT:?} until {what}");
}
