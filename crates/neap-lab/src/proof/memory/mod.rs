//! Measures which memories are loaded for questions, with a store of realistic size (003,
//! Key Metrics).

mod conversation;
mod corpus;
mod measure;
mod questions;

use std::path::Path;

use neap_core::base::ids::AgentId;
use neap_core::text::figures::thousands;
use neap_model::bpe::counter_for;
use neap_sqlite::SqliteStore;

use super::Proof;
use super::window::session::{ms, percentile};
use crate::LabError;
use corpus::{AGENT, Size};
use measure::QuestionResult;
use questions::{TopicQuestion, questions};

const ENCODING: &str = "o200k_base";
const COLD_BUILDS: usize = 10;
const WARM_BUILDS: usize = 5;
/// Times and shares are judged only for a full corpus; in per cent.
const FULL_PERCENT: u32 = 100;

/// Measures with a corpus of so many per cent of the whole.
pub async fn prove(percent: u32) -> Result<Vec<Proof>, LabError> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("proof.db");
    let size = Size::percent(percent);
    let corpus = write_corpus(&path, size).await?;
    let questions = questions(&corpus.topics);
    let mut proof = Proof::new("memory", "relevant memories are loaded, within the budget, without delay");
    let about = format!(
        "{} records in {} topics; {} confirmations, {} superseded, {} contested",
        thousands(corpus.about.len() as u64),
        corpus.topics.len(),
        thousands(corpus.confirmed),
        thousands(corpus.superseded),
        thousands(corpus.contested),
    );
    let whole = corpus.about.len() == size.all() as usize && corpus.refused == 0;
    proof.add_row("corpus", "a year is written, bulk by bulk", thousands(u64::from(size.all())), about, whole);

    let agent = measure::open_agent(&path).await?;
    let mut results = Vec::new();
    for question in &questions {
        results.push(measure::ask(&agent, &corpus, question).await?);
    }
    let is_whole = percent >= FULL_PERCENT;
    add_figures(&mut proof, &questions, &results, is_whole);
    add_times(&mut proof, &path, &agent, &questions, is_whole).await?;
    conversation::measure_refresh(&mut proof, &path, &corpus, is_whole).await?;
    Ok(vec![proof])
}

async fn write_corpus(path: &Path, size: Size) -> Result<corpus::Corpus, LabError> {
    let store = SqliteStore::open(path)?;
    let id = AgentId::from_name(AGENT).map_err(|error| LabError::new(error.to_string()))?;
    let corpus = corpus::write(&store, &id, size, counter_for(ENCODING).as_ref()).await?;
    drop(store);
    measure::open_agent(path).await?.sweep().await?;
    Ok(corpus)
}

/// Marks expectations that apply only to the full corpus.
fn expectation(expected: &str, is_whole: bool) -> String {
    if is_whole { expected.to_owned() } else { format!("{expected} (of the whole corpus)") }
}

fn percent_of(part: u64, whole: u64) -> f64 {
    part as f64 * 100.0 / whole.max(1) as f64
}

fn add_figures(proof: &mut Proof, questions: &[TopicQuestion], results: &[QuestionResult], is_whole: bool) {
    let pairs = || questions.iter().zip(results);
    let relevant: Vec<&QuestionResult> =
        pairs().filter(|(question, _)| question.topic.is_some()).map(|(_, a)| a).collect();
    let foreign: Vec<&QuestionResult> =
        pairs().filter(|(question, _)| question.topic.is_none()).map(|(_, a)| a).collect();
    let over = results.iter().filter(|a| a.tokens > a.budget).count();
    proof.add_row(
        "budget",
        format!("{} questions within budget", results.len()),
        "0 over",
        format!("{over} over"),
        over == 0,
    );

    let used = |a: &QuestionResult| percent_of(a.tokens, a.budget);
    let shares: Vec<f64> = relevant.iter().map(|a| used(a)).collect();
    let tokens: Vec<f64> = relevant.iter().map(|a| a.tokens as f64).collect();
    // Enough: the topic's candidates could fill half of the budget.
    let enough: Vec<&&QuestionResult> =
        relevant.iter().filter(|a| (a.tokens - a.recalled_tokens + a.topic_tokens) * 2 >= a.budget).collect();
    let within = enough.iter().filter(|a| (50.0..=90.0).contains(&used(a))).count();
    proof.add_row(
        "utilisation",
        "share of the budget where there is enough of the topic",
        expectation("50-90 %", is_whole),
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
        let half: Vec<&QuestionResult> = relevant.iter().skip(half).step_by(2).copied().collect();
        add_relevance(proof, name, &half, is_whole);
    }
    let items: usize = foreign.iter().map(|a| a.items).sum();
    let most = foreign.iter().map(|a| a.items).max().unwrap_or(0);
    let tokens: u64 = foreign.iter().map(|a| a.recalled_tokens).sum();
    let mean = relevant.iter().map(|a| a.items).sum::<usize>() as f64 / relevant.len().max(1) as f64;
    let foreign_mean = items as f64 / foreign.len().max(1) as f64;
    proof.add_row(
        "foreign",
        format!("{} questions about nothing that is known", foreign.len()),
        expectation("a tenth of the others' items at most", is_whole),
        format!("{foreign_mean:.1} items each against {mean:.1}, at most {most}; {tokens} tokens in all"),
        foreign_mean * 10.0 <= mean || !is_whole,
    );
}

fn add_relevance(proof: &mut Proof, name: &str, half: &[&QuestionResult], is_whole: bool) {
    let sum = |field: &dyn Fn(&QuestionResult) -> u64| half.iter().map(|a| field(a)).sum::<u64>();
    let items = sum(&|a| a.items as u64);
    let similarity = sum(&|a| a.similarity_sum) as f64 / 1_000.0 / items.max(1) as f64;
    proof.add_row(
        "relevance",
        format!("mean likeness of what is loaded, {name} {} questions", half.len()),
        expectation("> 0.6", is_whole),
        format!("{similarity:.3}, {:.1} items a question", items as f64 / half.len().max(1) as f64),
        similarity > 0.6 || !is_whole,
    );
    let related = percent_of(sum(&|a| a.same_field as u64), items);
    proof.add_row(
        "precision",
        format!("items of the topic or its field, {name}"),
        expectation("at least 80 %", is_whole),
        format!(
            "{related:.1} %; of the topic {:.1} %, about just what was asked {:.1} % ({:.1} % of such candidates)",
            percent_of(sum(&|a| a.same_topic as u64), items),
            percent_of(sum(&|a| a.exact as u64), items),
            percent_of(sum(&|a| a.exact as u64), sum(&|a| a.exact_candidates as u64)),
        ),
        related >= 80.0 || !is_whole,
    );
    let used = percent_of(sum(&|a| a.used as u64), items);
    proof.add_row(
        "used",
        format!("items in a reply that says all there is, {name}"),
        expectation("> 40 %", is_whole),
        format!("{used:.1} %"),
        used > 40.0 || !is_whole,
    );
}

async fn add_times(
    proof: &mut Proof,
    path: &Path,
    agent: &neap_engine::Agent,
    questions: &[TopicQuestion],
    is_whole: bool,
) -> Result<(), LabError> {
    let (mut warm, mut best) = (Vec::new(), Vec::new());
    for question in questions {
        let mut times = Vec::new();
        for _ in 0..WARM_BUILDS {
            times.push(measure::time_build(agent, question).await?);
        }
        best.push(percentile(&times, 0));
        warm.extend(times);
    }
    let mut cold = Vec::new();
    for question in questions.iter().take(COLD_BUILDS) {
        cold.push(measure::time_cold_build(path, question).await?);
    }
    let mut fresh = Vec::new();
    for _ in 0..COLD_BUILDS {
        fresh.push(time_new_process(path)?);
    }
    let mut row = |step: &str, action: &str, times: &[f64], limit: f64| {
        let (p50, p95) = (percentile(times, 50), percentile(times, 95));
        let expected = expectation(&format!("< {limit:.0} ms p50"), is_whole);
        proof.add_row(step, action, expected, format!("{p50:.1} ms p50, {p95:.1} p95"), p50 < limit || !is_whole);
    };
    row("cold", "build from nothing: open the store, load the agent", &cold, 100.0);
    row("process", "the same in a new process, from its start to its end", &fresh, 100.0);
    let action =
        format!("build with the store open (best of {WARM_BUILDS} each: {:.1} ms p50)", percentile(&best, 50));
    row("warm", &action, &warm, 5.0);
    Ok(())
}

/// In milliseconds.
fn time_new_process(path: &Path) -> Result<f64, LabError> {
    let began = std::time::Instant::now();
    let program = std::env::current_exe()?;
    let output =
        std::process::Command::new(program).args(["lab", "proof", "memory", "--once"]).arg(path).output()?;
    let took = ms(began.elapsed());
    if output.status.success() { Ok(took) } else { Err(LabError::new("a build in a new process failed")) }
}

/// Builds one context over an existing store.
pub async fn build_once(path: &Path) -> Result<(), LabError> {
    let questions = questions(&corpus::topics());
    if let Some(question) = questions.first() {
        measure::time_cold_build(path, question).await?;
    }
    Ok(())
}
