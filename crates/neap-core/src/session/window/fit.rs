//! Chooses how much of a log is shown raw and how much as summaries, for a given room.

use std::ops::Range;

use super::{CompactionRequest, Span, Window, run_to_merge, spans_tokens};
use crate::base::ids::TurnNo;
use crate::base::message::Scope;
use crate::base::tokens::Tokens;
use crate::session::effort::LogSize;

/// A shorter stretch is not worth a summary.
const SOURCE_TOKENS_MIN: Tokens = Tokens(64);
/// Where exchanges leave the raw part one by one, summarise once this much has accumulated.
const GATHERED_TOKENS_MIN: Tokens = Tokens(256);
/// Preferred length of a span where the room allows: a window that slides by one exchange then needs few spans.
const SPAN_TOKENS: Tokens = Tokens(1_024);
/// Most of the raw part that a span may take beyond what does not fit anyway, in per cent.
const SPAN_ROOM_PERCENT: u64 = 40;
/// Longest stretch that becomes one span.
const SPAN_TOKENS_MAX: Tokens = Tokens(8_192);

/// Approximate cost of a summary that does not exist yet.
const LINE_TOKENS: Tokens = Tokens(256);

/// Most summaries of one log, whatever the room: they are stored in the session's row.
const SPANS_MAX: usize = 24;
/// Summaries that must fit into their share.
const SPANS_SHOWN: u64 = 6;
/// A shorter summary is useless.
const LINE_TOKENS_MIN: Tokens = Tokens(40);

/// A log and the limits under which it is shown.
#[derive(Debug, Clone, Copy)]
pub struct WindowedLog<'a> {
    pub window: &'a Window,
    pub size: LogSize,
    pub raw_max: u64,
    /// Share of the room guaranteed to summaries even if the raw part could use all of it, in per cent.
    pub spans_percent: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fit {
    /// The spans shown as summaries.
    pub spans: Range<usize>,
    /// The raw part begins after this turn.
    pub after: TurnNo,
    pub raw_room: Tokens,
    pub raw: LogSize,
    /// Whether the raw part fits whole.
    pub is_whole: bool,
    /// Whether the summaries exceed their share.
    pub needs_merge: bool,
    /// The longest line of one more summary.
    pub line_tokens_max: Tokens,
}

/// The size of a log without the part that the spans cover.
fn uncovered_size(size: LogSize, spans: &[Span]) -> LogSize {
    // Use the last span's running total, not a sum: a lost record then costs only its own span.
    let covered = spans.last().map(|span| span.upto).unwrap_or_default();
    LogSize {
        exchanges: size.exchanges.saturating_sub(covered.exchanges),
        tokens: size.tokens.saturating_sub(covered.tokens),
    }
}

/// Shows as much raw as fits, and summaries of everything before.
pub fn fit(windowed: WindowedLog<'_>, room: Tokens) -> Fit {
    let WindowedLog { window, size, raw_max, spans_percent } = windowed;
    let spans = window.spans();
    for count in 0..=spans.len() {
        let (before, raw) = (&spans[..count], uncovered_size(size, &spans[..count]));
        let lines = spans_tokens(before);
        if raw.exchanges <= raw_max && lines + raw.tokens <= room {
            let after = before.last().map_or(TurnNo(0), |span| span.last);
            let raw_room = room - lines;
            let (line_tokens_max, needs_merge) =
                (line_tokens_max(room.percent(spans_percent)), spans.len() > SPANS_MAX);
            return Fit { spans: 0..count, after, raw_room, raw, is_whole: true, needs_merge, line_tokens_max };
        }
    }
    let raw = uncovered_size(size, spans);
    let share = room.percent(spans_percent).max(room.saturating_sub(raw.tokens));
    let mut used = Tokens::ZERO;
    let mut first = spans.len();
    while first > 0 && used + spans[first - 1].tokens <= share {
        first -= 1;
        used += spans[first].tokens;
    }
    Fit {
        spans: first..spans.len(),
        after: window.last_covered_turn(),
        raw_room: room - used,
        raw,
        is_whole: false,
        needs_merge: spans_tokens(spans) > share || spans.len() > SPANS_MAX,
        line_tokens_max: line_tokens_max(share),
    }
}

/// Several summaries fit into their share, so that merging builds a tree and not a chain.
fn line_tokens_max(share: Tokens) -> Tokens {
    Tokens(share.0 / SPANS_SHOWN).max(LINE_TOKENS_MIN)
}

impl WindowedLog<'_> {
    /// The cost of showing it in the best way, whatever the room.
    pub fn demand(&self) -> Tokens {
        let spans = self.window.spans();
        if self.raw_max == 0 {
            return spans_tokens(spans) + uncovered_size(self.size, spans).tokens.min(LINE_TOKENS);
        }
        let cost =
            |count: usize| spans_tokens(&spans[..count]) + uncovered_size(self.size, &spans[..count]).tokens;
        let is_allowed = |count: &usize| uncovered_size(self.size, &spans[..*count]).exchanges <= self.raw_max;
        cost((0..=spans.len()).find(is_allowed).unwrap_or(spans.len()))
    }

    /// The summary that would help most, given that `shown` of the raw part is in the context.
    pub fn compaction_request(&self, scope: &Scope, fit: &Fit, shown: LogSize) -> Option<CompactionRequest> {
        if fit.needs_merge
            && let Some(run) = run_to_merge(self.window.spans())
        {
            let run = &self.window.spans()[run];
            let (first, last) = (run.first()?.first, run.last()?.last);
            return Some(CompactionRequest::Merge {
                scope: scope.clone(),
                first,
                last,
                line_tokens_max: fit.line_tokens_max,
            });
        }
        if fit.is_whole || shown.exchanges >= fit.raw.exchanges {
            return None;
        }
        let gone = fit.raw.tokens.saturating_sub(shown.tokens);
        let by_count = shown.exchanges >= self.raw_max;
        let (least, tokens_max) = match by_count {
            true => (if self.raw_max == 0 { SOURCE_TOKENS_MIN } else { GATHERED_TOKENS_MIN }, gone),
            false => (SOURCE_TOKENS_MIN, gone.max(SPAN_TOKENS.min(fit.raw_room.percent(SPAN_ROOM_PERCENT)))),
        };
        let (tokens_min, tokens_max) = (gone.min(SPAN_TOKENS_MAX), tokens_max.min(SPAN_TOKENS_MAX));
        let (scope, after, line_tokens_max) = (scope.clone(), fit.after, fit.line_tokens_max);
        (gone >= least).then_some(CompactionRequest::Compact {
            scope,
            after,
            tokens_min,
            tokens_max,
            line_tokens_max,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(first: u64, last: u64, tokens: u64, source: u64) -> Span {
        let size = LogSize { exchanges: last - first + 1, tokens: Tokens(source) };
        Span {
            first: TurnNo(first),
            last: TurnNo(last),
            size,
            // In these tests every exchange costs the same.
            upto: LogSize { exchanges: last, tokens: Tokens(source / (last - first + 1) * last) },
            depth: 0,
            text: "".into(),
            tokens: Tokens(tokens),
        }
    }

    fn windowed(window: &Window, exchanges: u64, tokens: u64) -> WindowedLog<'_> {
        WindowedLog {
            window,
            size: LogSize { exchanges, tokens: Tokens(tokens) },
            raw_max: 1_000,
            spans_percent: 30,
        }
    }

    #[test]
    fn what_fits_is_raw() {
        let window = Window::default();
        let fit = fit(windowed(&window, 10, 1_000), Tokens(1_000));
        assert_eq!((fit.spans.clone(), fit.is_whole, fit.after), (0..0, true, TurnNo(0)));
    }

    /// Summaries do not replace their exchanges: with room again, the exchanges are shown again.
    #[test]
    fn with_room_again_the_words_come_back() {
        let mut window = Window::default();
        window.insert(span(1, 5, 50, 500));
        window.insert(span(6, 8, 50, 300));
        let at = |room| {
            let fit = fit(windowed(&window, 10, 1_000), Tokens(room));
            (fit.spans, fit.after.0, fit.is_whole)
        };
        assert_eq!(at(1_000), (0..0, 0, true));
        assert_eq!(at(999), (0..1, 5, true));
        assert_eq!(at(550), (0..1, 5, true));
        assert_eq!(at(549), (0..2, 8, true));
        assert_eq!(at(300), (0..2, 8, true));
        assert_eq!(at(199), (1..2, 8, false), "the newest summaries stay");
    }

    #[test]
    fn what_no_longer_fits_is_wished_for_as_a_span() {
        let window = Window::default();
        let windowed = windowed(&window, 100, 10_000);
        let fit = fit(windowed, Tokens(3_000));
        let line_max = Tokens(150);
        let request =
            windowed.compaction_request(&Scope::Ambient, &fit, LogSize { exchanges: 30, tokens: Tokens(3_000) });
        let want = CompactionRequest::Compact {
            scope: Scope::Ambient,
            after: TurnNo(0),
            tokens_min: Tokens(7_000),
            tokens_max: Tokens(7_000),
            line_tokens_max: line_max,
        };
        assert_eq!(request, Some(want));
        let request =
            windowed.compaction_request(&Scope::Ambient, &fit, LogSize { exchanges: 99, tokens: Tokens(9_900) });
        let want = CompactionRequest::Compact {
            scope: Scope::Ambient,
            after: TurnNo(0),
            tokens_min: Tokens(100),
            tokens_max: Tokens(1_024),
            line_tokens_max: line_max,
        };
        assert_eq!(request, Some(want), "one exchange over: a longer stretch makes room for more");
        assert_eq!(
            windowed.compaction_request(&Scope::Ambient, &fit, LogSize { exchanges: 100, tokens: Tokens(10_000) }),
            None
        );
    }

    #[test]
    fn crowded_summaries_are_merged() {
        let mut window = Window::default();
        for n in 1..=4 {
            window.insert(span(n, n, 100, 1_000));
        }
        let windowed = windowed(&window, 10, 100_000);
        let fit = fit(windowed, Tokens(1_000));
        assert!(fit.needs_merge);
        let request = windowed.compaction_request(&Scope::Ambient, &fit, LogSize::default());
        assert_eq!(
            request,
            Some(CompactionRequest::Merge {
                scope: Scope::Ambient,
                first: TurnNo(1),
                last: TurnNo(4),
                line_tokens_max: Tokens(50)
            })
        );
    }
}
