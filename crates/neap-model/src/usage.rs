//! What a provider says a call has used.

use std::ops::AddAssign;
use std::sync::{Mutex, PoisonError};

use neap_core::tokens::Tokens;

/// Tokens of one or more calls, as the provider counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Calls that told what they used.
    pub calls: u64,
    /// All that was sent, what was cached included.
    pub input: Tokens,
    /// Of those, read from the cache.
    pub cached: Tokens,
    /// Of those, written to the cache at a price of its own.
    pub cache_written: Tokens,
    /// What came back, thinking included.
    pub output: Tokens,
}

impl Usage {
    /// The share of what was sent that came from the cache, in per cent.
    pub fn cached_percent(&self) -> u64 {
        (self.cached.0 * 100).checked_div(self.input.0).unwrap_or(0)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        let Usage { calls, input, cached, cache_written, output } = other;
        self.calls += calls;
        self.input += input;
        self.cached += cached;
        self.cache_written += cache_written;
        self.output += output;
    }
}

/// Adds up what calls used, until someone looks.
#[derive(Debug, Default)]
pub struct Meter(Mutex<Usage>);

impl Meter {
    /// Counts a call.
    pub fn add(&self, usage: Usage) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += usage;
    }

    /// What was used since the last look.
    pub fn take(&self) -> Usage {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
