//! Summarises a stretch of a log: loads it, requests a summary, checks the result.

use super::context::TurnContext;
use super::step::{Input, Step};
use super::summarization::{self, Summarization};
use crate::base::ids::TurnNo;
use crate::base::message::{Exchange, Message, Scope};
use crate::base::prompt;
use crate::base::tokens::Tokens;
use crate::session::effort::LogSize;
use crate::session::event::WindowEvent;
use crate::session::log::{Log, LogRequest};
use crate::session::summary::{CheckedSummary, SummarizerKind};
use crate::session::window::{CompactionRequest, Span, spans_size, spans_tokens};
use crate::text::receipt::{Receipt, receipt};

/// A turn still in flight after this many others belongs to a dead process; nothing waits for it.
const IN_FLIGHT_TURNS_MAX: u64 = 64;

/// Exchanges that are read again for the receipt of a merged summary.
const ORIGINAL_TOKENS_MAX: Tokens = Tokens(64_000);

#[derive(Debug)]
pub(super) struct SpanCompaction {
    request: CompactionRequest,
    summarizer: SummarizerKind,
    /// What is being summarised, once it is loaded.
    source: Option<SpanSource>,
}

#[derive(Debug)]
struct SpanSource {
    turns: (TurnNo, TurnNo),
    size: LogSize,
    covered: LogSize,
    depth: u32,
    messages: Vec<Message>,
    /// What showing it costs now; a summary must cost less.
    shown_tokens: Tokens,
    summarization: Summarization,
}

/// What a span's summary is made from.
struct SpanTexts {
    depth: u32,
    shown_tokens: Tokens,
    messages: Vec<Message>,
    /// See [`SummaryJob::originals`](summarization::SummaryJob).
    originals: Vec<Message>,
}

pub(super) enum CompactionProgress {
    Ask(Step),
    /// The event; `None` if no worthwhile summary was made.
    Finished(Option<WindowEvent>),
}

impl SpanCompaction {
    pub(super) fn start(
        cx: &TurnContext<'_>,
        request: CompactionRequest,
        summarizer: SummarizerKind,
    ) -> (Self, CompactionProgress) {
        let compaction = Self { request, summarizer, source: None };
        let progress = match compaction.request.clone() {
            CompactionRequest::Compact { scope, after, tokens_max, .. } => {
                CompactionProgress::Ask(Step::LoadLogs(vec![LogRequest::oldest(scope, after, tokens_max)]))
            }
            CompactionRequest::Merge { scope, first, last, .. } => {
                let tokens_max = ORIGINAL_TOKENS_MAX.min(Tokens(cx.state.policy().summary_input_tokens_max));
                let originals = LogRequest { tokens_max, ..LogRequest::turns(scope, first, last) };
                CompactionProgress::Ask(Step::LoadLogs(vec![originals]))
            }
        };
        (compaction, progress)
    }

    pub(super) fn step(&mut self, cx: &TurnContext<'_>, input: Input) -> CompactionProgress {
        match (&mut self.source, input) {
            (None, Input::LogsLoaded(loaded)) => {
                let log = loaded.into_iter().next().map(|(_, log)| log).unwrap_or_default();
                match self.request.clone() {
                    CompactionRequest::Compact { .. } => self.compact(cx, &log),
                    CompactionRequest::Merge { scope, first, last, .. } => {
                        let spans = cx.state.window(&scope).spans().iter();
                        let run: Vec<Span> =
                            spans.filter(|span| span.first >= first && span.last <= last).cloned().collect();
                        self.merge(cx, &run, &log)
                    }
                }
            }
            (Some(source), input) => {
                let progress = source.summarization.step(cx.counter, cx.state.policy(), input);
                self.apply_summary(cx, progress)
            }
            (None, input) => panic!("the driver answered a wish ({:?}) with {input:?}", self.request),
        }
    }

    pub(super) fn scope(&self) -> &Scope {
        self.request.scope()
    }

    /// Takes whole exchanges, at least those that do not fit. A turn in flight elsewhere may still be recorded
    /// before them, so a span ends before any such turn.
    fn compact(&mut self, cx: &TurnContext<'_>, log: &Log) -> CompactionProgress {
        let CompactionRequest::Compact { tokens_min, tokens_max, .. } = self.request else {
            return CompactionProgress::Finished(None);
        };
        let is_alive = |turn: &&TurnNo| cx.state.turn().since(**turn) < IN_FLIGHT_TURNS_MAX;
        let open_turn = cx.state.head().pending.keys().find(is_alive).copied().unwrap_or(TurnNo(u64::MAX));
        let mut size = LogSize::default();
        let mut taken: Vec<&Exchange> = Vec::new();
        for exchange in log.exchanges().take_while(|exchange| exchange.turn < open_turn) {
            if size.tokens >= tokens_min && size.tokens + exchange.tokens() > tokens_max {
                break;
            }
            size.add(exchange.tokens());
            taken.push(exchange);
        }
        let first = taken.iter().map(|exchange| exchange.turn).min();
        let last = taken.iter().map(|exchange| exchange.turn).max();
        let Some(turns) = first.zip(last) else { return CompactionProgress::Finished(None) };
        let messages = messages_of(taken);
        let before = cx.state.window(self.request.scope()).covered_size();
        let covered =
            LogSize { exchanges: before.exchanges + size.exchanges, tokens: before.tokens + size.tokens };
        let texts = SpanTexts { depth: 0, shown_tokens: size.tokens, messages, originals: Vec::new() };
        self.start_summary(cx, turns, (size, covered), texts)
    }

    /// Summarises summaries. The receipt is held against the exchanges themselves: what the summaries had lost already
    /// is lost in this one, too.
    fn merge(&mut self, cx: &TurnContext<'_>, run: &[Span], log: &Log) -> CompactionProgress {
        let (Some(first), Some(last)) = (run.first(), run.last()) else {
            return CompactionProgress::Finished(None);
        };
        let depth = run.iter().map(|span| span.depth).max().unwrap_or(0) + 1;
        let messages: Vec<Message> = run.iter().map(|span| Message::assistant(span.text.clone())).collect();
        let mut originals = messages_of(log.exchanges().map(|exchange| &**exchange));
        if log.size().exchanges < spans_size(run).exchanges {
            // Of the rest, the summaries know what they kept.
            originals.extend(messages.iter().cloned());
        }
        let sizes = (spans_size(run), last.upto);
        let texts = SpanTexts { depth, shown_tokens: spans_tokens(run), messages, originals };
        self.start_summary(cx, (first.first, last.last), sizes, texts)
    }

    fn start_summary(
        &mut self,
        cx: &TurnContext<'_>,
        turns: (TurnNo, TurnNo),
        (size, covered): (LogSize, LogSize),
        SpanTexts { depth, shown_tokens, messages, originals }: SpanTexts,
    ) -> CompactionProgress {
        let scope = self.request.scope();
        let handle = crate::base::handle::Handle::Span { first: turns.0, last: turns.1, scope: scope.clone() };
        // At most half: the target's minimum is too long for a short span, and the line also contains a handle.
        let tokens_max = cx
            .state
            .policy()
            .summary_target(shown_tokens)
            .min(shown_tokens.percent(50))
            .min(self.request.line_tokens_max());
        let (topic, handle) = (handle.to_string(), Some(handle.to_string()));
        let job = summarization::SummaryJob {
            messages: messages.clone(),
            originals,
            topic,
            handle,
            tokens_max,
            summarizer: self.summarizer,
        };
        let (summarization, progress) = Summarization::start(cx.counter, cx.state.policy(), job);
        self.source = Some(SpanSource { turns, size, covered, depth, messages, shown_tokens, summarization });
        self.apply_summary(cx, progress)
    }

    fn apply_summary(
        &mut self,
        cx: &TurnContext<'_>,
        progress: summarization::SummaryProgress<CheckedSummary>,
    ) -> CompactionProgress {
        let result = match progress {
            summarization::SummaryProgress::Ask(step) => return CompactionProgress::Ask(step),
            summarization::SummaryProgress::Ready(result) => result,
        };
        let Some(source) = &self.source else { return CompactionProgress::Finished(None) };
        let scope = self.request.scope().clone();
        let (text, receipt) = match result {
            Ok(CheckedSummary { text, receipt, .. }) => (text, receipt),
            // I12: a failure is never stored as a summary. A line that says so lets the window move on.
            Err(_) if source.depth == 0 => source.fallback_summary(),
            Err(_) => return CompactionProgress::Finished(None),
        };
        let sizes = (source.size, source.covered);
        let span = Span::new(cx.counter, &scope, source.turns, sizes, source.depth, &text);
        // A span must cost less than what it replaces.
        let is_smaller = span.tokens < source.shown_tokens && !span.text.is_empty();
        let event = WindowEvent::SpanCompacted { scope, turn: cx.state.turn(), span, receipt: Some(receipt) };
        CompactionProgress::Finished(is_smaller.then_some(event))
    }
}

fn messages_of<'a>(exchanges: impl IntoIterator<Item = &'a Exchange>) -> Vec<Message> {
    let counted = exchanges.into_iter().flat_map(|exchange| &exchange.messages);
    counted.map(|counted| counted.message.clone()).collect()
}

impl SpanSource {
    /// The text for a stretch that could not be summarised. It states nothing, so it changes no value.
    fn fallback_summary(&self) -> (String, Box<Receipt>) {
        let text = prompt::fill(prompt::UNSUMMARISED, &[("count", &self.size.exchanges.to_string())]);
        let receipt = Receipt { changed: Vec::new(), ..receipt(&self.messages, &text, None) };
        (text, Box::new(receipt))
    }
}
