//! `neap explain`: what was in the context of a turn and why, and what was left out.

pub(crate) mod chosen;

use std::process::ExitCode;

use neap_core::event::{EpochCause, Event};
use neap_core::ids::{EffortId, TurnNo};
use neap_core::ingest::{Passed, Used};
use neap_core::ledger::{Layer, Ledger, LogShown};
use neap_core::memory::MemoryKind;
use neap_core::message::Scope;
use neap_core::receipt::Receipt;
use neap_engine::Explained;

use crate::app;
use crate::cli::ExplainArgs;
use crate::cmd::receipts;
use crate::env::DataDir;
use crate::out::{self, BOLD, DIM, Failure, thousands};
use chosen::Says;

pub(crate) async fn run(data: &DataDir, args: &ExplainArgs, json: bool) -> Result<ExitCode, Failure> {
    let id = app::session_id(&args.session)?;
    let explained = app::reader(data)?.explain(&id, args.turn.map(TurnNo)).await?;
    if json {
        out::json_line(&explained)?;
    } else {
        let says = chosen::says(&app::known_agent(data).await?, &explained).await?;
        out::piece(render(&explained, &says));
    }
    Ok(ExitCode::SUCCESS)
}

/// The account for people; `says` is what the memories that were chosen say.
pub(crate) fn render(explained: &Explained, says: &Says) -> String {
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
        Some(ledger) => {
            out.push_str(&render_ledger(ledger));
            out.push_str(&price(ledger, explained.epoch_cause));
            out.push_str(
                &explained
                    .chosen
                    .as_ref()
                    .map_or_else(String::new, |at| chosen::render(explained.turn, at, ledger, says)),
            );
        }
        None if explained.happened.iter().any(|event| matches!(event, Event::RequestPassed { .. })) => {}
        None => out.push_str("  no reply, so no record of a context\n"),
    }
    if !explained.happened.is_empty() {
        out.push_str(&format!("{BOLD}what happened{BOLD:#}\n"));
        for event in &explained.happened {
            out.push_str(&format!("  {}\n", describe(event)));
            for line in receipt(event).map(accounted).unwrap_or_default() {
                out.push_str(&format!("    {DIM}{line}{DIM:#}\n"));
            }
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
            if layer == Layer::Summaries {
                held.push(ids(&ledger.summaries));
            }
            held.extend(kind_of(layer).map(|kind| chosen::ids(&ledger.memories, kind)));
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

/// What the turn's calls cost, and since when the prompt only grows.
fn price(ledger: &Ledger, cause: Option<EpochCause>) -> String {
    let cost = &ledger.cost;
    let mut out = String::new();
    if cost.calls > 0 {
        out.push_str(&format!(
            "{BOLD}cost{BOLD:#} {} tokens sent in {}, {} % of them cached; {}\n",
            thousands(cost.sent.0),
            out::count(cost.calls, "call"),
            cost.cached_percent(),
            out::dollars(cost.dollars())
        ));
    }
    if let Some(since) = ledger.epoch_since {
        let why = cause.map_or_else(String::new, |cause| format!(", because {cause}"));
        out.push_str(&format!("{BOLD}epoch{BOLD:#} the prompt was written anew for turn {since}{why}\n"));
    }
    out
}

/// What a summary kept, if the event made one.
fn receipt(event: &Event) -> Option<&Receipt> {
    match event {
        Event::EffortConcluded { receipt, .. }
        | Event::EffortSummarized { receipt, .. }
        | Event::SpanCompacted { receipt, .. } => receipt.as_deref(),
        Event::ClientCompacted { receipt, .. } => Some(receipt),
        Event::SessionCreated { .. }
        | Event::PolicyChanged { .. }
        | Event::TurnStarted { .. }
        | Event::ToolsCalled { .. }
        | Event::EffortOpened { .. }
        | Event::EffortExpanded { .. }
        | Event::EffortCollapsed { .. }
        | Event::EffortSwitched { .. }
        | Event::EffortReopened { .. }
        | Event::EffortsReferenced { .. }
        | Event::SummariesEvicted { .. }
        | Event::HistoryLinked { .. }
        | Event::RequestPassed { .. }
        | Event::EpochBegan { .. }
        | Event::TurnCompleted { .. }
        | Event::TurnAbandoned { .. }
        | Event::MessageAdded { .. }
        | Event::TurnClosed { .. }
        | Event::TurnTakenBack { .. }
        | Event::MemoriesLoaded { .. }
        | Event::CensorTriggered { .. }
        | Event::MemoryChanged { .. }
        | Event::MemoryErased { .. }
        | Event::Scrubbed { .. } => None,
    }
}

/// The kind of memory that a layer holds, if it holds what was found.
fn kind_of(layer: Layer) -> Option<MemoryKind> {
    let kinds = [Layer::Decisions, Layer::Facts, Layer::Procedures, Layer::Episodes, Layer::Censors];
    kinds.into_iter().zip(MemoryKind::ALL).find(|(of, _)| *of == layer).map(|(_, kind)| kind)
}

fn accounted(receipt: &Receipt) -> Vec<String> {
    std::iter::once(receipts::in_short(receipt)).chain(receipts::notes(receipt)).collect()
}

fn shown(log: &LogShown) -> String {
    let from = log.from.map_or_else(String::new, |turn| format!(", from turn {turn}"));
    let cut = if log.excerpted { ", cut to head and tail" } else { "" };
    let plural = if log.exchanges == 1 { "" } else { "s" };
    let short = log.in_short.as_ref().map_or_else(String::new, |handle| format!("{handle} in short, then "));
    format!("{}: {short}{} exchange{plural}{from}{cut}", name(&log.scope), log.exchanges)
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

/// A request of a client's, in a line.
fn passed_on(passed: &Passed) -> String {
    let Passed { class, verdict, tokens_in, tokens_sent, changes, epoch, used, is_whole } = passed;
    let verdict = verdict.map_or_else(String::new, |verdict| format!(", {}", verdict.as_str()));
    let mut line = format!(
        "passed on ({}{verdict}): {} tokens came, {} went on, {} in epoch {epoch}",
        class.as_str(),
        thousands(tokens_in.0),
        thousands(tokens_sent.0),
        out::count(*changes, "change"),
    );
    if let Some(Used { input, cached, output }) = used {
        let percent = (cached.0 * 100).checked_div(input.0).unwrap_or(0);
        let (input, output) = (thousands(input.0), thousands(output.0));
        line.push_str(&format!("; by the provider {input} in, {percent} % of them cached, {output} out"));
    }
    if !is_whole {
        line.push_str("; the answer broke off");
    }
    line
}

fn describe(event: &Event) -> String {
    match event {
        Event::EffortOpened { id, .. } => format!("opened {id}"),
        Event::EffortConcluded { id, .. } => format!("concluded {id}"),
        Event::EffortSummarized { id, summary, .. } => format!("summary of {id}: {}", one_line(&summary.text)),
        Event::EffortExpanded { id, tokens_loaded, .. } => format!("expanded {id}: {tokens_loaded} tokens loaded"),
        Event::EffortCollapsed { id, cause, tokens_freed, .. } => {
            format!("collapsed {id}: {cause}; {tokens_freed} tokens freed")
        }
        Event::EffortSwitched { id, .. } => format!("switched to {id}"),
        Event::EffortReopened { id, .. } => format!("reopened {id}"),
        Event::EffortsReferenced { ids: of, .. } => format!("referenced {}", ids(of)),
        Event::SummariesEvicted { ids: of, .. } => format!("evicted {}", ids(of)),
        Event::SpanCompacted { scope, span, .. } => {
            let (said, line) = (thousands(span.size.tokens.0), thousands(span.tokens.0));
            format!("summarised {}: {said} tokens in {line}", span.handle(scope))
        }
        Event::MessageAdded { message, .. } => {
            let said = &message.message;
            format!("{} added: {}", said.role.as_str(), one_line(&said.content))
        }
        Event::EpochBegan { cause, .. } => format!("prompt written anew ({})", cause),
        Event::RequestPassed { passed, .. } => passed_on(passed),
        Event::ClientCompacted { turn, first, source_tokens, summary_tokens, .. } => {
            let (said, line) = (thousands(source_tokens.0), thousands(summary_tokens.0));
            format!("the client summarised turns {first} to {turn}: {said} tokens in {line}")
        }
        Event::MemoriesLoaded { loaded, .. } => chosen::describe(loaded),
        Event::CensorTriggered { id, side, action, .. } => chosen::triggered(*id, *side, *action),
        Event::TurnTakenBack { .. } => "taken back: no longer shown or found".to_owned(),
        Event::SessionCreated { .. }
        | Event::PolicyChanged { .. }
        | Event::TurnStarted { .. }
        | Event::ToolsCalled { .. }
        | Event::TurnCompleted { .. }
        | Event::TurnAbandoned { .. }
        | Event::TurnClosed { .. }
        | Event::HistoryLinked { .. }
        | Event::MemoryChanged { .. }
        | Event::MemoryErased { .. }
        | Event::Scrubbed { .. } => event.kind().replace('_', " "),
    }
}
