//! `neap eval`: how much of what answers a question is in the context that is assembled for it, on anybody's conversations.

mod ask;
mod baseline;
mod coding;
mod curve;
mod data;
mod efforts;
mod feed;
mod print;
mod tally;
mod time;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::ValueEnum;
use neap_core::recall::Weights;
use neap_model::Embedder;

use crate::cli::{EvalArgs, Reason, Suite};
use crate::embedder;
use crate::out::{self, Failure};
use crate::progress::Progress;
use data::Conversation;
use feed::Told;
use tally::Tally;
pub(crate) use tally::percentile;

/// Budgets of a curve.
const CURVE: [u64; 6] = [250, 500, 1_000, 2_000, 4_000, 8_000];

/// What is measured, and how.
#[derive(Clone)]
pub(crate) struct Options {
    pub(crate) budgets: Vec<u64>,
    pub(crate) suites: Vec<Suite>,
    pub(crate) weights: Weights,
    /// Each question is asked again with these, each without one reason.
    pub(crate) ablations: Vec<(Reason, Weights)>,
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    pub(crate) with_baselines: bool,
}

impl Options {
    fn of(args: &EvalArgs) -> Result<Self, Failure> {
        let mut budgets = args.budget.clone();
        if args.curve.is_some() {
            budgets.extend(CURVE);
        }
        budgets.sort_unstable();
        budgets.dedup();
        let suites = match args.suite {
            Suite::All => vec![Suite::Recall, Suite::Efforts, Suite::Freshness, Suite::Coding],
            one @ (Suite::Recall | Suite::Efforts | Suite::Freshness | Suite::Coding) => vec![one],
        };
        let weights = without(&args.without);
        let chosen = if weights.meaning > 0.0 { embedder::choose()? } else { None };
        let embedder = chosen.map(|chosen| chosen.embedder);
        let reasons = if args.ablate { Reason::value_variants() } else { &[] };
        let ablations = reasons.iter().map(|reason| (*reason, without(&[*reason]))).collect();
        Ok(Self { budgets, suites, weights, ablations, embedder, with_baselines: args.curve.is_some() })
    }

    fn has(&self, suite: Suite) -> bool {
        self.suites.contains(&suite)
    }
}

/// The weights with some reasons left out.
fn without(reasons: &[Reason]) -> Weights {
    let mut weights = Weights::default();
    for reason in reasons {
        let left_out = match reason {
            Reason::Words => vec![&mut weights.words],
            Reason::Meaning => vec![&mut weights.meaning],
            Reason::Beside => vec![&mut weights.before, &mut weights.after],
            Reason::Conversation => vec![&mut weights.conversation, &mut weights.conversation_meaning],
            Reason::Speaker => vec![&mut weights.speaker],
            Reason::Time => vec![&mut weights.time],
            Reason::Opening => vec![&mut weights.opening],
            Reason::Lately => vec![&mut weights.lately, &mut weights.here],
            Reason::Role => vec![&mut weights.model_less],
            Reason::Cost => vec![&mut weights.cost],
        };
        left_out.into_iter().for_each(|weight| *weight = 0.0);
    }
    weights
}

pub(crate) async fn run(args: &EvalArgs, json: bool) -> Result<ExitCode, Failure> {
    let options = Options::of(args)?;
    if let Some(path) = args.curve.as_deref().filter(|path| !is_svg(path)) {
        return Err(Failure::new(format!("a curve is drawn as SVG, not as {}", path.display()))
            .hint("name a file that ends in .svg"));
    }
    let mut files = Vec::new();
    for path in &args.files {
        let conversations = data::read(path)?;
        let measured = measure(&name(path), conversations, &options, args.threads)?;
        if !json {
            out::piece(print::text(&name(path), &measured, &options));
        }
        files.push((name(path), measured));
    }
    if json {
        out::json_line(&print::json(&files))?;
    }
    if let Some(path) = &args.curve {
        crate::files::replace(path, curve::svg(&files).as_bytes())?;
        if !json {
            out::aside(format!("curve written to {}", path.display()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether a name does not promise another form.
fn is_svg(path: &Path) -> bool {
    path.extension().is_none_or(|ending| ending.eq_ignore_ascii_case("svg"))
}

/// A file's name without its endings.
fn name(path: &Path) -> String {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    name.split('.').next().unwrap_or_default().to_owned()
}

/// Measures conversations, several at once, each in a store and on a thread of its own. The order in which they are done does not
/// matter: their figures are joined in the order of the file.
fn measure(
    name: &str,
    conversations: Vec<Conversation>,
    options: &Options,
    threads: usize,
) -> Result<Tally, Failure> {
    let conversations: Vec<Arc<Conversation>> = conversations.into_iter().map(Arc::new).collect();
    let (next, progress) = (AtomicUsize::new(0), Progress::new(name, conversations.len()));
    let work = || -> Result<Vec<(usize, Tally)>, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut done = Vec::new();
        while let Some((at, conversation)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            conversations.get(at).map(|conversation| (at, conversation.clone()))
        } {
            done.push((at, runtime.block_on(one(conversation, options))?));
            progress.step();
        }
        Ok(done)
    };
    let mut done = std::thread::scope(|scope| -> Result<Vec<(usize, Tally)>, Failure> {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        let mut all = Vec::new();
        for worker in workers {
            all.extend(worker.join().map_err(|_| Failure::new("a thread of the measurement panicked"))??);
        }
        Ok(all)
    })?;
    progress.end();
    done.sort_by_key(|(at, _)| *at);
    let mut sum = Tally::default();
    done.into_iter().for_each(|(_, tally)| sum.join(tally));
    Ok(sum)
}

async fn one(conversation: Arc<Conversation>, options: &Options) -> Result<Tally, Failure> {
    let mut tally = Tally { turns: conversation.turns.len() as u64, ..Tally::default() };
    // Each suite begins with nothing told: what it asks must not have been said yet.
    let untold = || Told::new(conversation.clone(), options.embedder.clone());
    let mut told = untold()?;
    if options.has(Suite::Coding) {
        coding::follow(&mut told, options, &mut tally).await?;
        told = untold()?;
    }
    if options.has(Suite::Efforts) {
        efforts::place_all(&mut told, options, &mut tally).await?;
        told = untold()?;
    }
    if options.has(Suite::Recall) || options.has(Suite::Freshness) {
        ask::ask_all(&mut told, options, &mut tally).await?;
    }
    if options.with_baselines {
        baseline::ask_all(&conversation, options, &mut tally);
    }
    told.tell(None).await?;
    let footprint = told.footprint().await?;
    tally.index_bytes = footprint.index;
    tally.said_bytes = footprint.said;
    Ok(tally)
}
