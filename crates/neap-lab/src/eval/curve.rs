//! Draws recall against budget as SVG: one chart per file, Neap and the baselines.

use std::fmt::Write as _;

use super::tally::{Baseline, EvalTally, percent};

const WIDTH: f64 = 340.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 46.0;
const TOP: f64 = 44.0;
const RIGHT: f64 = 20.0;
const BOTTOM: f64 = 40.0;

struct Series {
    label: &'static str,
    colour: &'static str,
    dash: &'static str,
    points: Vec<(u64, f64)>,
}

pub fn svg(files: &[(String, EvalTally)]) -> String {
    let charts: Vec<(&str, Vec<Series>)> = files
        .iter()
        .map(|(name, tally)| (name.as_str(), series_of(tally)))
        .filter(|(_, series)| series.iter().any(|series_line| !series_line.points.is_empty()))
        .collect();
    let width = WIDTH * charts.len().max(1) as f64;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{HEIGHT}\" viewBox=\"0 0 {width} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (at, (name, series)) in charts.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ =
            writeln!(text, "<g transform=\"translate({},0)\">\n{}</g>", WIDTH * at as f64, chart(name, series));
    }
    text.push_str("</svg>\n");
    text
}

fn series_of(tally: &EvalTally) -> Vec<Series> {
    let ours = tally.overall();
    let ours = ours.iter().filter(|(_, sum)| sum.with_evidence > 0);
    let ours = ours.map(|(budget, sum)| (*budget, percent(sum.recall, sum.with_evidence))).collect();
    let points_of = |baseline: Baseline| {
        let shares = tally.baselines.iter().filter(|((by, _), _)| *by == baseline);
        shares.map(|((_, budget), all)| (*budget, percent(all.iter().sum(), all.len() as u64))).collect()
    };
    vec![
        Series { label: "Neap", colour: "#0b6e99", dash: "", points: ours },
        Series { label: "BM25", colour: "#b35c00", dash: "6 3", points: points_of(Baseline::Words) },
        Series { label: "most recent", colour: "#777777", dash: "2 3", points: points_of(Baseline::Recent) },
    ]
}

fn chart(name: &str, series: &[Series]) -> String {
    let budgets: Vec<u64> = series.iter().flat_map(|line| &line.points).map(|(budget, _)| *budget).collect();
    let (low, high) = (budgets.iter().min().copied().unwrap_or(1), budgets.iter().max().copied().unwrap_or(2));
    let span = (high as f64).ln() - (low as f64).ln();
    let x = |budget: u64| {
        let share = if span > 0.0 { ((budget as f64).ln() - (low as f64).ln()) / span } else { 0.5 };
        LEFT + share * (WIDTH - LEFT - RIGHT)
    };
    let y = |percent: f64| HEIGHT - BOTTOM - percent / 100.0 * (HEIGHT - TOP - BOTTOM);
    let name: String = name.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c)).collect();
    let mut text = format!("<text x=\"{LEFT}\" y=\"18\" font-size=\"13\" font-weight=\"bold\">{name}</text>\n");
    for percent in [0.0, 25.0, 50.0, 75.0, 100.0] {
        let (right, at) = (WIDTH - RIGHT, y(percent));
        let _ = writeln!(
            text,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\" stroke=\"#e4e4e4\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#555\">{percent:.0} %</text>",
            LEFT - 6.0,
            at + 4.0
        );
    }
    let mut marks = budgets;
    marks.sort_unstable();
    marks.dedup();
    for budget in marks {
        let label = if budget >= 1_000 { format!("{}k", budget as f64 / 1_000.0) } else { budget.to_string() };
        let _ = writeln!(
            text,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555\">{label}</text>",
            x(budget),
            HEIGHT - BOTTOM + 16.0
        );
    }
    let _ = writeln!(
        text,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555\">tokens recalled</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 8.0
    );
    for (at, line) in series.iter().enumerate() {
        let points: Vec<String> =
            line.points.iter().map(|(budget, percent)| format!("{:.1},{:.1}", x(*budget), y(*percent))).collect();
        let legend = LEFT + 92.0 * at as f64;
        let _ = writeln!(
            text,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{c}\" stroke-width=\"2\" stroke-dasharray=\"{d}\"/>\
             <line x1=\"{legend}\" y1=\"30\" x2=\"{}\" y2=\"30\" stroke=\"{c}\" stroke-width=\"2\" stroke-dasharray=\"{d}\"/>\
             <text x=\"{}\" y=\"34\" fill=\"#333\">{}</text>",
            points.join(" "),
            legend + 20.0,
            legend + 25.0,
            line.label,
            c = line.colour,
            d = line.dash,
        );
    }
    text
}
