//! Getting a summary that can stand for a stretch of a log: fetch it, ask for one, check what came.

use super::desk::Desk;
use super::step::{Input, Step};
use super::summing::{self, Summing};
use crate::effort::LogSize;
use crate::event::Event;
use crate::ids::TurnNo;
use crate::log::{Log, LogRequest};
use crate::message::{Exchange, Message, Scope};
use crate::prompt;
use crate::receipt::{Receipt, receipt};
use crate::summary::{Made, SummaryBy};
use crate::tokens::Tokens;
use crate::window::{Span, Wish, line_tokens, size_of};

/// A turn that is in flight after so many others is a dead process's; nothing waits for it.
const DEAD_TURNS: u64 = 64;

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
    upto: LogSize,
    depth: u32,
    said: Vec<Message>,
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
        let is_alive = |turn: &&TurnNo| desk.state.turn().since(**turn) < DEAD_TURNS;
        let open_turn = desk.state.head().pending.keys().find(is_alive).copied().unwrap_or(TurnNo(u64::MAX));
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
        let before = desk.state.window(self.wish.scope()).upto();
        let upto = LogSize { exchanges: before.exchanges + size.exchanges, tokens: before.tokens + size.tokens };
        self.ask(desk, turns, (size, upto), 0, size.tokens, said)
    }

    fn merge(&mut self, desk: &Desk<'_>, run: &[Span]) -> Progress {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { return Progress::Finished(None) };
        let depth = run.iter().map(|span| span.depth).max().unwrap_or(0) + 1;
        let said = run.iter().map(|span| Message::assistant(span.text.clone())).collect();
        let sizes = (size_of(run), last.upto);
        self.ask(desk, (first.first, last.last), sizes, depth, line_tokens(run), said)
    }

    fn ask(
        &mut self,
        desk: &Desk<'_>,
        turns: (TurnNo, TurnNo),
        (size, upto): (LogSize, LogSize),
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
        let wish = summing::Wish { said: said.clone(), about, handle, tokens_max, by: self.by };
        let (summing, progress) = Summing::of(desk.counter, desk.state.policy(), wish);
        self.source = Some(Source { turns, size, upto, depth, said, shown, summing });
        self.summed(desk, progress)
    }

    fn summed(&mut self, desk: &Desk<'_>, progress: summing::Progress<Made>) -> Progress {
        let made = match progress {
            summing::Progress::Ask(step) => return Progress::Ask(step),
            summing::Progress::Ready(made) => made,
        };
        let Some(source) = &self.source else { return Progress::Finished(None) };
        let scope = self.wish.scope().clone();
        let (text, receipt) = match made {
            Ok(Made { text, receipt, .. }) => (text, receipt),
            // I12: no failure is stored as a summary. A line that says so lets the window move on.
            Err(_) if source.depth == 0 => source.unsummarised(),
            Err(_) => return Progress::Finished(None),
        };
        let sizes = (source.size, source.upto);
        let span = Span::new(desk.counter, &scope, source.turns, sizes, source.depth, &text);
        // Never larger after than before.
        let is_smaller = span.tokens < source.shown && !span.text.is_empty();
        let event = Event::SpanCompacted { scope, turn: desk.state.turn(), span, receipt: Some(receipt) };
        Progress::Finished(is_smaller.then_some(event))
    }
}

impl Source {
    /// What stands for a stretch of which no summary can be made. It says nothing about it, so it changes nothing.
    fn unsummarised(&self) -> (String, Box<Receipt>) {
        let text = prompt::fill(prompt::UNSUMMARISED, &[("count", &self.size.exchanges.to_string())]);
        let receipt = Receipt { changed: Vec::new(), ..receipt(&self.said, &text, None) };
        (text, Box::new(receipt))
    }
}
