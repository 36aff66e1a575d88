//! The part of a long text that answers a question.

use crate::excerpt::prefix_within;
use crate::terms::terms;
use crate::tokens::{TokenCounter, Tokens};
use crate::told::chunks;

/// Stands for what is left out.
const CUT: &str = "…";
/// Of a passage from further on, one part in this many is the beginning of the text, which tells what it is.
const HEAD_SHARE: u64 = 3;

/// The stretch of a text that has most of the terms, behind its beginning, within a room.
pub(super) fn passage(counter: &dyn TokenCounter, wanted: &[String], text: &str, room: Tokens) -> String {
    let pieces = chunks(text);
    let hits = |piece: &str| {
        let words = terms(piece);
        wanted.iter().filter(|term| words.contains(term)).count()
    };
    // Of equals the first.
    let best = (0..pieces.len()).rev().max_by_key(|at| hits(pieces[*at])).unwrap_or(0);
    let start: usize = pieces[..best].iter().map(|piece| piece.len()).sum();
    let room = room.saturating_sub(Tokens(2 * counter.count(CUT).0 + 2));
    if best == 0 {
        return format!("{}{CUT}", prefix_within(counter, text, room).trim());
    }
    let head = prefix_within(counter, text, Tokens(room.0 / HEAD_SHARE));
    let rest = room.saturating_sub(counter.count(head));
    // What follows the beginning at once needs no mark between.
    let start = start.max(head.len());
    let part = prefix_within(counter, &text[start..], rest);
    let end = if start + part.len() < text.len() { CUT } else { "" };
    format!("{}{CUT}\n{}{end}", head.trim(), part.trim())
}
