//! Being quiet while somebody waits: what can be done at any other time rests meanwhile, and a moment after, as who asked once
//! may ask again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::engine::Engine;
use crate::parts::Parts;

/// So long it stays quiet after the last who waited.
const AFTER: Duration = Duration::from_secs(1);
/// While somebody waits, it is looked this often whether that is over.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// What rests does so for no longer than this at a time, however many ask.
const REST_MAX: Duration = Duration::from_secs(5);

/// Who waits.
#[derive(Default)]
pub(crate) struct Waiting(Mutex<Waiters>);

#[derive(Default)]
struct Waiters {
    count: usize,
    last: Option<Instant>,
}

/// Somebody waits, for as long as this is held.
pub struct Hush(Arc<Parts>);

impl Engine {
    /// Has what can be done at any other time rest until this is dropped, and a moment after.
    pub fn hush(&self) -> Hush {
        self.parts.waiting.waiters().count += 1;
        Hush(self.parts.clone())
    }
}

impl Drop for Hush {
    fn drop(&mut self) {
        let mut waiters = self.0.waiting.waiters();
        waiters.count -= 1;
        waiters.last = Some(Instant::now());
    }
}

impl Waiting {
    fn waiters(&self) -> MutexGuard<'_, Waiters> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether somebody waits, or did a moment ago.
    pub(crate) fn is_on(&self) -> bool {
        self.rest().is_some()
    }

    /// When to look again; none if nobody waits.
    fn rest(&self) -> Option<Duration> {
        let waiters = self.waiters();
        let since = waiters.last.map(|last| last.elapsed());
        match (waiters.count, since) {
            (0, None) => None,
            (0, Some(since)) => AFTER.checked_sub(since).filter(|left| !left.is_zero()),
            (_, _) => Some(LOOK_EVERY),
        }
    }

    /// Rests for as long as somebody waits, but not for ever.
    pub(crate) async fn over(&self) {
        let began = Instant::now();
        while let Some(rest) = self.rest()
            && began.elapsed() < REST_MAX
        {
            tokio::time::sleep(rest).await;
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
        let waiting = &engine.parts.waiting;
        assert!(!waiting.is_on());
        let (one, other) = (engine.hush(), engine.hush());
        drop(one);
        // However long ago another was answered.
        waiting.waiters().last = Instant::now().checked_sub(AFTER);
        assert!(waiting.is_on());
        drop(other);
        assert!(waiting.is_on() && waiting.waiters().count == 0);
        waiting.waiters().last = Instant::now().checked_sub(AFTER);
        assert!(!waiting.is_on());
    }
}
