//! `neap context`: shows which memories would be in the context for a question, and why.

use std::process::ExitCode;
use std::time::Instant;

use neap_core::base::tokens::Tokens;
use neap_core::memory::MemoryId;
use neap_core::memory::knowledge::{Knowledge, QuestionContext, ScoredMemory, SelectionOutcome};
use neap_engine::forms::QuestionForm;
use serde_json::json;

use crate::app;
use crate::cli::ContextArgs;
use crate::env::DataDir;
use crate::out::{self, BOLD, DIM, Failure, thousands};
use crate::project::Asked;

pub(crate) async fn run(data: &DataDir, args: &ContextArgs, json: bool) -> Result<ExitCode, Failure> {
    // Includes opening the store and embedding what is new.
    let began = Instant::now();
    let (engine, agent) = app::asked_agent(data).await?;
    let project = Asked::of(args.project.project.as_deref())?.filter();
    let (frame, budget) = (args.frame.as_deref(), args.budget.map(Tokens));
    let context = agent.context_in(&args.question, frame, project, budget).await?;
    app::note_embed_fault(&engine, json)?;
    let build_ms = began.elapsed().as_secs_f64() * 1_000.0;
    if let Some(id) = args.expect {
        let is_stored = agent.get(id).await?.is_some();
        return print_expected(id, &context, is_stored, json);
    }
    out::print_answer(json, &QuestionForm::new(&context, build_ms), || {
        if args.explain {
            render_explained(&context, build_ms)
        } else if context.knowledge.sections.is_empty() {
            format!("{DIM}The agent has no memories yet: `neap remember` stores one.{DIM:#}\n")
        } else {
            out::escape_control(&context.knowledge.text()).into_owned()
        }
    })
}

/// What became of a memory that was expected.
fn print_expected(
    id: MemoryId,
    context: &QuestionContext,
    is_stored: bool,
    json: bool,
) -> Result<ExitCode, Failure> {
    let found = context.knowledge.candidates.iter().find(|memory| memory.id == id);
    let outcome = match found {
        Some(memory) => memory.outcome.explain(),
        None if !is_stored => "out: not stored".to_owned(),
        None => "out: not proposed: it shares no word with the question, and is not near to it".to_owned(),
    };
    let score = found.map(|memory| memory.breakdown.score);
    let likeness = found.map(|memory| memory.breakdown.similarity);
    let value = json!({"expected": id, "outcome": outcome, "score": score, "similarity": likeness});
    out::print_answer(json, &value, || {
        let scores = found.map_or_else(String::new, |memory| {
            let scored = &memory.breakdown;
            format!("; score {}, likeness {}", scored.score, scored.similarity)
        });
        format!("{BOLD}{id}{BOLD:#} {outcome}{scores}\n")
    })
}

fn render_explained(context: &QuestionContext, build_ms: f64) -> String {
    let page = &context.knowledge;
    let mut text = format!("{BOLD}frame{BOLD:#} {}\n", out::escape_control(&context.frame_reason));
    text.push_str(&format!(
        "{BOLD}tokens{BOLD:#} {} of {}: {}\n",
        thousands(page.tokens.total().0),
        thousands(page.budget.0),
        layers_text(page)
    ));
    text.push_str(&format!(
        "{BOLD}built{BOLD:#} in {build_ms:.1} ms, opening the store and embedding what is new included\n"
    ));
    if page.candidates.is_empty() {
        text.push_str(&format!("{DIM}No candidates: no memory shares a word with the question.{DIM:#}\n"));
        return text;
    }
    let row = |memory: &ScoredMemory| {
        let t = &memory.breakdown;
        let mark = if matches!(memory.outcome, SelectionOutcome::Loaded(_)) { "✓" } else { "" };
        vec![
            mark.to_owned(),
            format!("{BOLD}{}{BOLD:#}", memory.id),
            out::two_decimals(t.score),
            out::two_decimals(t.similarity),
            out::two_decimals(t.priority),
            out::two_decimals(t.recency),
            out::two_decimals(t.outcome),
            out::two_decimals(t.usage),
            out::two_decimals(t.confidence),
            memory.outcome.explain(),
        ]
    };
    let head = ["", "id", "score", "likeness", "priority", "recency", "outcome", "usage", "confidence", "result"];
    text.push_str(&out::table(&head, &page.candidates.iter().map(row).collect::<Vec<_>>()));
    text.push_str(&format!(
        "{DIM}score: likeness ½, priority and recency 15 % each, outcome 10 %, usage and confidence 5 % each, \
         adjusted for the memory's status{DIM:#}\n"
    ));
    text
}

fn layers_text(page: &Knowledge) -> String {
    let each = page.tokens.entries().filter(|(_, tokens)| tokens.0 > 0);
    each.map(|(layer, tokens)| format!("{} {}", layer.as_str(), thousands(tokens.0)))
        .collect::<Vec<_>>()
        .join(", ")
}
