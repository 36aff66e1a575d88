//! The window rule: a transcript is shown as summaries of its older spans and its newest part, raw.
//!
//! Spans only ever stand *beside* what they were made from: the exchanges stay stored, and where there is room
//! for them again they are shown again. Which spans exist is state ([`Window`]), which of them are shown is decided
//! anew for every room ([`fit`](fit::fit)), and what should be summarised next follows from that ([`Wish`]).

pub mod fit;
mod merge;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use merge::run_to_merge;

use crate::effort::LogSize;
use crate::handle::Handle;
use crate::ids::TurnNo;
use crate::message::Scope;
use crate::prompt;
use crate::render;
use crate::tokens::{TokenCounter, Tokens};

/// A stretch of whole exchanges, and the summary that can stand for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Its first turn.
    pub first: TurnNo,
    /// Its last turn.
    pub last: TurnNo,
    /// How much was said in it.
    pub size: LogSize,
    /// How much was said in the log up to its end, this span included.
    pub upto: LogSize,
    /// How many summaries lie between it and what was said: 0 if it was made from the words themselves.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub depth: u32,
    /// What stands for it: one paragraph.
    pub text: Arc<str>,
    /// What its line in the context costs.
    pub tokens: Tokens,
}

impl Span {
    /// A span with its line counted.
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

    /// Its line in the context, with the handle that leads back to the words.
    pub fn line(&self, scope: &Scope) -> String {
        let handle = self.handle(scope).to_string();
        let values = [("handle", handle.as_str()), ("text", &self.text)];
        format!("{}\n", prompt::fill(prompt::SPAN, &values))
    }

    /// What leads back to the words.
    pub fn handle(&self, scope: &Scope) -> Handle {
        Handle::Span { first: self.first, last: self.last, scope: scope.clone() }
    }
}

/// The spans of one log that have a summary: oldest first, without a gap from the log's first exchange on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Window {
    spans: Vec<Span>,
}

impl Window {
    /// Without a span.
    pub const fn new() -> Self {
        Self { spans: Vec::new() }
    }

    /// Whether nothing of the log has a summary.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The spans, oldest first.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// The last turn that a span covers; zero if none does.
    pub fn covered(&self) -> TurnNo {
        self.spans.last().map_or(TurnNo(0), |span| span.last)
    }

    /// How much was said up to the end of the last span.
    pub fn upto(&self) -> LogSize {
        self.spans.last().map(|span| span.upto).unwrap_or_default()
    }

    /// Takes a span up, in place of those it covers.
    pub(crate) fn put(&mut self, span: Span) {
        self.spans.retain(|old| old.last < span.first || old.first > span.last);
        let at = self.spans.partition_point(|old| old.last < span.first);
        self.spans.insert(at, span);
    }
}

/// How much was said in some spans.
pub(crate) fn size_of(spans: &[Span]) -> LogSize {
    spans.iter().fold(LogSize::default(), |sum, span| LogSize {
        exchanges: sum.exchanges + span.size.exchanges,
        tokens: sum.tokens + span.size.tokens,
    })
}

/// What their lines cost.
pub(crate) fn line_tokens(spans: &[Span]) -> Tokens {
    spans.iter().map(|span| span.tokens).sum()
}

/// A summary that the context could use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// Of the oldest exchanges after a turn.
    Compact {
        /// Of which log.
        scope: Scope,
        /// After which turn.
        after: TurnNo,
        /// So much of it at least: it does not fit.
        must: Tokens,
        /// So much at most, in whole exchanges.
        may: Tokens,
        /// How long the summary may be.
        line_max: Tokens,
    },
    /// Of spans that are next to each other, so that one stands for all of them.
    Merge {
        /// Of which log.
        scope: Scope,
        /// The first turn of the first.
        first: TurnNo,
        /// The last turn of the last.
        last: TurnNo,
        /// How long the summary may be.
        line_max: Tokens,
    },
}

impl Wish {
    /// How long the summary may be.
    pub fn line_max(&self) -> Tokens {
        match self {
            Wish::Compact { line_max, .. } | Wish::Merge { line_max, .. } => *line_max,
        }
    }

    /// Which log it is about.
    pub fn scope(&self) -> &Scope {
        match self {
            Wish::Compact { scope, .. } | Wish::Merge { scope, .. } => scope,
        }
    }
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}
