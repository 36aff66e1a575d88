//! Getting a summary that can stand for a stretch of a log: fetch it, ask for one, check what came.

use super::desk::Desk;
use super::step::{Input, Step};
use super::summing::{self, Summing};
use crate::effort::LogSize;
use crate::event::Event;
use crate::ids::TurnNo;
use crate::log::{Log, LogRequest};
use crate::message::{Exchange, Message, Scope};
use crate::summary::{Made, SummaryBy};
use crate::tokens::Tokens;
use crate::window::{Span, Wish, line_tokens, size_of};

/// A wish that is being fulfilled.
#[derive(Debug)]
pub(super) struct Compacting {
    wish: Wish,
    by: SummaryBy,
    /// What is being summarised, once it is known.
    source: Option<Source>,
}

#[derive(Debug)]
struct Source {
    turns: (TurnNo, TurnNo),
    size: LogSize,
    depth: u32,
    /// What showing it costs now: a summary must cost less.
    shown: Tokens,
    summing: Summing,
}

pub(super) enum Progress {
    Ask(Step),
    /// The event, or nothing if no summary came that is worth it.
    Finished(Option<Event>),
}

impl Compacting {
    pub(super) fn start(desk: &Desk<'_>, wish: Wish, by: SummaryBy) -> (Self, Progress) {
        let mut compacting = Self { wish, by, source: None };
        let progress = match compacting.wish.clone() {
            Wish::Compact { scope, after, may, .. } => {
                Progress::Ask(Step::Load(vec![LogRequest::oldest(scope, after, may)]))
            }
            Wish::Merge { scope, first, last, .. } => {
                let spans = desk.state.window(&scope).spans();
                let run: Vec<Span> =
                    spans.iter().filter(|s| s.first >= first && s.last <= last).cloned().collect();
                compacting.merge(desk, &run)
            }
        };
        (compacting, progress)
    }

    pub(super) fn step(&mut self, desk: &Desk<'_>, input: Input) -> Progress {
        match (&mut self.source, input) {
            (None, Input::Loaded(loaded)) => {
                let log = loaded.into_iter().next().map(|(_, log)| log).unwrap_or_default();
                self.compact(desk, &log)
            }
            (Some(source), input) => {
                let progress = source.summing.step(desk.counter, desk.state.policy(), input);
                self.summed(desk, progress)
            }
            (None, input) => panic!("the driver answered a wish ({:?}) with {input:?}", self.wish),
        }
    }

    pub(super) fn scope(&self) -> &Scope {
        self.wish.scope()
    }

    /// Takes whole exchanges, at least those that do not fit. One whose turn is in flight elsewhere may still come
    /// before them, so a span ends before any turn that is.
    fn compact(&mut self, desk: &Desk<'_>, log: &Log) -> Progress {
        let Wish::Compact { must, may, .. } = self.wish else { return Progress::Finished(None) };
        let open_turn = desk.state.head().pending.keys().next().copied().unwrap_or(TurnNo(u64::MAX));
        let mut size = LogSize::default();
        let mut taken: Vec<&Exchange> = Vec::new();
        for exchange in log.exchanges().take_while(|exchange| exchange.turn < open_turn) {
            if size.tokens >= must && size.tokens + exchange.tokens() > may {
                break;
            }
            size.add(exchange.tokens());
            taken.push(exchange);
        }
        let first = taken.iter().map(|exchange| exchange.turn).min();
        let last = taken.iter().map(|exchange| exchange.turn).max();
        let Some(turns) = first.zip(last) else { return Progress::Finished(None) };
        let said = taken.iter().flat_map(|e| e.messages.iter().map(|said| said.message.clone())).collect();
        self.ask(desk, turns, size, 0, size.tokens, said)
    }

    fn merge(&mut self, desk: &Desk<'_>, run: &[Span]) -> Progress {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { return Progress::Finished(None) };
        let depth = run.iter().map(|span| span.depth).max().unwrap_or(0) + 1;
        let said = run.iter().map(|span| Message::assistant(span.text.clone())).collect();
        self.ask(desk, (first.first, last.last), size_of(run), depth, line_tokens(run), said)
    }

    fn ask(
        &mut self,
        desk: &Desk<'_>,
        turns: (TurnNo, TurnNo),
        size: LogSize,
        depth: u32,
        shown: Tokens,
        said: Vec<Message>,
    ) -> Progress {
        let scope = self.wish.scope();
        let handle = crate::handle::Handle::Span { first: turns.0, last: turns.1, scope: scope.clone() };
        // A summary of little is shorter than that; its line has a handle in it as well.
        let tokens_max =
            desk.state.policy().summary_target(shown).min(shown.percent(50)).min(self.wish.line_max());
        let (about, handle) = (handle.to_string(), Some(handle.to_string()));
        let wish = summing::Wish { said, about, handle, tokens_max, by: self.by };
        let (summing, progress) = Summing::of(desk.counter, desk.state.policy(), wish);
        self.source = Some(Source { turns, size, depth, shown, summing });
        self.summed(desk, progress)
    }

    fn summed(&mut self, desk: &Desk<'_>, progress: summing::Progress<Made>) -> Progress {
        let made = match progress {
            summing::Progress::Ask(step) => return Progress::Ask(step),
            summing::Progress::Ready(made) => made,
        };
        // I12: without a summary, nothing changes.
        let (Ok(Made { text, receipt, .. }), Some(source)) = (made, &self.source) else {
            return Progress::Finished(None);
        };
        let scope = self.wish.scope().clone();
        let span = Span::new(desk.counter, &scope, source.turns, source.size, source.depth, &text);
        // Never larger after than before.
        let is_smaller = span.tokens < source.shown && !span.text.is_empty();
        let event = Event::SpanCompacted { scope, turn: desk.state.turn(), span, receipt: Some(receipt) };
        Progress::Finished(is_smaller.then_some(event))
    }
}
