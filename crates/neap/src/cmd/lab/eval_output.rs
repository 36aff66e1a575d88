//! Prints the evaluation's results, as tables or JSON.

use neap_lab::eval::{EvalOptions, EvalTally, PrecisionReport, PrecisionRow, ScoreRow, Surface, percent};
use neap_lab::percentile;
use serde_json::{Value, json};

use crate::out::{self, BOLD, DIM};

pub(super) fn render(name: &str, tally: &EvalTally, options: &EvalOptions) -> String {
    let mut text = format!("{BOLD}{name}{BOLD:#} {DIM}{} turns{DIM:#}\n", out::thousands(tally.turns));
    let rows = tally.rows();
    let cell = |share: Option<f64>| share.map_or_else(String::new, |share| format!("{share:.1}"));
    if !rows.is_empty() {
        let cells = |row: &ScoreRow| {
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
            "category", "budget", "questions", "recall %", "newest %", "stale only %", "answer first %",
            "answer in %", "tokens",
        ];
        text.push_str(&out::table(&head, &rows.iter().map(cells).collect::<Vec<_>>()));
    }
    let ablated = tally.ablation_rows();
    if !ablated.is_empty() {
        let cells = |row: &ScoreRow| {
            vec![row.category.clone(), out::thousands(row.budget), cell(row.recall), cell(row.answer_first)]
        };
        let head = ["left out", "budget", "recall %", "answer first %"];
        text.push('\n');
        text.push_str(&out::table(&head, &ablated.iter().map(cells).collect::<Vec<_>>()));
    }
    for ((baseline, budget), shares) in &tally.baselines {
        let mean = percent(shares.iter().sum(), shares.len() as u64);
        text.push_str(&format!("{DIM}{baseline} at {budget}: {mean:.1} %{DIM:#}\n"));
    }
    if tally.openings > 0 {
        let share = percent(tally.placed_right as f64, tally.openings);
        text.push_str(&format!("first messages assigned to the right work: {share:.1} % of {}\n", tally.openings));
    }
    for (budget, (all, seen)) in &tally.moves {
        let share = percent(*seen as f64, *all);
        text.push_str(&format!("next file recalled at {budget}: {share:.1} % of {}\n", out::count(*all, "move")));
    }
    let times = |times: &[f64]| {
        let [p50, p95, p99] = [50, 95, 99].map(|percent| percentile(times, percent));
        format!("{p50:.2} / {p95:.2} / {p99:.2} ms")
    };
    if !tally.assembly_ms.is_empty() {
        text.push_str(&format!("{DIM}assembling p50 / p95 / p99: {}", times(&tally.assembly_ms)));
        if options.embedder.is_some() && !tally.embedding_ms.is_empty() {
            text.push_str(&format!("; embedding a question: {}", times(&tally.embedding_ms)));
        }
        text.push_str(&format!("{DIM:#}\n"));
    }
    let share = percent(tally.index_bytes as f64, tally.text_bytes.max(1));
    text.push_str(&format!(
        "{DIM}index: {} KiB, {share:.0} % of the recorded text{DIM:#}\n\n",
        tally.index_bytes / 1_024
    ));
    text
}

pub(super) fn to_json(files: &[(String, EvalTally)]) -> Value {
    let one = |(name, tally): &(String, EvalTally)| {
        let times = |all: &[f64]| json!({"p50": percentile(all, 50), "p95": percentile(all, 95), "p99": percentile(all, 99)});
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
            "rows": tally.rows(),
            "without": tally.ablation_rows(),
            "baselines": baselines,
            "openings": tally.openings,
            "placed": (tally.openings > 0).then(|| percent(tally.placed_right as f64, tally.openings)),
            "next_file": moves,
            "assembling_ms": times(&tally.assembly_ms),
            "embedding_ms": times(&tally.embedding_ms),
            "index_bytes": tally.index_bytes,
            "said_bytes": tally.text_bytes,
        })
    };
    json!({"files": files.iter().map(one).collect::<Vec<_>>()})
}

pub(super) fn render_precision(report: &PrecisionReport) -> String {
    let row = |((surface, tunes, kind), row): (&(Surface, bool, String), &PrecisionRow)| {
        let mean = |sum: f64| format!("{:.1}", percent(sum, row.cases));
        let surface = if *surface == Surface::Context { "context" } else { "recall" };
        let half = if *tunes { "tuning" } else { "held out" };
        let exact = mean(row.exact as f64);
        vec![
            surface.to_owned(),
            half.to_owned(),
            kind.clone(),
            row.cases.to_string(),
            mean(row.precision),
            mean(row.recall),
            mean(row.recall_with_nearest),
            exact,
        ]
    };
    let head = ["surface", "half", "questions", "cases", "precision %", "recall %", "with nearest %", "exact %"];
    out::table(&head, &report.rows.iter().map(row).collect::<Vec<_>>())
}

pub(super) fn precision_json(report: &PrecisionReport) -> Value {
    let row = |((surface, tunes, kind), row): (&(Surface, bool, String), &PrecisionRow)| {
        json!({
            "surface": surface, "tunes": tunes, "questions": kind, "cases": row.cases,
            "precision": percent(row.precision, row.cases), "recall": percent(row.recall, row.cases),
            "recall_with_nearest": percent(row.recall_with_nearest, row.cases), "exact": percent(row.exact as f64, row.cases),
        })
    };
    json!({"rows": report.rows.iter().map(row).collect::<Vec<_>>(), "misses": report.misses})
}
