//! The window rule: a transcript is shown as summaries of its older spans followed by its newest exchanges, raw.
//!
//! A summary never replaces its exchanges: they stay stored and are shown again when there is room. [`Window`] is
//! the state of which spans have a summary, [`fit`](fit::fit) chooses what to show for a given room, and a
//! [`CompactionRequest`] says what to summarise next.

pub mod fit;
mod merge;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use merge::run_to_merge;

use crate::base::handle::Handle;
use crate::base::ids::TurnNo;
use crate::base::message::Scope;
use crate::base::prompt;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::session::effort::LogSize;
use crate::text::render;

/// A stretch of whole exchanges with its summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    pub first: TurnNo,
    pub last: TurnNo,
    pub size: LogSize,
    /// Size of the log up to and including this span.
    pub upto: LogSize,
    /// Levels of summaries below it; 0 if it was made from the exchanges themselves.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub depth: u32,
    /// One paragraph.
    pub text: Arc<str>,
    /// The cost of its line in the context.
    pub tokens: Tokens,
}

impl Span {
    /// Creates a span and counts its line.
    pub fn new(
        counter: &dyn TokenCounter,
        scope: &Scope,
        (first, last): (TurnNo, TurnNo),
        (size, upto): (LogSize, LogSize),
        depth: u32,
        text: &str,
    ) -> Self {
        let text = render::one_line(text);
        let mut span = Self { first, last, size, upto, depth, text: text.into(), tokens: Tokens::ZERO };
        span.tokens = counter.count(&span.line(scope));
        span
    }

    /// Its line in the context, with the handle of the original.
    pub fn line(&self, scope: &Scope) -> String {
        let handle = self.handle(scope).to_string();
        let values = [("handle", handle.as_str()), ("text", &self.text)];
        format!("{}\n", prompt::fill(prompt::SPAN, &values))
    }

    pub fn handle(&self, scope: &Scope) -> Handle {
        Handle::Span { first: self.first, last: self.last, scope: scope.clone() }
    }
}

/// The summarised spans of one log: oldest first, without a gap from the log's first exchange on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Window {
    spans: Vec<Span>,
}

impl Window {
    pub const fn new() -> Self {
        Self { spans: Vec::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Oldest first.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Zero without spans.
    pub fn last_covered_turn(&self) -> TurnNo {
        self.spans.last().map_or(TurnNo(0), |span| span.last)
    }

    /// Size of the log up to the end of the last span.
    pub fn covered_size(&self) -> LogSize {
        self.spans.last().map(|span| span.upto).unwrap_or_default()
    }

    /// Inserts a span in place of those it covers.
    pub(crate) fn insert(&mut self, span: Span) {
        self.spans.retain(|old| old.last < span.first || old.first > span.last);
        let at = self.spans.partition_point(|old| old.last < span.first);
        self.spans.insert(at, span);
    }
}

pub(crate) fn spans_size(spans: &[Span]) -> LogSize {
    spans.iter().fold(LogSize::default(), |sum, span| LogSize {
        exchanges: sum.exchanges + span.size.exchanges,
        tokens: sum.tokens + span.size.tokens,
    })
}

/// The cost of their lines in the context.
pub(crate) fn spans_tokens(spans: &[Span]) -> Tokens {
    spans.iter().map(|span| span.tokens).sum()
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompactionRequest {
    /// Summarise the oldest exchanges after a turn.
    Compact {
        scope: Scope,
        after: TurnNo,
        /// At least this much, because it does not fit.
        tokens_min: Tokens,
        /// At most this much, in whole exchanges.
        tokens_max: Tokens,
        /// The longest summary line.
        line_tokens_max: Tokens,
    },
    /// Merge adjacent spans into one.
    Merge { scope: Scope, first: TurnNo, last: TurnNo, line_tokens_max: Tokens },
}

impl CompactionRequest {
    pub fn line_tokens_max(&self) -> Tokens {
        match self {
            CompactionRequest::Compact { line_tokens_max, .. }
            | CompactionRequest::Merge { line_tokens_max, .. } => *line_tokens_max,
        }
    }

    pub fn scope(&self) -> &Scope {
        match self {
            CompactionRequest::Compact { scope, .. } | CompactionRequest::Merge { scope, .. } => scope,
        }
    }
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}
