//! `neap proof memory`: what an agent of the note's proportions has loaded for questions, from real builds on a real
//! store (003, Key Metrics).

mod corpus;
mod judge;
mod questions;
mod talk;

use std::path::Path;

use neap_core::ids::AgentId;
use neap_model::bpe::counter_for;
use neap_store::SqliteStore;

use super::Proof;
use super::window::stage::{ms, percentile};
use crate::out::{Failure, thousands};
use corpus::{AGENT, Size};
use judge::Answered;
use questions::{Asked, questions};

const ENCODING: &str = "o200k_base";
/// Builds from nothing that are timed.
const COLD_BUILDS: usize = 10;
/// Builds of each question with the store open.
const WARM_BUILDS: usize = 5;
/// Times and shares are judged from this share of the proportions on, in per cent.
const WHOLE: u32 = 100;

/// Everything, with this share of the records that the note speaks of.
pub(super) async fn prove(percent: u32) -> Result<Vec<Proof>, Failure> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("proof.db");
    let size = Size::percent(percent);
    let corpus = write(&path, size).await?;
    let all = questions(&corpus.topics);
    let mut proof = Proof::new("memory", "what bears on a question is loaded, within its budget, in no time");
    let about = format!(
        "{} records in {} topics; {} confirmations, {} superseded, {} contested",
        thousands(corpus.about.len() as u64),
        corpus.topics.len(),
        thousands(corpus.confirmed),
        thousands(corpus.superseded),
        thousands(corpus.contested),
    );
    let whole = corpus.about.len() == size.all() as usize && corpus.refused == 0;
    proof.row("corpus", "a year is written, bulk by bulk", thousands(u64::from(size.all())), about, whole);

    let agent = judge::agent(&path).await?;
    let mut answered = Vec::new();
    for asked in &all {
        answered.push(judge::ask(&agent, &corpus, asked).await?);
    }
    let is_whole = percent >= WHOLE;
    figures(&mut proof, &all, &answered, is_whole);
    times(&mut proof, &path, &agent, &all, is_whole).await?;
    talk::converse(&mut proof, &path, &corpus, is_whole).await?;
    Ok(vec![proof])
}

async fn write(path: &Path, size: Size) -> Result<corpus::Corpus, Failure> {
    let store = SqliteStore::open(path)?;
    let id = AgentId::from_name(AGENT).map_err(|error| Failure::new(error.to_string()))?;
    let corpus = corpus::write(&store, &id, size, counter_for(ENCODING).as_ref()).await?;
    drop(store);
    judge::agent(path).await?.sweep().await?;
    Ok(corpus)
}

/// What is expected, and of what: a part of the corpus is measured, not judged.
fn judged(expected: &str, is_whole: bool) -> String {
    if is_whole { expected.to_owned() } else { format!("{expected} (of the whole corpus)") }
}

/// A share in per cent.
fn percent_of(part: u64, whole: u64) -> f64 {
    part as f64 * 100.0 / whole.max(1) as f64
}

fn figures(proof: &mut Proof, all: &[Asked], answered: &[Answered], is_whole: bool) {
    let pairs = || all.iter().zip(answered);
    let relevant: Vec<&Answered> = pairs().filter(|(asked, _)| asked.topic.is_some()).map(|(_, a)| a).collect();
    let foreign: Vec<&Answered> = pairs().filter(|(asked, _)| asked.topic.is_none()).map(|(_, a)| a).collect();
    let over = answered.iter().filter(|a| a.tokens > a.budget).count();
    proof.row(
        "budget",
        format!("{} questions within budget", answered.len()),
        "0 over",
        format!("{over} over"),
        over == 0,
    );

    let used = |a: &Answered| percent_of(a.tokens, a.budget);
    let shares: Vec<f64> = relevant.iter().map(|a| used(a)).collect();
    let tokens: Vec<f64> = relevant.iter().map(|a| a.tokens as f64).collect();
    // Enough: what there is of the topic among the candidates would bring the page to half of its budget.
    let enough: Vec<&&Answered> =
        relevant.iter().filter(|a| (a.tokens - a.recalled_tokens + a.of_topic_tokens) * 2 >= a.budget).collect();
    let within = enough.iter().filter(|a| (50.0..=90.0).contains(&used(a))).count();
    proof.row(
        "utilisation",
        "share of the budget where there is enough of the topic",
        judged("50-90 %", is_whole),
        format!(
            "{within} of {} such; all {}: {:.0} / {:.0} / {:.0} % (p10, p50, p90), {:.0} tokens p50",
            enough.len(),
            relevant.len(),
            percentile(&shares, 10),
            percentile(&shares, 50),
            percentile(&shares, 90),
            percentile(&tokens, 50),
        ),
        within == enough.len() || !is_whole,
    );
    for (name, half) in [("tuned on", 0), ("held out", 1)] {
        let half: Vec<&Answered> = relevant.iter().skip(half).step_by(2).copied().collect();
        relevance(proof, name, &half, is_whole);
    }
    let items: usize = foreign.iter().map(|a| a.items).sum();
    let most = foreign.iter().map(|a| a.items).max().unwrap_or(0);
    let tokens: u64 = foreign.iter().map(|a| a.recalled_tokens).sum();
    let mean = relevant.iter().map(|a| a.items).sum::<usize>() as f64 / relevant.len().max(1) as f64;
    let foreign_mean = items as f64 / foreign.len().max(1) as f64;
    proof.row(
        "foreign",
        format!("{} questions about nothing that is known", foreign.len()),
        judged("a tenth of the others' items at most", is_whole),
        format!("{foreign_mean:.1} items each against {mean:.1}, at most {most}; {tokens} tokens in all"),
        foreign_mean * 10.0 <= mean || !is_whole,
    );
}

fn relevance(proof: &mut Proof, name: &str, half: &[&Answered], is_whole: bool) {
    let sum = |of: &dyn Fn(&Answered) -> u64| half.iter().map(|a| of(a)).sum::<u64>();
    let items = sum(&|a| a.items as u64);
    let similarity = sum(&|a| a.similarity_sum) as f64 / 1_000.0 / items.max(1) as f64;
    proof.row(
        "relevance",
        format!("mean likeness of what is loaded, {name} {} questions", half.len()),
        judged("> 0.6", is_whole),
        format!("{similarity:.3}, {:.1} items a question", items as f64 / half.len().max(1) as f64),
        similarity > 0.6 || !is_whole,
    );
    let near = percent_of(sum(&|a| a.near as u64), items);
    proof.row(
        "precision",
        format!("items of the topic or its field, {name}"),
        judged("at least 80 %", is_whole),
        format!(
            "{near:.1} %; of the topic {:.1} %, about just what was asked {:.1} % ({:.1} % of such candidates)",
            percent_of(sum(&|a| a.of_topic as u64), items),
            percent_of(sum(&|a| a.met as u64), items),
            percent_of(sum(&|a| a.met as u64), sum(&|a| a.met_candidates as u64)),
        ),
        near >= 80.0 || !is_whole,
    );
    let used = percent_of(sum(&|a| a.used as u64), items);
    proof.row(
        "used",
        format!("items in a reply that says all there is, {name}"),
        judged("> 40 %", is_whole),
        format!("{used:.1} %"),
        used > 40.0 || !is_whole,
    );
}

async fn times(
    proof: &mut Proof,
    path: &Path,
    agent: &neap_engine::Agent,
    all: &[Asked],
    is_whole: bool,
) -> Result<(), Failure> {
    let (mut warm, mut best) = (Vec::new(), Vec::new());
    for asked in all {
        let mut times = Vec::new();
        for _ in 0..WARM_BUILDS {
            times.push(judge::time(agent, asked).await?);
        }
        best.push(percentile(&times, 0));
        warm.extend(times);
    }
    let mut cold = Vec::new();
    for asked in all.iter().take(COLD_BUILDS) {
        cold.push(judge::time_cold(path, asked).await?);
    }
    let mut fresh = Vec::new();
    for _ in 0..COLD_BUILDS {
        fresh.push(new_process(path)?);
    }
    let mut row = |step: &str, what: &str, times: &[f64], limit: f64| {
        let (p50, p95) = (percentile(times, 50), percentile(times, 95));
        let expected = judged(&format!("< {limit:.0} ms p50"), is_whole);
        proof.row(step, what, expected, format!("{p50:.1} ms p50, {p95:.1} p95"), p50 < limit || !is_whole);
    };
    row("cold", "build from nothing: open the store, load the agent", &cold, 100.0);
    row("process", "the same in a new process, from its start to its end", &fresh, 100.0);
    let what =
        format!("build with the store open (best of {WARM_BUILDS} each: {:.1} ms p50)", percentile(&best, 50));
    row("warm", &what, &warm, 5.0);
    Ok(())
}

/// Times a build in a process of its own, in milliseconds.
fn new_process(path: &Path) -> Result<f64, Failure> {
    let began = std::time::Instant::now();
    let this = std::env::current_exe()?;
    let ran = std::process::Command::new(this).args(["proof", "memory", "--once"]).arg(path).output()?;
    let took = ms(began.elapsed());
    if ran.status.success() { Ok(took) } else { Err(Failure::new("a build in a new process failed")) }
}

/// Builds one context over a store that is there; a process of its own is timed doing just that.
pub(super) async fn once(path: &Path) -> Result<(), Failure> {
    let all = questions(&corpus::topics());
    if let Some(asked) = all.first() {
        judge::time_cold(path, asked).await?;
    }
    Ok(())
}
