//! `neap explain`: what was in the context of a turn and why, and what was left out.

use std::process::ExitCode;

use neap_core::event::{CollapseCause, EpochCause, Event};
use neap_core::ids::{EffortId, TurnNo};
use neap_core::ledger::{Ledger, LogShown};
use neap_core::message::Scope;
use neap_engine::Explained;

use crate::app;
use crate::cli::ExplainArgs;
use crate::env::DataDir;
use crate::out::{self, BOLD, DIM, Failure, thousands};

pub(crate) async fn run(data: &DataDir, args: &ExplainArgs, json: bool) -> Result<ExitCode, Failure> {
    let id = app::session_id(&args.session)?;
    let explained = app::reader(data)?.explain(&id, args.turn.map(TurnNo)).await?;
    if json {
        out::json_line(&explained)?;
    } else {
        out::piece(render(&explained));
    }
    Ok(ExitCode::SUCCESS)
}

/// The account for people.
pub(crate) fn render(explained: &Explained) -> String {
    let mut out = format!("{BOLD}turn {}{BOLD:#}", explained.turn);
    if let Some(scope) = &explained.scope {
        out.push_str(&format!(" {DIM}in{DIM:#} {}", name(scope)));
    }
    out.push('\n');
    if let Some(message) = &explained.message {
        out.push_str(&format!("  {DIM}said:{DIM:#} {}\n", one_line(message)));
    }
    for round in &explained.rounds {
        for (call, result) in round.assistant.message.tool_calls.iter().zip(&round.results) {
            out.push_str(&format!(
                "  {DIM}called{DIM:#} {}({}) {DIM}→{DIM:#} {}\n",
                out::clean(&call.name),
                one_line(&call.arguments),
                one_line(&result.message.content)
            ));
        }
    }
    match &explained.ledger {
        Some(ledger) => out.push_str(&render_ledger(ledger)),
        None => out.push_str("  no reply, so no record of a context\n"),
    }
    if !explained.happened.is_empty() {
        out.push_str(&format!("{BOLD}what happened{BOLD:#}\n"));
        for event in &explained.happened {
            out.push_str(&format!("  {}\n", describe(event)));
        }
    }
    out
}

/// Layers with their tokens, what they held, and what was left out.
pub(crate) fn render_ledger(ledger: &Ledger) -> String {
    let mut out = format!(
        "{BOLD}in the context{BOLD:#} {} of {} tokens {DIM}(sending everything: {}){DIM:#}\n",
        thousands(ledger.tokens.total().0),
        thousands(ledger.budget.0),
        thousands(ledger.naive_tokens.0)
    );
    let rows: Vec<Vec<String>> = ledger
        .tokens
        .entries()
        .filter(|(_, tokens)| tokens.0 > 0)
        .map(|(layer, tokens)| {
            let shown = ledger.logs.iter().filter(|log| log.layer == layer).map(shown);
            let mut held: Vec<String> = shown.collect();
            if layer == neap_core::ledger::Layer::Summaries {
                held.push(ids(&ledger.summaries));
            }
            vec![format!("  {}", layer.as_str()), thousands(tokens.0), held.join("; ")]
        })
        .collect();
    out.push_str(&out::table(&["  layer", "tokens", "holds"], &rows));
    let mut left_out: Vec<String> = Vec::new();
    if !ledger.summaries_over_budget.is_empty() {
        let (count, some) = (ledger.summaries_over_budget_count, ids(&ledger.summaries_over_budget));
        left_out.push(format!("{count} summaries over the layer's share, first {some}"));
    }
    if ledger.evicted > 0 {
        left_out.push(format!("{} evicted efforts, not referenced for long: search finds them", ledger.evicted));
    }
    for log in ledger.logs.iter().filter(|log| log.left_out > 0) {
        left_out.push(format!("{} older exchanges of {}", log.left_out, name(&log.scope)));
    }
    if ledger.rounds_left_out > 0 {
        left_out.push(format!("{} earlier tool rounds of the turn", ledger.rounds_left_out));
    }
    if !left_out.is_empty() {
        out.push_str(&format!("{BOLD}left out{BOLD:#}\n"));
        for line in left_out {
            out.push_str(&format!("  {line}\n"));
        }
    }
    out
}

fn shown(log: &LogShown) -> String {
    let from = log.from.map_or_else(String::new, |turn| format!(", from turn {turn}"));
    let cut = if log.excerpted { ", cut to head and tail" } else { "" };
    let plural = if log.exchanges == 1 { "" } else { "s" };
    format!("{}: {} exchange{plural}{from}{cut}", name(&log.scope), log.exchanges)
}

fn name(scope: &Scope) -> String {
    scope.effort().map_or_else(|| "ambient chat".to_owned(), EffortId::to_string)
}

fn ids(ids: &[EffortId]) -> String {
    ids.iter().map(EffortId::as_str).collect::<Vec<_>>().join(", ")
}

fn one_line(text: &str) -> String {
    let flat = out::clean(text).split_whitespace().collect::<Vec<_>>().join(" ");
    match flat.char_indices().nth(160) {
        Some((cut, _)) => format!("{}…", &flat[..cut]),
        None => flat,
    }
}

fn describe(event: &Event) -> String {
    match event {
        Event::EffortOpened { id, .. } => format!("opened {id}"),
        Event::EffortConcluded { id, .. } => format!("concluded {id}"),
        Event::EffortSummarized { id, summary, .. } => format!("summary of {id}: {}", one_line(&summary.text)),
        Event::EffortExpanded { id, tokens_loaded, .. } => format!("expanded {id}: {tokens_loaded} tokens loaded"),
        Event::EffortCollapsed { id, cause, tokens_freed, .. } => {
            let why = match cause {
                CollapseCause::Asked => "asked for".to_owned(),
                CollapseCause::Decayed { inactive_turns } => format!("not referenced for {inactive_turns} turns"),
                CollapseCause::Crowded => "too many others were expanded".to_owned(),
                CollapseCause::Restarted => "the session was opened again".to_owned(),
            };
            format!("collapsed {id}: {why}; {tokens_freed} tokens freed")
        }
        Event::EffortSwitched { id, .. } => format!("switched to {id}"),
        Event::EffortReopened { id, .. } => format!("reopened {id}"),
        Event::EffortsReferenced { ids: of, .. } => format!("referenced {}", ids(of)),
        Event::SummariesEvicted { ids: of, .. } => format!("evicted {}", ids(of)),
        Event::SpanCompacted { scope, span, .. } => {
            format!("summarised {}: {} tokens in {}", span.handle(scope), span.size.tokens, span.tokens)
        }
        Event::EpochBegan { cause, .. } => format!("prompt written anew ({})", epoch_cause(*cause)),
        Event::SessionCreated { .. }
        | Event::PolicyChanged { .. }
        | Event::TurnStarted { .. }
        | Event::ToolsCalled { .. }
        | Event::TurnCompleted { .. }
        | Event::TurnAbandoned { .. }
        | Event::Scrubbed { .. } => event.kind().replace('_', " "),
    }
}

fn epoch_cause(cause: EpochCause) -> &'static str {
    match cause {
        EpochCause::First => "there was none",
        EpochCause::Full => "it was full",
        EpochCause::Expired => "the cache had forgotten it",
        EpochCause::Cheaper => "a shorter one is cheaper",
        EpochCause::TurnsOver => "its turns were over",
    }
}
