//! Cuts the passage that answers a question out of a long text.

use crate::base::tokens::{TokenCounter, Tokens};
use crate::text::chunks::split_chunks;
use crate::text::excerpt::prefix_within;
use crate::text::terms::terms;

const ELLIPSIS: &str = "…";
/// If the passage is not the text's beginning, one part in this many shows the beginning.
const HEAD_SHARE: u64 = 3;

/// The part of a text with the most query terms, behind the text's beginning, within `budget` tokens.
pub(super) fn passage(counter: &dyn TokenCounter, query: &[String], text: &str, budget: Tokens) -> String {
    let pieces = split_chunks(text);
    let hits = |piece: &str| {
        let words = terms(piece);
        query.iter().filter(|term| words.contains(term)).count()
    };
    // The first of equals.
    let best = (0..pieces.len()).rev().max_by_key(|at| hits(pieces[*at])).unwrap_or(0);
    let start: usize = pieces[..best].iter().map(|piece| piece.len()).sum();
    let budget = budget.saturating_sub(Tokens(2 * counter.count(ELLIPSIS).0 + 2));
    if best == 0 {
        return format!("{}{ELLIPSIS}", whole_clauses(prefix_within(counter, text, budget)).trim());
    }
    let head = whole_clauses(prefix_within(counter, text, Tokens(budget.0 / HEAD_SHARE)));
    let rest = budget.saturating_sub(counter.count(head));
    // Do not repeat what the head already shows.
    let start = start.max(head.len());
    let part = prefix_within(counter, &text[start..], rest);
    let part = if start + part.len() < text.len() { whole_clauses(part) } else { part };
    let end = if start + part.len() < text.len() { ELLIPSIS } else { "" };
    format!("{}{ELLIPSIS}\n{}{end}", head.trim(), part.trim())
}

/// The text up to the end of its last whole clause, if that leaves at least half of it.
fn whole_clauses(text: &str) -> &str {
    let ends = |c: char| matches!(c, '.' | '!' | '?' | ';' | ':' | ',' | '\n' | '。' | '！' | '？');
    let is_end = |(at, c): &(usize, char)| {
        let next = text[at + c.len_utf8()..].chars().next();
        ends(*c) && (*c == '\n' || next.is_none_or(char::is_whitespace))
    };
    let last = text.char_indices().rev().find(is_end).map(|(at, c)| at + c.len_utf8());
    last.filter(|at| at * 2 >= text.len()).map_or(text, |at| &text[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_ends_with_a_clause() {
        for (text, want) in [
            ("The port is 9. It was mov", "The port is 9."),
            ("one, two and thr", "one, two and thr"),
            ("version 1.2 of the ser", "version 1.2 of the ser"),
            ("first line\nsecond", "first line\n"),
            ("", ""),
        ] {
            assert_eq!(whole_clauses(text), want);
        }
    }
}
