//! Runs seeds and says which failed: `neap-sim --seeds 1..1000 --turns 200 [--store mem|sqlite]`, or `--seed N`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool talks to a person")]

use std::ops::Range;
use std::process::ExitCode;

use neap_sim::disk::Backend;
use neap_sim::{Config, Report, simulate};

const USAGE: &str = "usage: neap-sim [--seeds FROM..TO | --seed N] [--turns N] [--store mem|sqlite]";
/// Seeds between two lines of progress.
const PROGRESS_SEEDS: u64 = 25;

struct Options {
    seeds: Range<u64>,
    config: Config,
}

fn main() -> ExitCode {
    let options = match parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(wrong) => {
            eprintln!("{wrong}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let (mut all, mut failed) = (Report::default(), 0_u64);
    let count = options.seeds.end - options.seeds.start;
    for seed in options.seeds.clone() {
        match simulate(seed, &options.config) {
            Ok(report) => add(&mut all, &report),
            Err(failure) => {
                failed += 1;
                let store = if options.config.backend == Backend::Sqlite { " --store sqlite" } else { "" };
                println!("{failure}{store}");
            }
        }
        let done = seed + 1 - options.seeds.start;
        if done % PROGRESS_SEEDS == 0 || done == count {
            println!("{done}/{count} seeds, {failed} failed: {all:?}");
        }
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
    let config = Config { turns: 200, backend: Backend::Memory, plant: None };
    let mut options = Options { seeds: 1..101, config };
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        let number = |text: &str| text.parse::<u64>().map_err(|_| format!("'{text}' is not a number"));
        match word.as_str() {
            "--seed" => {
                let seed = number(&value)?;
                options.seeds = seed..seed.saturating_add(1);
            }
            "--seeds" => {
                let (from, to) = value.split_once("..").ok_or_else(|| format!("'{value}' is not FROM..TO"))?;
                options.seeds = number(from)?..number(to)?.max(number(from)?);
            }
            "--turns" => options.config.turns = number(&value)?,
            "--store" if value == "mem" => options.config.backend = Backend::Memory,
            "--store" if value == "sqlite" => options.config.backend = Backend::Sqlite,
            other => return Err(format!("unknown: {other} {value}")),
        }
    }
    Ok(options)
}

fn add(all: &mut Report, one: &Report) {
    all.turns += one.turns;
    all.requests += one.requests;
    all.events += one.events;
    all.faults += one.faults;
    all.restarts += one.restarts;
    all.efforts += one.efforts;
    all.decayed += one.decayed;
    all.evicted += one.evicted;
    all.refused += one.refused;
    all.memories += one.memories;
    all.loads += one.loads;
    all.censored += one.censored;
    all.digest ^= one.digest;
}
