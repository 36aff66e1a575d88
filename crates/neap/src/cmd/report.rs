//! `neap report`: figures of a session, or of all together.

use std::process::ExitCode;

use neap_core::base::tokens::Tokens;
use neap_core::client::{RequestCost, RequestTotals, TokenUsage};
use neap_core::session::report::{AgentReport, Metric, Report, Savings};
use neap_engine::Engine;
use neap_engine::forms::{ModelTotals, ProjectTotals, SessionReport, StoreReport, TotalTokens};

use crate::app;
use crate::cli::ReportArgs;
use crate::env::DataDir;
use crate::out::{self, BAD, DIM, Failure, GOOD, thousands};

pub(crate) async fn run(data: &DataDir, args: &ReportArgs, json: bool) -> Result<ExitCode, Failure> {
    let engine = app::read_engine(data)?;
    if args.all {
        return report_all(&engine, json).await;
    }
    let id = app::named_or_latest(&engine, args.session.as_deref()).await?;
    let report = engine.attach(&id).await?.report();
    let agent = app::existing_agent(data).await?.report();
    if json {
        out::print_json(&SessionReport::new(id, report, agent))?;
    } else {
        out::print_text(render(&report, true));
        out::print_text(render_memories(&report, &agent));
    }
    Ok(ExitCode::SUCCESS)
}

/// Totals of all sessions, from their rows alone.
async fn report_all(engine: &Engine, json: bool) -> Result<ExitCode, Failure> {
    let value = StoreReport::of(&engine.sessions().await?);
    let StoreReport { sessions: count, turns, cost, requests, .. } = &value;
    let mut rows = vec![("sessions", thousands(*count)), ("turns", thousands(*turns))];
    if cost.calls > 0 {
        rows.push(("model calls", thousands(cost.calls)));
        rows.push(("tokens sent", thousands(cost.sent.0)));
        rows.push(("cached share", format!("{} %", cost.cached_percent())));
        rows.push(("price", out::dollars(cost.dollars())));
    }
    rows.extend(request_rows(requests));
    out::print_answer(json, &value, || format!("{}{}{}", table(rows), by_model(&value), by_project(&value)))
}

/// Empty if no model's name is known.
fn by_model(report: &StoreReport) -> String {
    let row = |totals: &ModelTotals| {
        let mut row = vec![totals.model.to_string(), thousands(totals.calls)];
        row.extend(token_cells(&totals.tokens));
        row.push(totals.dollars.map_or_else(|| "–".to_owned(), out::dollars));
        row
    };
    titled_table(&["model", "calls", "tokens sent", "cached", "price"], report.models.iter().map(row).collect())
}

/// Empty if there is no project.
fn by_project(report: &StoreReport) -> String {
    if report.projects.iter().all(|totals| totals.project.is_none()) {
        return String::new();
    }
    let row = |totals: &ProjectTotals| {
        let name = totals.project.as_ref().map_or_else(|| "(none)".to_owned(), ToString::to_string);
        let mut row = vec![name, thousands(totals.sessions)];
        row.extend(token_cells(&totals.tokens));
        row.push(out::dollars(totals.dollars));
        row
    };
    titled_table(
        &["project", "sessions", "tokens sent", "cached", "price"],
        report.projects.iter().map(row).collect(),
    )
}

fn token_cells(tokens: &TotalTokens) -> [String; 2] {
    let TotalTokens { sent, cached, output: _ } = tokens;
    let share = if *sent > Tokens::ZERO { cached.0 as f64 / sent.0 as f64 * 100.0 } else { 0.0 };
    [thousands(sent.0), format!("{share:.0} %")]
}

fn titled_table(titles: &[&str], rows: Vec<Vec<String>>) -> String {
    if rows.is_empty() { String::new() } else { format!("\n{}", out::table(titles, &rows)) }
}

fn table(rows: Vec<(&'static str, String)>) -> String {
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
    out::table(&["metric", "value"], &rows)
}

/// Memory metrics beside their targets; empty if there are no memories.
fn render_memories(report: &Report, agent: &AgentReport) -> String {
    if report.memories.loads == 0 && agent.records == 0 {
        return String::new();
    }
    let row = |metric: &Metric| {
        let value = metric.value.map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"));
        let verdict = match metric.met {
            Some(true) => format!("{GOOD}met{GOOD:#}"),
            Some(false) => format!("{BAD}missed{BAD:#}"),
            None => String::new(),
        };
        vec![metric.name.to_owned(), value, metric.target.to_owned(), verdict]
    };
    let mut rows: Vec<Vec<String>> = report.memories.metrics(agent).iter().map(row).collect();
    let cold_start = vec![
        "cold_start".to_owned(),
        "live".to_owned(),
        "< 500 ms; `neap context --json`: build_ms".to_owned(),
        String::new(),
    ];
    rows.insert(4, cold_start);
    rows.push(vec!["times chosen".to_owned(), thousands(report.memories.loads), String::new(), String::new()]);
    rows.push(vec![
        "rules that matched".to_owned(),
        thousands(report.memories.censored),
        String::new(),
        String::new(),
    ]);
    format!("\n{}", out::table(&["memories", "value", "target", ""], &rows))
}

/// `has_prices` where the model's prices are known, or which model it was is not.
pub(crate) fn render(report: &Report, has_prices: bool) -> String {
    let count = |n: u64| thousands(n);
    let share = |part: f64| format!("{:.1} %", part * 100.0);
    let maybe = |value: Option<f64>, unit: &str| value.map_or_else(|| "–".to_owned(), |v| format!("{v:.2}{unit}"));
    let mut rows = vec![
        ("turns", count(report.turns)),
        ("context_tokens", count(report.context_tokens.0)),
        ("context_tokens_peak", count(report.context_tokens_peak.0)),
        ("expansion_tokens", count(report.expansion_tokens.0)),
        ("expansion_overhead", share(report.expansion_overhead)),
        ("savings_vs_naive, this turn", savings_text(&report.savings_vs_naive)),
        ("savings_vs_naive, all turns", savings_text(&report.savings_vs_naive_all_turns)),
        ("auto_collapses", count(report.auto_collapses)),
        ("manual_collapses", count(report.manual_collapses)),
        ("manual_vs_auto_collapse", maybe(report.manual_vs_auto_collapse, "")),
        ("avg_expansion_duration", maybe(report.avg_expansion_duration, " turns")),
        ("false_decay_rate", maybe(report.false_decay_rate, "")),
        ("tokens_saved_by_decay", count(report.tokens_saved_by_decay.0)),
        ("evictions", count(report.evictions)),
        ("compactions", count(report.compactions)),
        ("epochs", count(report.epochs)),
        ("model calls", count(report.cost.calls)),
        ("tokens sent", count(report.cost.sent.0)),
        ("cached share", share(report.cached_share)),
        ("price, by the session's settings", out::dollars(report.price_dollars)),
        ("efforts open", count(report.efforts.open)),
        ("efforts expanded", count(report.efforts.expanded)),
        ("efforts shown as summary", count(report.efforts.shown)),
        ("efforts evicted", count(report.efforts.evicted)),
    ];
    let is_proxied = report.cost.calls == 0 && !report.requests.is_empty();
    if is_proxied {
        // Neap built none of its prompts.
        rows.retain(|(name, _)| *name == "turns" || name.starts_with("efforts"));
    }
    if !has_prices {
        rows.retain(|(name, _)| !name.starts_with("price"));
    }
    rows.extend(request_rows(&report.requests));
    let note = if is_proxied { String::new() } else { rewrites_note(report) };
    format!("{}{note}", table(rows))
}

/// Why the tokens do not fall as soon as an effort is concluded; empty where they do.
fn rewrites_note(report: &Report) -> String {
    if report.epochs == 0 {
        return String::new();
    }
    let note = format!(
        "The prompt was written anew {}. In between it only grows at its end, so that the provider's cache serves it: {} of \
         the tokens sent were read from there. What left the context stays in it until then. \
         `--set epoch=every-turn` writes it anew every turn.",
        if report.epochs == 1 { "once".to_owned() } else { format!("{} times", thousands(report.epochs)) },
        format_args!("{:.0} %", report.cached_share * 100.0),
    );
    out::wrap(&note, out::width()).iter().map(|line| format!("{DIM}{line}{DIM:#}\n")).collect()
}

/// Proxied requests; empty if there were none.
fn request_rows(totals: &RequestTotals) -> Vec<(&'static str, String)> {
    if totals.is_empty() {
        return Vec::new();
    }
    let share = |part: f64| format!("{:.1} %", part * 100.0);
    let TokenUsage { input, cached: _, cache_written: _, output } = totals.used;
    let mut rows = vec![
        ("requests forwarded", thousands(totals.requests)),
        ("requests changed", thousands(totals.changed)),
        ("answers cut off", thousands(totals.broken_off)),
        ("tokens received", thousands(totals.tokens_in.0)),
        ("tokens forwarded", thousands(totals.tokens_sent.0)),
        ("input tokens, provider's count", thousands(input.0)),
        ("output tokens, provider's count", thousands(output.0)),
        ("cached share, provider's count", totals.cached_share().map_or_else(|| "–".to_owned(), share)),
    ];
    if let Some(cost) = totals.known_cost() {
        if totals.priced < totals.requests {
            rows.push(("requests with known prices", thousands(totals.priced)));
        }
        rows.push(("cost", out::dollars(cost.sent_dollars())));
        rows.push(("cost if untouched", out::dollars(cost.untouched_dollars())));
        rows.push(("saved against untouched", saved_text(&cost)));
    }
    rows
}

/// Money, and its share of what the untouched requests would have cost.
pub(crate) fn saved_text(cost: &RequestCost) -> String {
    let (saved, whole) = (cost.saved_dollars(), cost.untouched_dollars());
    let sign = if saved < 0.0 { "-" } else { "" };
    let share = if whole > 0.0 { saved / whole * 100.0 } else { 0.0 };
    format!("{sign}{} ({share:.1} %)", out::dollars(saved.abs()))
}

fn savings_text(s: &Savings) -> String {
    let tokens = thousands(s.tokens.unsigned_abs());
    if s.tokens < 0 {
        return format!("none yet: {tokens} tokens more than everything, for the rules and the tools");
    }
    let (variable, whole) = (s.of_variable * 100.0, s.of_whole * 100.0);
    format!("{tokens} tokens: {variable:.1} % of the variable part, {whole:.1} % of all")
}
