//! Token usage as providers report it.

use std::ops::AddAssign;
use std::sync::{Mutex, PoisonError};

use neap_core::base::tokens::Tokens;

/// Tokens of one or more calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Calls that reported their usage.
    pub calls: u64,
    /// All input tokens, including `cached` and `cache_written`.
    pub input: Tokens,
    pub cached: Tokens,
    /// Written to the cache, which has its own price.
    pub cache_written: Tokens,
    /// Output tokens, including reasoning.
    pub output: Tokens,
}

impl Usage {
    /// Share of the input that came from the cache, in percent.
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

/// Accumulates usage until [`take`](Self::take).
#[derive(Debug, Default)]
pub struct UsageMeter(Mutex<Usage>);

impl UsageMeter {
    pub fn add(&self, usage: Usage) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += usage;
    }

    /// Returns the usage since the last call and resets it.
    pub fn take(&self) -> Usage {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
