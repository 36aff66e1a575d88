//! Pauses background work while somebody waits for an answer, and a moment longer: another request may follow.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::engine::Engine;
use crate::parts::Parts;

/// How long the pause lasts after the last answer.
const QUIET_PERIOD: Duration = Duration::from_secs(1);
/// How often background work checks whether somebody still waits.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Longest pause at a time, however many requests come.
const PAUSE_MAX: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(crate) struct ForegroundLoad(Mutex<LoadState>);

#[derive(Default)]
struct LoadState {
    count: usize,
    last: Option<Instant>,
}

/// Marks somebody as waiting until it is dropped.
pub struct ForegroundGuard(Arc<Parts>);

impl Engine {
    /// Pauses background work until the guard is dropped, and a moment longer.
    pub fn enter_foreground(&self) -> ForegroundGuard {
        self.parts.foreground.state().count += 1;
        ForegroundGuard(self.parts.clone())
    }
}

impl Drop for ForegroundGuard {
    fn drop(&mut self) {
        let mut state = self.0.foreground.state();
        state.count -= 1;
        state.last = Some(Instant::now());
    }
}

impl ForegroundLoad {
    fn state(&self) -> MutexGuard<'_, LoadState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether somebody waits, or did a moment ago.
    pub(crate) fn is_busy(&self) -> bool {
        self.pause().is_some()
    }

    /// How long to sleep before checking again; `None` if nobody waits, or did a moment ago.
    fn pause(&self) -> Option<Duration> {
        let state = self.state();
        let since = state.last.map(|last| last.elapsed());
        match (state.count, since) {
            (0, None) => None,
            (0, Some(since)) => QUIET_PERIOD.checked_sub(since).filter(|left| !left.is_zero()),
            (_, _) => Some(POLL_INTERVAL),
        }
    }

    /// Waits while somebody waits for an answer, or did a moment ago, at most about [`PAUSE_MAX`].
    pub(crate) async fn wait_until_idle(&self) {
        let began = Instant::now();
        while let Some(pause) = self.pause()
            && began.elapsed() < PAUSE_MAX
        {
            tokio::time::sleep(pause).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use neap_store::MemStore;

    use super::*;

    #[test]
    fn it_is_quiet_while_somebody_waits_and_a_moment_after() {
        let engine = Engine::builder(Arc::new(MemStore::default())).build();
        let foreground = &engine.parts.foreground;
        assert!(!foreground.is_busy());
        let (one, other) = (engine.enter_foreground(), engine.enter_foreground());
        drop(one);
        foreground.state().last = Instant::now().checked_sub(QUIET_PERIOD);
        assert!(foreground.is_busy());
        drop(other);
        assert!(foreground.is_busy() && foreground.state().count == 0);
        foreground.state().last = Instant::now().checked_sub(QUIET_PERIOD);
        assert!(!foreground.is_busy());
    }
}
