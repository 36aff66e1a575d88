//! `neap lab eval`: measures how much of a question's evidence is in its assembled context, on any conversations.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use neap_lab::eval::{self, CURVE_BUDGETS, EvalOptions, EvalSurface, EvalTally, RankingTerm, Sharing, Suite};

use super::eval_output;
use crate::cli::{EvalArgs, EvalSuite, SharedStore, SurfaceChoice};
use crate::out::{self, Failure};
use crate::{embedder, files, progress};

fn options(args: &EvalArgs) -> Result<EvalOptions, Failure> {
    let mut budgets = args.budget.clone();
    if args.curve.is_some() {
        budgets.extend(CURVE_BUDGETS);
    }
    budgets.sort_unstable();
    budgets.dedup();
    let suites = match args.suite {
        EvalSuite::Recall => vec![Suite::Recall],
        EvalSuite::Efforts => vec![Suite::Efforts],
        EvalSuite::Freshness => vec![Suite::Freshness],
        EvalSuite::Coding => vec![Suite::Coding],
        EvalSuite::Precision | EvalSuite::All => Suite::ALL.to_vec(),
    };
    let weights = RankingTerm::weights_without(&args.without);
    let chosen = if weights.semantic > 0.0 { embedder::from_env()? } else { None };
    let embedder = chosen.map(|chosen| chosen.embedder);
    let left_out: &[RankingTerm] = if args.ablate { &RankingTerm::ALL } else { &[] };
    let ablations = left_out.iter().map(|term| (*term, RankingTerm::weights_without(&[*term]))).collect();
    let surface = match args.surface {
        SurfaceChoice::Recall => EvalSurface::Recall,
        SurfaceChoice::GetContext => EvalSurface::GetContext,
        SurfaceChoice::Hook => EvalSurface::Hook,
    };
    let with_baselines = args.curve.is_some();
    Ok(EvalOptions { budgets, suites, weights, ablations, embedder, with_baselines, surface })
}

fn run_precision(options: &EvalOptions, json: bool) -> Result<ExitCode, Failure> {
    let report = eval::measure_precision(options.embedder.clone())?;
    out::print_answer(json, &eval_output::precision_json(&report), || eval_output::render_precision(&report))
}

pub(crate) fn run(args: &EvalArgs, json: bool) -> Result<ExitCode, Failure> {
    let options = options(args)?;
    if args.suite == EvalSuite::Precision {
        return run_precision(&options, json);
    }
    if args.files.is_empty() {
        return Err(Failure::new("there is no file to measure").hint("name the conversations, one per line"));
    }
    if let Some(path) = args.curve.as_deref().filter(|path| !is_svg(path)) {
        return Err(Failure::new(format!("a curve is drawn as SVG, not as {}", path.display()))
            .hint("name a file that ends in .svg"));
    }
    let mut measured = Vec::new();
    if let Some(how) = args.shared {
        measured.push(measure_shared(args, &options, how, json)?);
    }
    let alone: &[PathBuf] = if args.shared.is_some() { &[] } else { &args.files };
    for path in alone {
        let name = file_stem(path);
        let tally = eval::measure(&name, eval::read(path)?, &options, args.threads, &progress::show)?;
        if !json {
            out::print_text(eval_output::render(&name, &tally, &options));
        }
        measured.push((name, tally));
    }
    if json {
        out::print_json(&eval_output::to_json(&measured))?;
    }
    if let Some(path) = &args.curve {
        files::replace(path, eval::svg(&measured).as_bytes())?;
        if !json {
            out::print_notice(format!("curve written to {}", path.display()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// All files as one.
fn measure_shared(
    args: &EvalArgs,
    options: &EvalOptions,
    how: SharedStore,
    json: bool,
) -> Result<(String, EvalTally), Failure> {
    let mut conversations = Vec::new();
    for path in &args.files {
        conversations.extend(eval::read(path)?);
    }
    let sharing = match how {
        SharedStore::Projects => Sharing::Projects,
        SharedStore::Nothing => Sharing::Nothing,
    };
    let name = "shared".to_owned();
    let tally = eval::measure_shared(&name, conversations, options, sharing, &progress::show)?;
    if !json {
        out::print_text(eval_output::render(&name, &tally, options));
    }
    Ok((name, tally))
}

/// True for `.svg` and for names without an extension.
fn is_svg(path: &Path) -> bool {
    path.extension().is_none_or(|ending| ending.eq_ignore_ascii_case("svg"))
}

fn file_stem(path: &Path) -> String {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    name.split('.').next().unwrap_or_default().to_owned()
}
