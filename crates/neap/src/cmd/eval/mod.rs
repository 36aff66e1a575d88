//! `neap lab eval`: measures how much of a question's evidence is in its assembled context, on any conversations.

mod ask;
mod baseline;
mod coding;
mod conversation_store;
mod curve;
mod data;
mod efforts;
mod output;
mod tally;
mod time;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::ValueEnum;
use neap_core::recall::RankWeights;
use neap_model::Embedder;

use crate::cli::{EvalArgs, EvalSuite, RankingTerm};
use crate::embedder;
use crate::out::{self, Failure};
use crate::progress::Progress;
use conversation_store::ConversationStore;
use data::Conversation;
use tally::EvalTally;
pub(crate) use tally::percentile;

const CURVE_BUDGETS: [u64; 6] = [250, 500, 1_000, 2_000, 4_000, 8_000];

#[derive(Clone)]
pub(crate) struct EvalOptions {
    pub(crate) budgets: Vec<u64>,
    pub(crate) suites: Vec<EvalSuite>,
    pub(crate) weights: RankWeights,
    /// Each question is repeated with these weights, each without one ranking term.
    pub(crate) ablations: Vec<(RankingTerm, RankWeights)>,
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    pub(crate) with_baselines: bool,
}

impl EvalOptions {
    fn of(args: &EvalArgs) -> Result<Self, Failure> {
        let mut budgets = args.budget.clone();
        if args.curve.is_some() {
            budgets.extend(CURVE_BUDGETS);
        }
        budgets.sort_unstable();
        budgets.dedup();
        let suites = match args.suite {
            EvalSuite::All => vec![EvalSuite::Recall, EvalSuite::Efforts, EvalSuite::Freshness, EvalSuite::Coding],
            one @ (EvalSuite::Recall | EvalSuite::Efforts | EvalSuite::Freshness | EvalSuite::Coding) => vec![one],
        };
        let weights = weights_without(&args.without);
        let chosen = if weights.semantic > 0.0 { embedder::from_env()? } else { None };
        let embedder = chosen.map(|chosen| chosen.embedder);
        let reasons = if args.ablate { RankingTerm::value_variants() } else { &[] };
        let ablations = reasons.iter().map(|reason| (*reason, weights_without(&[*reason]))).collect();
        Ok(Self { budgets, suites, weights, ablations, embedder, with_baselines: args.curve.is_some() })
    }

    fn has_suite(&self, suite: EvalSuite) -> bool {
        self.suites.contains(&suite)
    }
}

fn weights_without(reasons: &[RankingTerm]) -> RankWeights {
    let mut weights = RankWeights::default();
    for reason in reasons {
        let zeroed = match reason {
            RankingTerm::Words => vec![&mut weights.words],
            RankingTerm::Meaning => vec![&mut weights.semantic],
            RankingTerm::Beside => vec![&mut weights.before, &mut weights.after],
            RankingTerm::Conversation => vec![&mut weights.conversation, &mut weights.conversation_semantic],
            RankingTerm::Speaker => vec![&mut weights.speaker],
            RankingTerm::Time => vec![&mut weights.time],
            RankingTerm::Opening => vec![&mut weights.opening],
            RankingTerm::Lately => vec![&mut weights.recency, &mut weights.current_session],
            RankingTerm::Role => vec![&mut weights.assistant_penalty],
            RankingTerm::Cost => vec![&mut weights.cost],
        };
        zeroed.into_iter().for_each(|weight| *weight = 0.0);
    }
    weights
}

pub(crate) async fn run(args: &EvalArgs, json: bool) -> Result<ExitCode, Failure> {
    let options = EvalOptions::of(args)?;
    if let Some(path) = args.curve.as_deref().filter(|path| !is_svg(path)) {
        return Err(Failure::new(format!("a curve is drawn as SVG, not as {}", path.display()))
            .hint("name a file that ends in .svg"));
    }
    let mut files = Vec::new();
    for path in &args.files {
        let conversations = data::read(path)?;
        let tally = measure(&file_stem(path), conversations, &options, args.threads)?;
        if !json {
            out::print_text(output::render(&file_stem(path), &tally, &options));
        }
        files.push((file_stem(path), tally));
    }
    if json {
        out::print_json(&output::to_json(&files))?;
    }
    if let Some(path) = &args.curve {
        crate::files::replace(path, curve::svg(&files).as_bytes())?;
        if !json {
            out::print_notice(format!("curve written to {}", path.display()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// True for `.svg` and for names without an extension.
fn is_svg(path: &Path) -> bool {
    path.extension().is_none_or(|ending| ending.eq_ignore_ascii_case("svg"))
}

fn file_stem(path: &Path) -> String {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    name.split('.').next().unwrap_or_default().to_owned()
}

/// Measures conversations in parallel, each with its own store and thread. Results are joined in file order, so
/// that they do not depend on scheduling.
fn measure(
    name: &str,
    conversations: Vec<Conversation>,
    options: &EvalOptions,
    threads: usize,
) -> Result<EvalTally, Failure> {
    let conversations: Vec<Arc<Conversation>> = conversations.into_iter().map(Arc::new).collect();
    let (next, progress) = (AtomicUsize::new(0), Progress::new(name, conversations.len()));
    let work = || -> Result<Vec<(usize, EvalTally)>, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut done = Vec::new();
        while let Some((at, conversation)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            conversations.get(at).map(|conversation| (at, conversation.clone()))
        } {
            done.push((at, runtime.block_on(measure_one(conversation, options))?));
            progress.step();
        }
        Ok(done)
    };
    let mut done = std::thread::scope(|scope| -> Result<Vec<(usize, EvalTally)>, Failure> {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        let mut all = Vec::new();
        for worker in workers {
            all.extend(worker.join().map_err(|_| Failure::new("a thread of the measurement panicked"))??);
        }
        Ok(all)
    })?;
    progress.clear();
    done.sort_by_key(|(at, _)| *at);
    let mut sum = EvalTally::default();
    done.into_iter().for_each(|(_, tally)| sum.join(tally));
    Ok(sum)
}

async fn measure_one(conversation: Arc<Conversation>, options: &EvalOptions) -> Result<EvalTally, Failure> {
    let mut tally = EvalTally { turns: conversation.turns.len() as u64, ..EvalTally::default() };
    // Each suite starts with an empty store, since it must not have recorded what it asks for.
    let new_store = || ConversationStore::new(conversation.clone(), options.embedder.clone());
    let mut store = new_store()?;
    if options.has_suite(EvalSuite::Coding) {
        coding::evaluate_moves(&mut store, options, &mut tally).await?;
        store = new_store()?;
    }
    if options.has_suite(EvalSuite::Efforts) {
        efforts::evaluate_openings(&mut store, options, &mut tally).await?;
        store = new_store()?;
    }
    if options.has_suite(EvalSuite::Recall) || options.has_suite(EvalSuite::Freshness) {
        ask::ask_all(&mut store, options, &mut tally).await?;
    }
    if options.with_baselines {
        baseline::ask_all(&conversation, options, &mut tally);
    }
    store.record_before(None).await?;
    let footprint = store.footprint().await?;
    tally.index_bytes = footprint.index;
    tally.text_bytes = footprint.said;
    Ok(tally)
}
