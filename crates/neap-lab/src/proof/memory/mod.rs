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
use crate::LabError;
use crate::measure::percentile;
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
    let size = Size { percent };
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
    let mut rows = Rows { proof: &mut proof, is_whole: percent >= FULL_PERCENT };
    add_figures(&mut rows, &questions, &results);
    add_times(&mut rows, &path, &agent, &questions).await?;
    conversation::measure_refresh(&mut rows, &path, &corpus).await?;
    Ok(vec![proof])
}

async fn write_corpus(path: &Path, size: Size) -> Result<corpus::Corpus, LabError> {
    let store = SqliteStore::open(path)?;
    let id = AgentId::from_name(AGENT)?;
    let corpus = corpus::write(&store, &id, size, counter_for(ENCODING).as_ref()).await?;
    drop(store);
    measure::open_agent(path).await?.sweep().await?;
    Ok(corpus)
}

/// The rows of a proof, of which some are judged for the whole corpus only.
struct Rows<'a> {
    proof: &'a mut Proof,
    is_whole: bool,
}

impl Rows<'_> {
    fn expectation(&self, expected: &str) -> String {
        if self.is_whole { expected.to_owned() } else { format!("{expected} (of the whole corpus)") }
    }

    fn add(&mut self, step: &str, action: impl Into<String>, expected: &str, measured: String, ok: bool) {
        self.proof.add_row(step, action, self.expectation(expected), measured, ok || !self.is_whole);
    }
}

fn percent_of(part: u64, whole: u64) -> f64 {
    part as f64 * 100.0 / whole.max(1) as f64
}

fn add_figures(rows: &mut Rows<'_>, questions: &[TopicQuestion], results: &[QuestionResult]) {
    let of = |is_known: bool| -> Vec<&QuestionResult> {
        let pairs = questions.iter().zip(results);
        pairs.filter(|(question, _)| question.topic.is_some() == is_known).map(|(_, result)| result).collect()
    };
    let (relevant, foreign) = (of(true), of(false));
    let over = results.iter().filter(|a| a.tokens > a.budget).count();
    let action = format!("{} questions within budget", results.len());
    rows.proof.add_row("budget", action, "0 over", format!("{over} over"), over == 0);

    let used = |a: &QuestionResult| percent_of(a.tokens, a.budget);
    let shares: Vec<f64> = relevant.iter().map(|a| used(a)).collect();
    let tokens: Vec<f64> = relevant.iter().map(|a| a.tokens as f64).collect();
    // Enough: the topic's candidates could fill half of the budget.
    let is_enough = |a: &&&QuestionResult| (a.tokens - a.recalled_tokens + a.topic_tokens) * 2 >= a.budget;
    let enough: Vec<f64> = relevant.iter().filter(is_enough).map(|a| used(a)).collect();
    let within = enough.iter().filter(|share| (50.0..=90.0).contains(*share)).count();
    let [p10, p50, p90] = [10, 50, 90].map(|percent| percentile(&shares, percent));
    rows.add(
        "utilisation",
        "share of the budget where there is enough of the topic",
        "50-90 %",
        format!(
            "{within} of {} such; all {}: {p10:.0} / {p50:.0} / {p90:.0} % (p10, p50, p90), {:.0} tokens p50",
            enough.len(),
            relevant.len(),
            percentile(&tokens, 50),
        ),
        within == enough.len(),
    );
    for (name, half) in [("tuned on", 0), ("held out", 1)] {
        let half: Vec<&QuestionResult> = relevant.iter().skip(half).step_by(2).copied().collect();
        add_relevance(rows, name, &half);
    }
    let mean = |all: &[&QuestionResult]| all.iter().map(|a| a.items).sum::<u64>() as f64 / all.len().max(1) as f64;
    let (mean, foreign_mean) = (mean(&relevant), mean(&foreign));
    let most = foreign.iter().map(|a| a.items).max().unwrap_or(0);
    let tokens: u64 = foreign.iter().map(|a| a.recalled_tokens).sum();
    rows.add(
        "foreign",
        format!("{} questions about nothing that is known", foreign.len()),
        "a tenth of the others' items at most",
        format!("{foreign_mean:.1} items each against {mean:.1}, at most {most}; {tokens} tokens in all"),
        foreign_mean * 10.0 <= mean,
    );
}

fn add_relevance(rows: &mut Rows<'_>, name: &str, half: &[&QuestionResult]) {
    let sum = |field: fn(&QuestionResult) -> u64| half.iter().map(|a| field(a)).sum::<u64>();
    let items = sum(|a| a.items);
    let similarity = sum(|a| a.similarity_sum) as f64 / 1_000.0 / items.max(1) as f64;
    rows.add(
        "relevance",
        format!("mean likeness of what is loaded, {name} {} questions", half.len()),
        "> 0.6",
        format!("{similarity:.3}, {:.1} items a question", items as f64 / half.len().max(1) as f64),
        similarity > 0.6,
    );
    let [related, same_topic, exact] = [sum(|a| a.same_field), sum(|a| a.same_topic), sum(|a| a.exact)];
    let of_such = percent_of(exact, sum(|a| a.exact_candidates));
    let [related, same_topic, exact] = [related, same_topic, exact].map(|part| percent_of(part, items));
    rows.add(
        "precision",
        format!("items of the topic or its field, {name}"),
        "at least 80 %",
        format!(
            "{related:.1} %; of the topic {same_topic:.1} %, about just what was asked {exact:.1} % \
             ({of_such:.1} % of such candidates)"
        ),
        related >= 80.0,
    );
    let used = percent_of(sum(|a| a.used), items);
    let action = format!("items in a reply that says all there is, {name}");
    rows.add("used", action, "> 40 %", format!("{used:.1} %"), used > 40.0);
}

async fn add_times(
    rows: &mut Rows<'_>,
    path: &Path,
    agent: &neap_engine::Agent,
    questions: &[TopicQuestion],
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
    let mut row = |step: &str, action: &str, times: &[f64], limit: f64| {
        let (p50, p95) = (percentile(times, 50), percentile(times, 95));
        let measured = format!("{p50:.1} ms p50, {p95:.1} p95");
        rows.add(step, action, &format!("< {limit:.0} ms p50"), measured, p50 < limit);
    };
    row("cold", "build from nothing: open the store, load the agent", &cold, 100.0);
    let action =
        format!("build with the store open (best of {WARM_BUILDS} each: {:.1} ms p50)", percentile(&best, 50));
    row("warm", &action, &warm, 5.0);
    Ok(())
}
