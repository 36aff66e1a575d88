//! What time is it? Asked here, and nowhere below.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use neap_core::ids::Stamp;

/// Tells the time.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Stamp;
}

/// The machine's clock.
#[derive(Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Stamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Stamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// A clock for tests, proofs and simulations: each reading is a second after the one before.
#[derive(Debug)]
pub struct FixedClock(AtomicI64);

impl FixedClock {
    /// Starts at a moment.
    pub fn at(start: Stamp) -> Self {
        Self(AtomicI64::new(start.0))
    }

    /// Lets time pass, in milliseconds.
    pub fn pass(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::Relaxed);
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Stamp {
        Stamp(self.0.fetch_add(1_000, Ordering::Relaxed))
    }
}
