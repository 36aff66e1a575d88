//! One run: a seed, a number of turns, and its report.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::check::Violation;
use crate::disk::Backend;
use crate::plant::Plant;
use crate::world::World;

/// Most violations that a failure prints; the first says most.
const VIOLATIONS_SHOWN_MAX: usize = 6;

#[derive(Debug, Clone, Copy)]
pub struct Config {
    /// Steps; most of them are turns.
    pub turns: u64,
    pub backend: Backend,
    /// A deliberate fault, to see the checks fail.
    pub plant: Option<Plant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Report {
    /// Including rivals' turns.
    pub turns: u64,
    pub requests: u64,
    pub events: u64,
    pub faults: u64,
    pub restarts: u64,
    pub efforts: u64,
    pub decayed: u64,
    pub evicted: u64,
    /// Messages that did not fit the budget.
    pub refused: u64,
    pub memories: u64,
    /// How often memories were loaded into a context.
    pub loads: u64,
    pub censored: u64,
    /// Requests that clients sent through the proxy, and how many of them were cut.
    pub proxied: u64,
    pub cut: u64,
    /// Hook events, imports and recorded messages; deliveries of the same one count each.
    pub hooked: u64,
    pub imported: u64,
    pub told: u64,
    /// Requests that waited in memory because the store failed.
    pub deferred: u64,
    /// Of all events and requests.
    pub digest: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub seed: u64,
    pub step: u64,
    pub violations: Vec<Violation>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {} failed at step {}:", self.seed, self.step)?;
        for violation in self.violations.iter().take(VIOLATIONS_SHOWN_MAX) {
            writeln!(f, "  {violation}")?;
        }
        write!(f, "rerun: cargo run -p neap-sim --release -- --seed {} --turns {}", self.seed, self.step + 1)
    }
}

/// Runs a seed. A panic in the simulated code is a failure like any other.
pub fn simulate(seed: u64, config: &Config) -> Result<Report, Box<Failure>> {
    let step = AtomicU64::new(0);
    let failed = |invariant, what| {
        let violations = vec![Violation { invariant, what }];
        Box::new(Failure { seed, step: step.load(Ordering::Relaxed), violations })
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| failed("simulation", error.to_string()))?;
    let run = || runtime.block_on(take_steps(seed, config, &step));
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(report)) => Ok(report),
        Ok(Err(violations)) => Err(Box::new(Failure { seed, step: step.load(Ordering::Relaxed), violations })),
        Err(panic) => {
            let what = panic
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Err(failed("panic", what.unwrap_or_else(|| "of an unknown kind".to_owned())))
        }
    }
}

async fn take_steps(seed: u64, config: &Config, step: &AtomicU64) -> Result<Report, Vec<Violation>> {
    let mut world = World::begin(seed, config).await?;
    for at in 0..config.turns {
        step.store(at, Ordering::Relaxed);
        if let Err(violations) = world.step(at).await {
            return Err(world.with_trace(violations));
        }
    }
    world.end().await
}
