//! `neap explain`: shows what a turn's context contained and why, and what was left out.

pub(crate) mod loaded_memories;

use std::process::ExitCode;

use neap_core::base::ids::{EffortId, TurnNo};
use neap_core::base::ledger::{Layer, Ledger, LogShown};
use neap_core::base::message::Scope;
use neap_core::client::{RequestAccount, TokenUsage};
use neap_core::memory::{MemoryEvent, MemoryKind};
use neap_core::session::event::{ClientEvent, EffortEvent, EpochCause, Event, TurnEvent, WindowEvent};
use neap_core::text::receipt::Receipt;
use neap_engine::TurnExplanation;

use crate::app;
use crate::cli::ExplainArgs;
use crate::cmd::receipts;
use crate::env::DataDir;
use crate::out::{self, BOLD, DIM, Failure, thousands};
use loaded_memories::MemoryTexts;

/// Shown of a text, its ellipsis included.
const TEXT_CHARS_MAX: usize = 161;

pub(crate) async fn run(data: &DataDir, args: &ExplainArgs, json: bool) -> Result<ExitCode, Failure> {
    let engine = app::read_engine(data)?;
    let id = app::named_or_latest(&engine, args.session.as_deref()).await?;
    let explained = engine.explain(&id, args.turn.map(TurnNo)).await?;
    if json {
        out::print_json(&explained)?;
    } else {
        let texts = loaded_memories::load_texts(&app::existing_agent(data).await?, &explained).await?;
        out::print_text(render(&explained, &texts));
    }
    Ok(ExitCode::SUCCESS)
}

/// `texts` are those of the chosen memories.
pub(crate) fn render(explained: &TurnExplanation, texts: &MemoryTexts) -> String {
    let mut text = format!("{BOLD}turn {}{BOLD:#}", explained.turn);
    if let Some(scope) = &explained.scope {
        text.push_str(&format!(" {DIM}in{DIM:#} {}", scope_name(scope)));
    }
    text.push('\n');
    if let Some(message) = &explained.message {
        text.push_str(&format!("  {DIM}said:{DIM:#} {}\n", out::shorten(message, TEXT_CHARS_MAX)));
    }
    for round in &explained.rounds {
        for (call, result) in round.assistant.message.tool_calls.iter().zip(&round.results) {
            text.push_str(&format!(
                "  {DIM}called{DIM:#} {}({}) {DIM}→{DIM:#} {}\n",
                out::escape_control(&call.name),
                out::shorten(&call.arguments, TEXT_CHARS_MAX),
                out::shorten(&result.message.content, TEXT_CHARS_MAX)
            ));
        }
    }
    let happened = |is_it: fn(&Event) -> bool| explained.happened.iter().any(is_it);
    match &explained.ledger {
        Some(ledger) => {
            text.push_str(&render_ledger(ledger));
            text.push_str(&render_cost(ledger, explained.epoch_cause));
            text.push_str(&explained.chosen.as_ref().map_or_else(String::new, |selected| {
                loaded_memories::render(explained.turn, selected, ledger, texts)
            }));
        }
        None if happened(|event| matches!(event, Event::Client(ClientEvent::RequestPassed { .. }))) => {}
        None if happened(|event| matches!(event, Event::Turn(TurnEvent::MessageAdded { .. }))) => {
            text.push_str("  recorded from another program: Neap assembled no context\n");
        }
        None => text.push_str("  no reply, so no record of a context\n"),
    }
    if !explained.happened.is_empty() {
        text.push_str(&format!("{BOLD}what happened{BOLD:#}\n"));
        let grows = explained.ledger.as_ref().is_some_and(|ledger| ledger.epoch_since.is_some());
        for event in &explained.happened {
            text.push_str(&format!("  {}\n", describe_event(event)));
            if grows && matches!(event, Event::Effort(EffortEvent::Evicted { .. })) {
                text.push_str(&format!("    {DIM}its words stay in the prompt until the next rewrite{DIM:#}\n"));
            }
            if let Some(receipt) = receipt_of(event) {
                for line in [receipts::summary_line(receipt)].into_iter().chain(receipts::detail_lines(receipt)) {
                    text.push_str(&format!("    {DIM}{line}{DIM:#}\n"));
                }
            }
        }
    }
    text
}

pub(crate) fn render_ledger(ledger: &Ledger) -> String {
    let mut text = format!(
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
            let shown = ledger.logs.iter().filter(|log| log.layer == layer).map(log_text);
            let mut contents: Vec<String> = shown.collect();
            if layer == Layer::Summaries {
                contents.push(effort_ids(&ledger.summaries));
            }
            contents
                .extend(memory_kind_of(layer).map(|kind| loaded_memories::ids_of_kind(&ledger.memories, kind)));
            vec![format!("  {}", layer.as_str()), thousands(tokens.0), contents.join("; ")]
        })
        .collect();
    text.push_str(&out::table(&["  layer", "tokens", "holds"], &rows));
    let mut left_out: Vec<String> = Vec::new();
    if !ledger.summaries_over_budget.is_empty() {
        let (count, first_ids) = (ledger.summaries_over_budget_count, effort_ids(&ledger.summaries_over_budget));
        left_out.push(format!("{count} summaries over the layer's share, first {first_ids}"));
    }
    if ledger.evicted > 0 {
        let (count, since) = (ledger.evicted, ledger.epoch_since);
        let stay = since.map_or_else(String::new, |turn| {
            format!("; the words of those evicted since turn {turn} stay in the prompt until the next rewrite")
        });
        left_out.push(format!("{count} evicted efforts, not referenced for long: search finds them{stay}"));
    }
    for log in ledger.logs.iter().filter(|log| log.left_out > 0) {
        left_out.push(format!("{} older exchanges of {}", log.left_out, scope_name(&log.scope)));
    }
    if ledger.rounds_left_out > 0 {
        left_out.push(format!("{} earlier tool rounds of the turn", ledger.rounds_left_out));
    }
    if !left_out.is_empty() {
        text.push_str(&format!("{BOLD}left out{BOLD:#}\n"));
        for line in left_out {
            text.push_str(&format!("  {line}\n"));
        }
    }
    text
}

fn render_cost(ledger: &Ledger, cause: Option<EpochCause>) -> String {
    let cost = &ledger.cost;
    let mut text = String::new();
    if cost.calls > 0 {
        text.push_str(&format!(
            "{BOLD}cost{BOLD:#} {} tokens sent in {}, {} % of them cached; {}\n",
            thousands(cost.sent.0),
            out::count(cost.calls, "call"),
            cost.cached_percent(),
            out::dollars(cost.dollars())
        ));
    }
    if let Some(since) = ledger.epoch_since {
        let reason = cause.map_or_else(String::new, |cause| format!(", because {cause}"));
        text.push_str(&format!("{BOLD}epoch{BOLD:#} the prompt was rewritten for turn {since}{reason}\n"));
    }
    text
}

fn receipt_of(event: &Event) -> Option<&Receipt> {
    if let Event::Effort(EffortEvent::Concluded { receipt, .. } | EffortEvent::Summarized { receipt, .. })
    | Event::Window(WindowEvent::SpanCompacted { receipt, .. }) = event
    {
        return receipt.as_deref();
    }
    if let Event::Client(ClientEvent::Compacted { receipt, .. }) = event { Some(receipt) } else { None }
}

fn memory_kind_of(layer: Layer) -> Option<MemoryKind> {
    let kinds = [Layer::Decisions, Layer::Facts, Layer::Procedures, Layer::Episodes, Layer::Censors];
    kinds.into_iter().zip(MemoryKind::ALL).find(|(candidate, _)| *candidate == layer).map(|(_, kind)| kind)
}

fn log_text(log: &LogShown) -> String {
    let from = log.from.map_or_else(String::new, |turn| format!(", from turn {turn}"));
    let cut = if log.excerpted { ", cut to head and tail" } else { "" };
    let plural = if log.exchanges == 1 { "" } else { "s" };
    let summary = log.in_short.as_ref().map_or_else(String::new, |handle| format!("{handle} in short, then "));
    format!("{}: {summary}{} exchange{plural}{from}{cut}", scope_name(&log.scope), log.exchanges)
}

fn scope_name(scope: &Scope) -> String {
    scope.effort().map_or_else(|| "ambient chat".to_owned(), EffortId::to_string)
}

fn effort_ids(ids: &[EffortId]) -> String {
    ids.iter().map(EffortId::as_str).collect::<Vec<_>>().join(", ")
}

fn describe_request(account: &RequestAccount) -> String {
    let RequestAccount {
        class,
        verdict,
        tokens_in,
        tokens_sent,
        changes,
        epoch,
        used,
        cost,
        is_whole,
        model,
        counted_by: _,
    } = account;
    let to = model.as_ref().map_or_else(String::new, |model| format!(" to {model}"));
    let verdict = verdict.map_or_else(String::new, |verdict| format!(", {}", verdict.as_str()));
    let mut line = format!(
        "forwarded{to} ({}{verdict}): {} tokens received, {} sent, {} in epoch {epoch}",
        class.as_str(),
        thousands(account.provider_tokens(*tokens_in).0),
        thousands(account.provider_tokens(*tokens_sent).0),
        out::count(*changes, "change"),
    );
    if let Some(TokenUsage { input, cached, cache_written: _, output }) = used {
        let percent = (cached.0 * 100).checked_div(input.0).unwrap_or(0);
        let (input, output) = (thousands(input.0), thousands(output.0));
        line.push_str(&format!("; the provider counted {input} in, {percent} % of them cached, {output} out"));
    }
    if let Some(cost) = cost {
        let (sent, untouched) = (out::dollars(cost.sent_dollars()), out::dollars(cost.untouched_dollars()));
        line.push_str(&format!("; it cost {sent}, untouched {untouched}"));
    }
    if !is_whole {
        line.push_str("; the answer was cut off");
    }
    line
}

fn describe_event(event: &Event) -> String {
    match event {
        Event::Effort(event) => describe_effort_event(event),
        Event::Window(WindowEvent::SpanCompacted { scope, span, .. }) => {
            let (original, compacted) = (thousands(span.size.tokens.0), thousands(span.tokens.0));
            format!("summarised {}: {original} tokens in {compacted}", span.handle(scope))
        }
        Event::Window(WindowEvent::EpochBegan { cause, .. }) => format!("prompt rewritten ({})", cause),
        Event::Turn(TurnEvent::MessageAdded { message, .. }) => {
            let message = &message.message;
            format!("{} added: {}", message.role.as_str(), out::shorten(&message.content, TEXT_CHARS_MAX))
        }
        Event::Turn(TurnEvent::TakenBack { .. }) => "undone: no longer shown or found".to_owned(),
        Event::Client(ClientEvent::RequestPassed { account, .. }) => describe_request(account),
        Event::Client(ClientEvent::Compacted { turn, first, source_tokens, summary_tokens, .. }) => {
            let (original, compacted) = (thousands(source_tokens.0), thousands(summary_tokens.0));
            format!("the client summarised turns {first} to {turn}: {original} tokens in {compacted}")
        }
        Event::Memory(MemoryEvent::Loaded { loaded, .. }) => loaded_memories::describe_load(loaded),
        Event::Memory(MemoryEvent::CensorTriggered { id, side, action, .. }) => {
            loaded_memories::describe_trigger(*id, *side, *action)
        }
        Event::Session(_)
        | Event::Turn(
            TurnEvent::Started { .. }
            | TurnEvent::ToolsCalled { .. }
            | TurnEvent::Completed { .. }
            | TurnEvent::Abandoned { .. }
            | TurnEvent::Closed { .. },
        )
        | Event::Client(ClientEvent::HistoryLinked { .. })
        | Event::Memory(MemoryEvent::Changed { .. } | MemoryEvent::Erased { .. }) => {
            event.kind().replace('_', " ")
        }
    }
}

fn describe_effort_event(event: &EffortEvent) -> String {
    match event {
        EffortEvent::Opened { id, .. } => format!("opened {id}"),
        EffortEvent::Concluded { id, .. } => format!("concluded {id}"),
        EffortEvent::Summarized { id, summary, .. } => {
            format!("summary of {id}: {}", out::shorten(&summary.text, TEXT_CHARS_MAX))
        }
        EffortEvent::Expanded { id, tokens_loaded, .. } => format!("expanded {id}: {tokens_loaded} tokens loaded"),
        EffortEvent::Collapsed { id, cause, tokens_freed, .. } => {
            format!("collapsed {id}: {cause}; {tokens_freed} tokens freed")
        }
        EffortEvent::Switched { id, .. } => format!("switched to {id}"),
        EffortEvent::Reopened { id, .. } => format!("reopened {id}"),
        EffortEvent::Referenced { ids, .. } => format!("referenced {}", effort_ids(ids)),
        EffortEvent::Evicted { ids, .. } => format!("summary evicted: {}", effort_ids(ids)),
    }
}
