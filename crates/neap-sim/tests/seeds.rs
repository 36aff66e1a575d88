//! The ordinary run: several thousand turns, every invariant after every step.

use neap_sim::disk::Backend;
use neap_sim::{Config, KNOWN_SEEDS, Report, simulate};

const MEMORY: Config = Config { turns: 130, backend: Backend::Memory, plant: None };

#[track_caller]
fn check(seeds: impl IntoIterator<Item = (u64, Config)>) -> Vec<Report> {
    let mut failures = String::new();
    let mut reports = Vec::new();
    for (seed, config) in seeds {
        match simulate(seed, &config) {
            Ok(report) => reports.push(report),
            Err(failure) => failures.push_str(&format!("{failure}\n")),
        }
    }
    assert!(failures.is_empty(), "{failures}");
    reports
}

/// In two halves, so that two cores share the work.
#[test]
fn every_invariant_holds_after_every_step() {
    something_happened(&check((1..=13).map(|seed| (seed, MEMORY))));
}

#[test]
fn every_invariant_holds_after_every_step_of_more_seeds() {
    something_happened(&check((14..=26).map(|seed| (seed, MEMORY))));
}

/// A run in which nothing happens proves nothing.
#[track_caller]
fn something_happened(reports: &[Report]) {
    let all = |figure: fn(&Report) -> u64| reports.iter().map(figure).sum::<u64>();
    assert!(all(|r| r.turns) > 800, "{} turns", all(|r| r.turns));
    assert!(all(|r| r.faults) > 50 && all(|r| r.restarts) > 15, "{reports:?}");
    assert!(all(|r| r.decayed) > 10 && all(|r| r.evicted) > 30, "{reports:?}");
    assert!(all(|r| r.memories) > 100 && all(|r| r.loads) > 50 && all(|r| r.censored) > 10, "{reports:?}");
    assert!(all(|r| r.proxied) > 200 && all(|r| r.cut) > 30 && all(|r| r.deferred) > 5, "{reports:?}");
    assert!(all(|r| r.hooked) > 50 && all(|r| r.imported) > 50 && all(|r| r.told) > 50, "{reports:?}");
}

#[test]
fn seeds_that_failed_once_hold() {
    check(KNOWN_SEEDS.iter().map(|(seed, turns)| (*seed, Config { turns: *turns, ..MEMORY })));
}

/// I9: the same history gives the same events and the same prompts, byte for byte, on every backend.
#[test]
fn every_backend_gives_the_same_run() {
    let sqlite = Config { backend: Backend::Sqlite, turns: 60, ..MEMORY };
    let memory = Config { backend: Backend::Memory, ..sqlite };
    let seeds = [3, 5, 8, 13, 21];
    let on_disk = check(seeds.map(|seed| (seed, sqlite)));
    let in_memory = check(seeds.map(|seed| (seed, memory)));
    assert_eq!(on_disk, in_memory);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let short = Config { turns: 60, ..MEMORY };
    let (first, second) = (check([(7, short)]), check([(7, short)]));
    assert_eq!(first, second);
    assert_ne!(first[0].digest, check([(8, short)])[0].digest);
}
