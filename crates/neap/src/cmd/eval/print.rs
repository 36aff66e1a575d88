//! The figures, for people and for programs.

use clap::ValueEnum;
use serde_json::{Value, json};

use super::Options;
use super::tally::{Row, Tally, percent, percentile};
use crate::cli::Reason;
use crate::out::{self, BOLD, DIM};

/// What a file came to, as tables.
pub(crate) fn text(name: &str, tally: &Tally, options: &Options) -> String {
    let mut out = format!("{BOLD}{name}{BOLD:#} {DIM}{} turns{DIM:#}\n", out::thousands(tally.turns));
    let rows = rows(tally);
    let cell = |share: Option<f64>| share.map_or_else(String::new, |share| format!("{share:.1}"));
    if !rows.is_empty() {
        let cells = |row: &Row| {
            vec![
                row.category.clone(),
                out::thousands(row.budget),
                out::thousands(row.questions),
                cell(row.recall),
                cell(row.newest),
                cell(row.stale_only),
                cell(row.answer_first),
                cell(row.answer_in),
                out::thousands(row.tokens),
            ]
        };
        let head = [
            "category",
            "budget",
            "questions",
            "recall %",
            "newest %",
            "stale only %",
            "answer first %",
            "answer in %",
            "tokens",
        ];
        out.push_str(&out::table(&head, &rows.iter().map(cells).collect::<Vec<_>>()));
    }
    let ablated = ablated(tally);
    if !ablated.is_empty() {
        let cells = |row: &Row| {
            vec![row.category.clone(), out::thousands(row.budget), cell(row.recall), cell(row.answer_first)]
        };
        let head = ["left out", "budget", "recall %", "answer first %"];
        out.push('\n');
        out.push_str(&out::table(&head, &ablated.iter().map(cells).collect::<Vec<_>>()));
    }
    for ((baseline, budget), shares) in &tally.baselines {
        let mean = percent(shares.iter().sum(), shares.len() as u64);
        out.push_str(&format!("{DIM}{baseline} at {budget}: {mean:.1} %{DIM:#}\n"));
    }
    if tally.openings > 0 {
        let share = percent(tally.placed as f64, tally.openings);
        out.push_str(&format!("first messages taken for the right work: {share:.1} % of {}\n", tally.openings));
    }
    for (budget, (all, seen)) in &tally.moves {
        let share = percent(*seen as f64, *all);
        out.push_str(&format!("next file recalled at {budget}: {share:.1} % of {}\n", out::count(*all, "move")));
    }
    let times = |times: &[std::time::Duration]| {
        let at = |share| percentile(times, share);
        format!("{:.2} / {:.2} / {:.2} ms", at(0.5), at(0.95), at(0.99))
    };
    if !tally.took.is_empty() {
        out.push_str(&format!("{DIM}assembling p50 / p95 / p99: {}", times(&tally.took)));
        if options.embedder.is_some() && !tally.embedding.is_empty() {
            out.push_str(&format!("; embedding a question: {}", times(&tally.embedding)));
        }
        out.push_str(&format!("{DIM:#}\n"));
    }
    let share = percent(tally.index_bytes as f64, tally.said_bytes.max(1));
    out.push_str(&format!(
        "{DIM}index: {} KiB, {share:.0} % of what was said{DIM:#}\n\n",
        tally.index_bytes / 1_024
    ));
    out
}

/// By category, then over all of them.
pub(crate) fn rows(tally: &Tally) -> Vec<Row> {
    let mut rows: Vec<Row> =
        tally.sums.iter().map(|((category, budget), sum)| Row::new(category, *budget, sum)).collect();
    rows.extend(tally.overall().iter().map(|(budget, sum)| Row::new("all", *budget, sum)));
    rows
}

/// Over all categories, with each reason left out.
fn ablated(tally: &Tally) -> Vec<Row> {
    let name =
        |reason: &Reason| reason.to_possible_value().map_or_else(String::new, |it| it.get_name().to_owned());
    tally.without.iter().map(|((reason, budget), sum)| Row::new(&name(reason), *budget, sum)).collect()
}

/// Everything, for programs.
pub(crate) fn json(files: &[(String, Tally)]) -> Value {
    let one = |(name, tally): &(String, Tally)| {
        let times = |all: &[std::time::Duration]| json!({"p50": percentile(all, 0.5), "p95": percentile(all, 0.95), "p99": percentile(all, 0.99)});
        let baselines: Vec<Value> = tally
            .baselines
            .iter()
            .map(|((baseline, budget), shares)| {
                let recall = percent(shares.iter().sum(), shares.len() as u64);
                json!({"by": baseline.to_string(), "budget": budget, "recall": recall})
            })
            .collect();
        let moves: Vec<Value> = tally
            .moves
            .iter()
            .map(|(budget, (all, seen))| json!({"budget": budget, "moves": all, "recalled": percent(*seen as f64, *all)}))
            .collect();
        json!({
            "file": name,
            "turns": tally.turns,
            "rows": rows(tally),
            "without": ablated(tally),
            "baselines": baselines,
            "openings": tally.openings,
            "placed": (tally.openings > 0).then(|| percent(tally.placed as f64, tally.openings)),
            "next_file": moves,
            "assembling_ms": times(&tally.took),
            "embedding_ms": times(&tally.embedding),
            "index_bytes": tally.index_bytes,
            "said_bytes": tally.said_bytes,
        })
    };
    json!({"files": files.iter().map(one).collect::<Vec<_>>()})
}
