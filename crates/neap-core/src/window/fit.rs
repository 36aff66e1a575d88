//! How much of a log is raw and how much in summaries, for a given room.

use std::ops::Range;

use super::{Span, Window, Wish, line_tokens, run_to_merge};
use crate::effort::LogSize;
use crate::ids::TurnNo;
use crate::message::Scope;
use crate::tokens::Tokens;

/// A stretch shorter than this is not worth a summary.
const SOURCE_TOKENS_MIN: Tokens = Tokens(64);
/// Where exchanges leave one by one, they are summarised once so much of them has gathered.
const GATHERED_TOKENS_MIN: Tokens = Tokens(256);
/// A span is made this long where the room allows: a window that slides by one exchange makes few of them.
const SPAN_TOKENS: Tokens = Tokens(1_024);
/// What a span may take of the raw part beyond what does not fit anyway, in per cent.
const SPAN_ROOM_PERCENT: u64 = 40;
/// Longest stretch that becomes one span.
const SPAN_TOKENS_MAX: Tokens = Tokens(8_192);

/// What a summary that is still to be made may cost, about.
const LINE_TOKENS: Tokens = Tokens(256);

/// Summaries of one log at most, whatever the room: they are part of the session's row.
const SPANS_MAX: usize = 24;
/// Summaries that fit their share at least.
const SPANS_SHOWN: u64 = 6;
/// A shorter summary says nothing.
const LINE_TOKENS_MIN: Tokens = Tokens(40);

/// A log and the limits under which it is shown.
#[derive(Debug, Clone, Copy)]
pub struct Framed<'a> {
    /// Its spans.
    pub window: &'a Window,
    /// How much was said in it.
    pub size: LogSize,
    /// Raw exchanges at most.
    pub raw_max: u64,
    /// Share of the room that summaries may always have where the raw part could use all of it, in per cent.
    pub spans_percent: u64,
}

/// What is shown of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fit {
    /// Which spans, as their summaries.
    pub spans: Range<usize>,
    /// The raw part begins after this turn.
    pub after: TurnNo,
    /// What the raw part may cost.
    pub raw_room: Tokens,
    /// How much was said in the raw part.
    pub raw: LogSize,
    /// Whether all of that fits.
    pub is_whole: bool,
    /// Whether the summaries exceed their share.
    pub is_crowded: bool,
    /// How long one more summary may be.
    pub line_max: Tokens,
}

/// What is left of a log when some spans stand for their part of it.
fn rest(size: LogSize, spans: &[Span]) -> LogSize {
    // What the last one knows, not a sum: a span whose record is lost costs that span.
    let covered = spans.last().map(|span| span.upto).unwrap_or_default();
    LogSize {
        exchanges: size.exchanges.saturating_sub(covered.exchanges),
        tokens: size.tokens.saturating_sub(covered.tokens),
    }
}

/// Shows as much raw as fits, and summaries of all that came before it.
pub fn fit(framed: Framed<'_>, room: Tokens) -> Fit {
    let Framed { window, size, raw_max, spans_percent } = framed;
    let spans = window.spans();
    for count in 0..=spans.len() {
        let (before, raw) = (&spans[..count], rest(size, &spans[..count]));
        let lines = line_tokens(before);
        if raw.exchanges <= raw_max && lines + raw.tokens <= room {
            let after = before.last().map_or(TurnNo(0), |span| span.last);
            let raw_room = room - lines;
            let (line_max, is_crowded) = (line_max(room.percent(spans_percent)), spans.len() > SPANS_MAX);
            return Fit { spans: 0..count, after, raw_room, raw, is_whole: true, is_crowded, line_max };
        }
    }
    let raw = rest(size, spans);
    let share = room.percent(spans_percent).max(room.saturating_sub(raw.tokens));
    let mut used = Tokens::ZERO;
    let mut first = spans.len();
    while first > 0 && used + spans[first - 1].tokens <= share {
        first -= 1;
        used += spans[first].tokens;
    }
    Fit {
        spans: first..spans.len(),
        after: window.covered(),
        raw_room: room - used,
        raw,
        is_whole: false,
        is_crowded: line_tokens(spans) > share || spans.len() > SPANS_MAX,
        line_max: line_max(share),
    }
}

/// A handful of summaries fit their share, so that merging them makes a tree and not a chain.
fn line_max(share: Tokens) -> Tokens {
    Tokens(share.0 / SPANS_SHOWN).max(LINE_TOKENS_MIN)
}

impl Framed<'_> {
    /// What showing it in the best way would cost, whatever the room.
    pub fn demand(&self) -> Tokens {
        let spans = self.window.spans();
        if self.raw_max == 0 {
            return line_tokens(spans) + rest(self.size, spans).tokens.min(LINE_TOKENS);
        }
        let cost = |count: usize| line_tokens(&spans[..count]) + rest(self.size, &spans[..count]).tokens;
        let is_allowed = |count: &usize| rest(self.size, &spans[..*count]).exchanges <= self.raw_max;
        cost((0..=spans.len()).find(is_allowed).unwrap_or(spans.len()))
    }

    /// The summary that a context could use, given that `shown` of the raw part is in it.
    pub fn wish(&self, scope: &Scope, fit: &Fit, shown: LogSize) -> Option<Wish> {
        if fit.is_crowded
            && let Some(run) = run_to_merge(self.window.spans())
        {
            let run = &self.window.spans()[run];
            let (first, last) = (run.first()?.first, run.last()?.last);
            return Some(Wish::Merge { scope: scope.clone(), first, last, line_max: fit.line_max });
        }
        if fit.is_whole || shown.exchanges >= fit.raw.exchanges {
            return None;
        }
        let gone = fit.raw.tokens.saturating_sub(shown.tokens);
        let by_count = shown.exchanges >= self.raw_max;
        let (least, may) = match by_count {
            true => (if self.raw_max == 0 { SOURCE_TOKENS_MIN } else { GATHERED_TOKENS_MIN }, gone),
            false => (SOURCE_TOKENS_MIN, gone.max(SPAN_TOKENS.min(fit.raw_room.percent(SPAN_ROOM_PERCENT)))),
        };
        let (must, may) = (gone.min(SPAN_TOKENS_MAX), may.min(SPAN_TOKENS_MAX));
        let (scope, after, line_max) = (scope.clone(), fit.after, fit.line_max);
        (gone >= least).then_some(Wish::Compact { scope, after, must, may, line_max })
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
            // In these tests every exchange of a window costs the same.
            upto: LogSize { exchanges: last, tokens: Tokens(source / (last - first + 1) * last) },
            depth: 0,
            text: "".into(),
            tokens: Tokens(tokens),
        }
    }

    fn framed(window: &Window, exchanges: u64, tokens: u64) -> Framed<'_> {
        Framed { window, size: LogSize { exchanges, tokens: Tokens(tokens) }, raw_max: 1_000, spans_percent: 30 }
    }

    #[test]
    fn what_fits_is_raw() {
        let window = Window::default();
        let fit = fit(framed(&window, 10, 1_000), Tokens(1_000));
        assert_eq!((fit.spans.clone(), fit.is_whole, fit.after), (0..0, true, TurnNo(0)));
    }

    /// A summary stands beside what it was made from: with room again, the words are shown again.
    #[test]
    fn with_room_again_the_words_come_back() {
        let mut window = Window::default();
        window.put(span(1, 5, 50, 500));
        window.put(span(6, 8, 50, 300));
        let at = |room| {
            let fit = fit(framed(&window, 10, 1_000), Tokens(room));
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
        let framed = framed(&window, 100, 10_000);
        let fit = fit(framed, Tokens(3_000));
        let line_max = Tokens(150);
        let wish = framed.wish(&Scope::Ambient, &fit, LogSize { exchanges: 30, tokens: Tokens(3_000) });
        let want = Wish::Compact {
            scope: Scope::Ambient,
            after: TurnNo(0),
            must: Tokens(7_000),
            may: Tokens(7_000),
            line_max,
        };
        assert_eq!(wish, Some(want));
        let wish = framed.wish(&Scope::Ambient, &fit, LogSize { exchanges: 99, tokens: Tokens(9_900) });
        let want = Wish::Compact {
            scope: Scope::Ambient,
            after: TurnNo(0),
            must: Tokens(100),
            may: Tokens(1_024),
            line_max,
        };
        assert_eq!(wish, Some(want), "one exchange over: a longer stretch makes room for more");
        assert_eq!(framed.wish(&Scope::Ambient, &fit, LogSize { exchanges: 100, tokens: Tokens(10_000) }), None);
    }

    #[test]
    fn crowded_summaries_are_merged() {
        let mut window = Window::default();
        for n in 1..=4 {
            window.put(span(n, n, 100, 1_000));
        }
        let framed = framed(&window, 10, 100_000);
        let fit = fit(framed, Tokens(1_000));
        assert!(fit.is_crowded);
        let wish = framed.wish(&Scope::Ambient, &fit, LogSize::default());
        assert_eq!(
            wish,
            Some(Wish::Merge { scope: Scope::Ambient, first: TurnNo(1), last: TurnNo(4), line_max: Tokens(50) })
        );
    }
}
