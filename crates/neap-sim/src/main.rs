//! Runs seeds and reports which failed: `neap-sim --seeds 1..1000 --turns 200 [--store mem|sqlite]`, or `--seed
//! N`. `neap-sim --soak 100000 [--way chat|proxy|mcp|hooks]` takes that many turns in one process and reports its
//! memory use.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool talks to a person")]

use std::ops::Range;
use std::process::ExitCode;

use neap_sim::disk::Backend;
use neap_sim::soak::{EMBEDDINGS, Sample, Soak, TurnSource, growing_parts};
use neap_sim::{Config, Report, simulate};

const USAGE: &str = "usage: neap-sim [--seeds FROM..TO | --seed N] [--turns N] [--store mem|sqlite]
       neap-sim --soak TURNS [--way chat|proxy|mcp|hooks] [--embeddings yes|no]";
const SOAK_SAMPLES: u64 = 20;
/// Seeds between two lines of progress.
const PROGRESS_SEEDS: u64 = 25;

struct Options {
    seeds: Range<u64>,
    config: Config,
    soak: Option<u64>,
    sources: Vec<TurnSource>,
    embeds: bool,
}

fn main() -> ExitCode {
    let options = match parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("{error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if let Some(turns) = options.soak {
        return soak(turns, &options);
    }
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
    let mut options =
        Options { seeds: 1..101, config, soak: None, sources: TurnSource::ALL.to_vec(), embeds: true };
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
            "--soak" => options.soak = Some(number(&value)?),
            "--way" => {
                let source = TurnSource::ALL.into_iter().find(|source| source.as_str() == value);
                options.sources = vec![source.ok_or_else(|| format!("'{value}' is no way in which turns come"))?];
            }
            "--embeddings" if value == "yes" => options.embeds = true,
            "--embeddings" if value == "no" => options.embeds = false,
            "--turns" => options.config.turns = number(&value)?,
            "--store" if value == "mem" => options.config.backend = Backend::Memory,
            "--store" if value == "sqlite" => options.config.backend = Backend::Sqlite,
            other => return Err(format!("unknown: {other} {value}")),
        }
    }
    Ok(options)
}

fn soak(turns: u64, options: &Options) -> ExitCode {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        eprintln!("no runtime");
        return ExitCode::FAILURE;
    };
    let mut is_flat = true;
    for source in &options.sources {
        println!("── {}: {turns} turns", source.as_str());
        let soak = Soak { source: *source, turns, samples: SOAK_SAMPLES, embeds: options.embeds };
        match runtime.block_on(soak.run(print_sample)) {
            Ok(samples) => {
                let grown = growing_parts(&samples);
                is_flat &= grown.is_empty();
                println!("{}", verdict(&samples));
                grown.iter().for_each(|(name, before, after)| println!("GROWS: {name}, from {before} to {after}"));
            }
            Err(error) => {
                is_flat = false;
                println!("failed: {error}");
            }
        }
    }
    if is_flat { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn print_sample(sample: &Sample) {
    let mib = |bytes: u64| format!("{:.1}", bytes as f64 / 1_048_576.0);
    let part = |part: &neap_engine::CacheSize| match part.bytes {
        0 => format!("{} {}", part.name, part.entries),
        bytes => format!("{} {} ({} MiB)", part.name, part.entries, mib(bytes)),
    };
    let parts: Vec<String> = sample.parts.iter().map(part).collect();
    let (resident, own) = (mib(sample.memory.resident), mib(sample.memory.anonymous));
    println!("{:>7} turns: resident {resident} MiB, own {own} MiB; {}", sample.turn, parts.join(", "));
}

/// Growth after the first tenth, without embeddings.
fn verdict(samples: &[Sample]) -> String {
    let early = samples.get(samples.len().div_ceil(10).saturating_sub(1));
    let (Some(early), Some(last)) = (early, samples.last()) else { return "no looks".to_owned() };
    let embeddings = |sample: &Sample| sample.part(EMBEDDINGS).map_or(0, |part| part.bytes);
    let without_embeddings = |sample: &Sample| sample.memory.anonymous as i64 - embeddings(sample) as i64;
    let turns = (last.turn - early.turn).max(1);
    let entries = last.part(EMBEDDINGS).map_or(0, |part| part.entries).max(1);
    format!(
        "after the first tenth: {} bytes a turn without embeddings ({} KiB in {turns} turns); embeddings: {} bytes each",
        (without_embeddings(last) - without_embeddings(early)) / turns as i64,
        (without_embeddings(last) - without_embeddings(early)) / 1_024,
        embeddings(last) / entries
    )
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
    all.proxied += one.proxied;
    all.cut += one.cut;
    all.hooked += one.hooked;
    all.imported += one.imported;
    all.told += one.told;
    all.deferred += one.deferred;
    all.digest ^= one.digest;
}
