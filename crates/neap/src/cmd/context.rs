//! `neap context`: what the agent's memory would put into the context for a question, and why.

use std::process::ExitCode;
use std::time::Instant;

use neap_core::knowledge::{Context, Fate, Knowledge, Weighed};
use neap_core::tokens::Tokens;
use serde_json::{Value, json};

use crate::app;
use crate::cli::ContextArgs;
use crate::env::DataDir;
use crate::out::{self, BOLD, DIM, Failure, thousands};

pub(crate) async fn run(data: &DataDir, args: &ContextArgs, json: bool) -> Result<ExitCode, Failure> {
    // From scratch: opening the store is part of it.
    let began = Instant::now();
    let agent = app::known_agent(data).await?;
    let context = agent.context(&args.question, args.frame.as_deref(), args.budget.map(Tokens)).await?;
    let build_ms = began.elapsed().as_secs_f64() * 1_000.0;
    if json {
        out::json_line(&to_json(&context, build_ms))?;
    } else if args.explain {
        out::piece(explained(&context, build_ms));
    } else if context.page.sections.is_empty() {
        out::line(format!("{DIM}Nothing: the agent knows nothing yet. `neap remember` teaches it.{DIM:#}"));
    } else {
        out::piece(out::clean(&context.page.text()));
    }
    Ok(ExitCode::SUCCESS)
}

fn to_json(context: &Context, build_ms: f64) -> Value {
    let page = &context.page;
    let sections: Vec<Value> =
        page.sections.iter().map(|(layer, text)| json!({"layer": layer, "text": text})).collect();
    let weighed = |of: &Weighed| {
        let t = &of.terms;
        json!({
            "id": of.id, "score": t.score, "similarity": t.similarity, "priority": t.priority, "recency": t.recency,
            "outcome": t.outcome, "usage": t.usage, "confidence": t.confidence,
            "loaded": matches!(of.fate, Fate::Loaded(_)), "why": of.fate.explain(),
        })
    };
    json!({
        "frame": page.frame, "frame_confidence": page.frame_confidence, "frame_because": context.frame_because,
        "text": page.text(), "sections": sections, "tokens": page.tokens, "tokens_total": page.tokens.total(),
        "budget": page.budget, "items": page.items, "candidates": page.weighed.iter().map(weighed).collect::<Vec<_>>(),
        "build_ms": (build_ms * 1_000.0).round() / 1_000.0,
    })
}

/// The account for people.
fn explained(context: &Context, build_ms: f64) -> String {
    let page = &context.page;
    let mut text = format!("{BOLD}frame{BOLD:#} {}\n", out::clean(&context.frame_because));
    text.push_str(&format!(
        "{BOLD}tokens{BOLD:#} {} of {}: {}\n",
        thousands(page.tokens.total().0),
        thousands(page.budget.0),
        layers(page)
    ));
    text.push_str(&format!("{BOLD}built{BOLD:#} in {build_ms:.1} ms, opening the store included\n"));
    if page.weighed.is_empty() {
        text.push_str(&format!(
            "{DIM}No candidates: nothing that is known shares a word with the question.{DIM:#}\n"
        ));
        return text;
    }
    let row = |of: &Weighed| {
        let t = &of.terms;
        let mark = if matches!(of.fate, Fate::Loaded(_)) { "✓" } else { "" };
        vec![
            mark.to_owned(),
            format!("{BOLD}{}{BOLD:#}", of.id),
            out::share(t.score),
            out::share(t.similarity),
            out::share(t.priority),
            out::share(t.recency),
            out::share(t.outcome),
            out::share(t.usage),
            out::share(t.confidence),
            of.fate.explain(),
        ]
    };
    let head =
        ["", "id", "score", "likeness", "priority", "recency", "outcome", "usage", "confidence", "in or out"];
    text.push_str(&out::table(&head, &page.weighed.iter().map(row).collect::<Vec<_>>()));
    text.push_str(&format!(
        "{DIM}score: likeness ½, priority and recency 15 % each, outcome 10 %, usage and confidence 5 % each, and \
         what became of the record{DIM:#}\n"
    ));
    text
}

fn layers(page: &Knowledge) -> String {
    let each = page.tokens.entries().filter(|(_, tokens)| tokens.0 > 0);
    each.map(|(layer, tokens)| format!("{} {}", layer.as_str(), thousands(tokens.0)))
        .collect::<Vec<_>>()
        .join(", ")
}
