//! The engine's clock. Nothing below the engine reads the time.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use neap_core::base::ids::Stamp;

/// A source of time.
pub trait Clock: Send + Sync {
    /// The current time.
    fn now(&self) -> Stamp;
}

/// The system clock.
#[derive(Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Stamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Stamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// A clock for tests, proofs and simulations: each reading is one second after the previous one.
#[derive(Debug)]
pub struct FixedClock(AtomicI64);

impl FixedClock {
    /// A clock that starts at `start`.
    pub fn at(start: Stamp) -> Self {
        Self(AtomicI64::new(start.0))
    }

    /// Advances the clock by `ms` milliseconds.
    pub fn advance(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::Relaxed);
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Stamp {
        Stamp(self.0.fetch_add(1_000, Ordering::Relaxed))
    }
}
