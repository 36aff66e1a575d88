//! What stands for the part of a history that is left out: efforts that were concluded in it, and summaries of the rest,
//! each with what leads back to the words.

use std::collections::BTreeMap;

use super::layout::Frozen;
use crate::effort::Effort;
use crate::handle::Handle;
use crate::ids::TurnNo;
use crate::message::Scope;
use crate::prompt;
use crate::state::SessionState;
use crate::tokens::{TokenCounter, Tokens};
use crate::window::{Wish, line_tokens, run_to_merge};

/// A summary of a stretch is made of at least so much.
const SPAN_TOKENS_MIN: Tokens = Tokens(1_024);
/// So many summaries are made of what is left out, about.
const SPANS: u64 = 12;
/// Summaries of one log at most.
const SPANS_MAX: usize = 24;
/// The longest and the shortest line.
const LINE_TOKENS_MAX: Tokens = Tokens(256);
const LINE_TOKENS_MIN: Tokens = Tokens(40);

/// How far summaries must reach, log by log, so that all that is left out has one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach {
    /// Up to so many tokens of each log.
    upto: BTreeMap<Scope, Tokens>,
    /// Summaries are made of so much each.
    each: Tokens,
    /// What all of them may cost.
    room: Tokens,
}

impl Reach {
    /// `left` says of each log how much of it is left out and has no summary yet.
    pub fn new(state: &SessionState, left: &BTreeMap<Scope, Tokens>, room: Tokens) -> Self {
        let all: Tokens = left.values().copied().sum();
        let each = Tokens(all.0 / SPANS).max(SPAN_TOKENS_MIN);
        let upto = left.iter().map(|(scope, tokens)| (scope.clone(), state.window(scope).upto().tokens + *tokens));
        Self { upto: upto.collect(), each, room }
    }

    /// The logs in which something may be left out, with the last turn that has a summary.
    pub fn logs(state: &SessionState) -> Vec<(Scope, TurnNo)> {
        let open = state.open().map(|effort| Scope::Effort(effort.id.clone()));
        std::iter::once(Scope::Ambient)
            .chain(open)
            .map(|scope| {
                let covered = state.window(&scope).covered();
                (scope, covered)
            })
            .collect()
    }

    /// The next summary to make.
    pub(crate) fn wish(&self, state: &SessionState, is_given_up: impl Fn(&Scope) -> bool) -> Option<Wish> {
        let line_max = Tokens(self.room.0 / SPANS).max(LINE_TOKENS_MIN).min(LINE_TOKENS_MAX);
        for (scope, upto) in self.upto.iter().filter(|(scope, _)| !is_given_up(scope)) {
            let window = state.window(scope);
            let left = upto.saturating_sub(window.upto().tokens);
            if left > Tokens::ZERO {
                let must = left.min(self.each);
                return Some(Wish::Compact {
                    scope: scope.clone(),
                    after: window.covered(),
                    must,
                    may: must,
                    line_max,
                });
            }
        }
        let lines = |scope: &Scope| line_tokens(state.window(scope).spans());
        let all: Tokens = self.upto.keys().map(lines).sum();
        let mut logs: Vec<&Scope> = self.upto.keys().filter(|scope| !is_given_up(scope)).collect();
        logs.sort_by_key(|scope| std::cmp::Reverse(state.window(scope).spans().len()));
        logs.into_iter().find_map(|scope| {
            let spans = state.window(scope).spans();
            let run = &spans[run_to_merge(spans).filter(|_| all > self.room || spans.len() > SPANS_MAX)?];
            let (first, last) = (run.first()?.first, run.last()?.last);
            Some(Wish::Merge { scope: scope.clone(), first, last, line_max })
        })
    }
}

/// What stands for all turns before one, within a room; empty if not even its frame fits.
pub fn checkpoint(state: &SessionState, before: TurnNo, room: Tokens, counter: &dyn TokenCounter) -> String {
    let lines = lines(state, before);
    (0..=lines.len())
        .map(|first| {
            let missing = lines[..first].iter().map(|line| line.exchanges).sum();
            write(missing, &lines[first..])
        })
        .find(|text| Frozen::cost(counter, text) <= room)
        .unwrap_or_default()
}

struct Line {
    /// Where it belongs among the others.
    turn: TurnNo,
    exchanges: u64,
    text: String,
}

/// Oldest first.
fn lines(state: &SessionState, before: TurnNo) -> Vec<Line> {
    let mut lines: Vec<Line> =
        state.shown().filter(|effort| effort.last_active < before).filter_map(concluded).collect();
    for (scope, _) in Reach::logs(state) {
        for span in state.window(&scope).spans().iter().filter(|span| span.first < before) {
            let text = format!("[{}] {}", span.handle(&scope), span.text);
            lines.push(Line { turn: span.first, exchanges: span.size.exchanges, text });
        }
    }
    lines.sort_by(|a, b| (a.turn, &a.text).cmp(&(b.turn, &b.text)));
    lines
}

fn concluded(effort: &Effort) -> Option<Line> {
    let summary = effort.summary.as_ref()?;
    let scope = Scope::Effort(effort.id.clone());
    let handle = Handle::Span { first: TurnNo(1), last: effort.last_active.max(TurnNo(1)), scope };
    let text = format!("[{handle}] {}, concluded: {}", effort.id, summary.text);
    Some(Line { turn: effort.last_active, exchanges: effort.log.exchanges, text })
}

fn write(left_out: u64, lines: &[Line]) -> String {
    let older = match left_out {
        0 => String::new(),
        n => prompt::fill(prompt::TOLD_OLDER, &[("count", &n.to_string())]),
    };
    let mut text = prompt::fill(prompt::TOLD_BEFORE, &[("older", &older)]);
    for line in lines {
        text.push('\n');
        text.push_str(&line.text);
    }
    text.push('\n');
    text.push_str(&prompt::fill(prompt::TOLD_END, &[]));
    text
}
