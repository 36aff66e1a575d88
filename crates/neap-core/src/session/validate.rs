//! Validates imported events: a file need not have been written by us. Tokens are counted again, because the
//! budget relies on them (I1); turns must follow each other; settings must be valid.

use crate::base::message::{CountedMessage, Scope, message_tokens};
use crate::base::tokens::{TokenCounter, Tokens};
use crate::memory::{Author, MemoryEvent};
use crate::session::effort::{LogSize, Summary};
use crate::session::event::{ClientEvent, EffortEvent, Event, SessionEvent, TurnEvent, WindowEvent};
use crate::session::request_account::TokenUsage;
use crate::session::state::SessionState;
use crate::session::window::Span;

/// More tokens than any session has; sums of larger values could overflow.
const TOKENS_MAX: Tokens = Tokens(1 << 40);
/// A longer text is no summary.
const SPAN_BYTES_MAX: usize = 65_536;

/// Returns the event with recounted tokens; fails if it cannot follow this state.
pub fn validate_imported(
    state: &SessionState,
    counter: &dyn TokenCounter,
    mut event: Event,
) -> Result<Event, String> {
    let latest = state.turn();
    let turn = event.turn().unwrap_or(latest);
    let begins = matches!(event, Event::Turn(TurnEvent::Started { .. }));
    if (begins && turn != latest.next()) || (!begins && turn > latest) {
        return Err(format!("turn {turn} cannot follow turn {latest}"));
    }
    match &mut event {
        Event::Session(SessionEvent::Created { policy, .. } | SessionEvent::PolicyChanged { policy }) => {
            policy.check().map_err(|error| error.to_string())?;
        }
        Event::Session(
            SessionEvent::ProjectSet { .. }
            | SessionEvent::HostEntriesAdded { .. }
            | SessionEvent::Scrubbed { .. },
        ) => {}
        Event::Turn(event) => validate_turn(counter, event)?,
        Event::Effort(event) => validate_effort(counter, event)?,
        Event::Window(WindowEvent::SpanCompacted { scope, span, .. }) => {
            validate_span(state, counter, scope, span)?
        }
        Event::Window(WindowEvent::EpochBegan { .. }) => {}
        Event::Client(event) => validate_client(event)?,
        Event::Memory(MemoryEvent::Loaded { loaded, .. }) => {
            let each = loaded.items.iter().map(|item| item.tokens);
            each.chain([loaded.tokens, loaded.budget, Tokens(loaded.considered)]).try_for_each(check_tokens)?;
        }
        Event::Memory(MemoryEvent::CensorTriggered { .. }) => {}
        Event::Memory(MemoryEvent::Changed { .. } | MemoryEvent::Erased { .. }) => {
            return Err("a memory is not part of a session".to_owned());
        }
    }
    Ok(event)
}

fn validate_turn(counter: &dyn TokenCounter, event: &mut TurnEvent) -> Result<(), String> {
    let recount = |counted: &mut CountedMessage| counted.tokens = message_tokens(counter, &counted.message);
    match event {
        TurnEvent::Started { message, author, .. } => {
            recount(message);
            // The author that a file names proves nothing.
            *author = Some(Author::Import);
        }
        TurnEvent::ToolsCalled { round, .. } => {
            recount(&mut round.assistant);
            round.results.iter_mut().chain(&mut round.notes).for_each(recount);
            if !round.is_complete() {
                return Err("a tool call without its result".to_owned());
            }
        }
        TurnEvent::MessageAdded { message, .. } => recount(message),
        TurnEvent::Completed { reply, ledger, .. } => {
            let cost = &ledger.cost;
            let calls = [Tokens(cost.nanodollars / 1_000_000), Tokens(cost.calls)];
            let each = ledger.tokens.entries().map(|(_, tokens)| tokens).chain(calls);
            each.chain([ledger.naive_tokens, cost.sent, cost.cached, cost.output]).try_for_each(check_tokens)?;
            recount(reply);
        }
        TurnEvent::TakenBack { tokens, .. } => check_tokens(*tokens)?,
        TurnEvent::Abandoned { .. } | TurnEvent::Closed { .. } => {}
    }
    Ok(())
}

fn validate_effort(counter: &dyn TokenCounter, event: &mut EffortEvent) -> Result<(), String> {
    match event {
        EffortEvent::Concluded { id, summary, .. } | EffortEvent::Summarized { id, summary, .. } => {
            *summary = Summary::new(counter, id, &summary.text, summary.at);
            Ok(())
        }
        EffortEvent::Expanded { tokens_loaded: tokens, .. }
        | EffortEvent::Collapsed { tokens_freed: tokens, .. } => check_tokens(*tokens),
        EffortEvent::Opened { .. }
        | EffortEvent::Switched { .. }
        | EffortEvent::Reopened { .. }
        | EffortEvent::Referenced { .. }
        | EffortEvent::Evicted { .. } => Ok(()),
    }
}

fn validate_span(
    state: &SessionState,
    counter: &dyn TokenCounter,
    scope: &Scope,
    span: &mut Span,
) -> Result<(), String> {
    if span.first > span.last || span.last > state.turn() {
        return Err(format!("turns {} to {} cannot be a span", span.first, span.last));
    }
    let log = state.log_size(scope);
    let within = |size: LogSize| size.exchanges <= log.exchanges && size.tokens <= log.tokens;
    let cuts = |old: &Span| {
        (old.first < span.first && span.first <= old.last) || (old.first <= span.last && span.last < old.last)
    };
    if !within(span.size) || !within(span.upto) || state.window(scope).spans().iter().any(cuts) {
        return Err("a span that its log does not have".to_owned());
    }
    if span.text.len() > SPAN_BYTES_MAX {
        return Err(format!("a summary of {} bytes", span.text.len()));
    }
    let (turns, sizes) = ((span.first, span.last), (span.size, span.upto));
    *span = Span::new(counter, scope, turns, sizes, span.depth.min(64), &span.text);
    check_tokens(span.tokens)
}

fn validate_client(event: &ClientEvent) -> Result<(), String> {
    match event {
        ClientEvent::RequestPassed { account, .. } => {
            let TokenUsage { input, cached, cache_written, output } = account.used.unwrap_or_default();
            let sizes = [account.tokens_in, account.tokens_sent, Tokens(account.changes)];
            sizes.into_iter().chain([input, cached, cache_written, output]).try_for_each(check_tokens)
        }
        ClientEvent::Compacted { turn, first, .. } if first > turn => {
            Err(format!("turns {first} to {turn} cannot have a summary"))
        }
        ClientEvent::Compacted { source_tokens, summary_tokens, .. } => {
            [*source_tokens, *summary_tokens].into_iter().try_for_each(check_tokens)
        }
        // A forged link could make the next conversation that begins alike continue in this session.
        ClientEvent::HistoryLinked { .. } => Err("a file cannot set the owner of a history".to_owned()),
    }
}

fn check_tokens(tokens: Tokens) -> Result<(), String> {
    if tokens <= TOKENS_MAX { Ok(()) } else { Err(format!("{tokens} tokens")) }
}
