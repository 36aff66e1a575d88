//! Validates imported events: a file need not have been written by us. Tokens are counted again, because the
//! budget relies on them (I1); turns must follow each other; settings must be valid.

use crate::base::message::{CountedMessage, ToolRound};
use crate::base::tokens::{TokenCounter, Tokens};
use crate::memory::{Author, MemoryEvent};
use crate::session::effort::{LogSize, Summary};
use crate::session::event::{ClientEvent, EffortEvent, Event, SessionEvent, TurnEvent, WindowEvent};
use crate::session::request_account::RequestAccount;
use crate::session::request_account::TokenUsage;
use crate::session::state::SessionState;
use crate::session::window::Span;

/// More tokens than any session has; sums of larger values could overflow.
const TOKENS_MAX: Tokens = Tokens(1 << 40);
/// A longer text is no summary.
const SPAN_BYTES_MAX: usize = 65_536;

/// Returns the event with recounted tokens; fails if it cannot follow this state.
pub fn validate_imported(state: &SessionState, counter: &dyn TokenCounter, event: Event) -> Result<Event, String> {
    let latest = state.turn();
    let turn = event.turn().unwrap_or(latest);
    let begins = matches!(event, Event::Turn(TurnEvent::Started { .. }));
    if (begins && turn != latest.next()) || (!begins && turn > latest) {
        return Err(format!("turn {turn} cannot follow turn {latest}"));
    }
    let count = |counted: CountedMessage| CountedMessage::new(counter, counted.message);
    let bounded = |tokens: Tokens| if tokens <= TOKENS_MAX { Ok(tokens) } else { Err(format!("{tokens} tokens")) };
    Ok(match event {
        Event::Session(SessionEvent::Created { ref policy, .. } | SessionEvent::PolicyChanged { ref policy }) => {
            policy.check().map_err(|error| error.to_string())?;
            event
        }
        // The author that a file names proves nothing.
        Event::Turn(TurnEvent::Started { turn, message, turn_id, author: _ }) => Event::Turn(TurnEvent::Started {
            turn,
            message: count(message),
            turn_id,
            author: Some(Author::Import),
        }),
        Event::Turn(TurnEvent::ToolsCalled { turn, round, visibility }) => {
            let results = round.results.into_iter().map(count).collect();
            let notes = round.notes.into_iter().map(count).collect();
            let round = ToolRound { assistant: count(round.assistant), results, seals: round.seals, notes };
            if !round.is_complete() {
                return Err("a tool call without its result".to_owned());
            }
            Event::Turn(TurnEvent::ToolsCalled { turn, round, visibility })
        }
        Event::Turn(TurnEvent::MessageAdded { turn, message }) => {
            Event::Turn(TurnEvent::MessageAdded { turn, message: count(message) })
        }
        Event::Turn(TurnEvent::Completed { turn, reply, scope, ledger }) => {
            for (_, tokens) in ledger.tokens.entries() {
                bounded(tokens)?;
            }
            for tokens in [ledger.naive_tokens, ledger.cost.sent, ledger.cost.cached, ledger.cost.output] {
                bounded(tokens)?;
            }
            bounded(Tokens(ledger.cost.nanodollars / 1_000_000).max(Tokens(ledger.cost.calls)))?;
            Event::Turn(TurnEvent::Completed { turn, reply: count(reply), scope, ledger })
        }
        Event::Effort(EffortEvent::Concluded { id, summary, turn, next_active, provisional, receipt }) => {
            let summary = Summary::new(counter, &id, &summary.text, summary.at);
            Event::Effort(EffortEvent::Concluded { id, summary, turn, next_active, provisional, receipt })
        }
        Event::Effort(EffortEvent::Summarized { id, summary, turn, receipt }) => {
            let summary = Summary::new(counter, &id, &summary.text, summary.at);
            Event::Effort(EffortEvent::Summarized { id, summary, turn, receipt })
        }
        Event::Window(WindowEvent::SpanCompacted { scope, turn, span, receipt }) => {
            if span.first > span.last || span.last > latest {
                return Err(format!("turns {} to {} cannot be a span", span.first, span.last));
            }
            let log = state.log_size(&scope);
            let within = |size: LogSize| size.exchanges <= log.exchanges && size.tokens <= log.tokens;
            let cuts = |old: &Span| {
                (old.first < span.first && span.first <= old.last)
                    || (old.first <= span.last && span.last < old.last)
            };
            if !within(span.size) || !within(span.upto) || state.window(&scope).spans().iter().any(cuts) {
                return Err("a span that its log does not have".to_owned());
            }
            if span.text.len() > SPAN_BYTES_MAX {
                return Err(format!("a summary of {} bytes", span.text.len()));
            }
            let (turns, sizes) = ((span.first, span.last), (span.size, span.upto));
            let span = Span::new(counter, &scope, turns, sizes, span.depth.min(64), &span.text);
            bounded(span.tokens)?;
            Event::Window(WindowEvent::SpanCompacted { scope, turn, span, receipt })
        }
        Event::Memory(MemoryEvent::Loaded { ref loaded, .. }) => {
            let each = loaded.items.iter().map(|item| item.tokens);
            for tokens in each.chain([loaded.tokens, loaded.budget, Tokens(loaded.considered)]) {
                bounded(tokens)?;
            }
            event
        }
        Event::Turn(TurnEvent::TakenBack { tokens, .. })
        | Event::Effort(
            EffortEvent::Expanded { tokens_loaded: tokens, .. }
            | EffortEvent::Collapsed { tokens_freed: tokens, .. },
        ) => {
            bounded(tokens)?;
            event
        }
        Event::Client(ClientEvent::RequestPassed {
            passed: RequestAccount { tokens_in, tokens_sent, changes, used, .. },
            ..
        }) => {
            let TokenUsage { input, cached, output } = used.unwrap_or_default();
            for tokens in [tokens_in, tokens_sent, input, cached, output, Tokens(changes)] {
                bounded(tokens)?;
            }
            event
        }
        Event::Client(ClientEvent::Compacted { turn, first, source_tokens, summary_tokens, .. }) => {
            if first > turn {
                return Err(format!("turns {first} to {turn} cannot have a summary"));
            }
            bounded(source_tokens)?;
            bounded(summary_tokens)?;
            event
        }
        Event::Effort(
            EffortEvent::Opened { .. }
            | EffortEvent::Switched { .. }
            | EffortEvent::Reopened { .. }
            | EffortEvent::Referenced { .. }
            | EffortEvent::Evicted { .. },
        )
        | Event::Window(WindowEvent::EpochBegan { .. })
        | Event::Turn(TurnEvent::Abandoned { .. } | TurnEvent::Closed { .. })
        | Event::Memory(MemoryEvent::CensorTriggered { .. })
        | Event::Session(SessionEvent::Scrubbed { .. }) => event,
        // A forged link could make the next conversation that begins alike continue in this session.
        Event::Client(ClientEvent::HistoryLinked { .. }) => {
            return Err("a file cannot set the owner of a history".to_owned());
        }
        Event::Memory(MemoryEvent::Changed { .. } | MemoryEvent::Erased { .. }) => {
            return Err("a memory is not part of a session".to_owned());
        }
    })
}
