//! Byte-pair merging: of all neighbours that make a token together, merges the lowest rank first.

use std::array;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::table::{TOKEN_BYTES_MAX, TokenTable};

/// Longer pieces are merged window by window, so memory and time per byte stay bounded.
const WINDOW: usize = 4096;
/// The part of a window that is left to the next: near its end, more text can make other tokens.
const OVERLAP: usize = 4 * TOKEN_BYTES_MAX;

const SHORT_BYTES: usize = 32;
/// Higher than any rank.
const NO_RANK: u32 = u32::MAX;

/// Counts a piece's tokens; reuses its buffers.
#[derive(Debug)]
pub(crate) struct PairMerger {
    table: TokenTable,
    /// Possible merges: the rank of the result, and where it begins. May be stale.
    queue: BinaryHeap<Reverse<(u32, u32)>>,
    /// Indexed by a part's start: the rank of its merge with the next part.
    ranks: Vec<Option<u32>>,
    /// Indexed by a part's start: where it ends.
    ends: Vec<u32>,
    /// Indexed by a part's end: where it starts.
    starts: Vec<u32>,
}

impl PairMerger {
    pub(crate) fn new(table: TokenTable) -> Self {
        Self { table, queue: BinaryHeap::new(), ranks: Vec::new(), ends: Vec::new(), starts: Vec::new() }
    }

    pub(crate) fn count(&mut self, piece: &[u8]) -> usize {
        if piece.len() == 1 || self.table.rank(piece).is_some() {
            return 1;
        }
        if piece.len() <= SHORT_BYTES { self.count_short(piece) } else { self.count_windowed(piece, WINDOW) }
    }

    /// For short pieces a linear search for the lowest rank is faster than a heap.
    fn count_short(&self, piece: &[u8]) -> usize {
        let mut starts: [u8; SHORT_BYTES + 1] = array::from_fn(|at| at as u8);
        let mut ranks = [NO_RANK; SHORT_BYTES];
        let mut parts = piece.len();
        let rank = |starts: &[u8], at: usize, parts: usize| {
            if at + 2 > parts {
                return NO_RANK;
            }
            self.table.rank(&piece[usize::from(starts[at])..usize::from(starts[at + 2])]).unwrap_or(NO_RANK)
        };
        for (at, slot) in ranks[..parts].iter_mut().enumerate() {
            *slot = rank(&starts, at, parts);
        }
        loop {
            let (mut lowest, mut at) = (NO_RANK, 0);
            for (candidate, rank) in ranks[..parts].iter().enumerate() {
                // The first of equals.
                if *rank < lowest {
                    (lowest, at) = (*rank, candidate);
                }
            }
            if lowest == NO_RANK {
                return parts;
            }
            starts.copy_within(at + 2..=parts, at + 1);
            ranks.copy_within(at + 2..parts, at + 1);
            parts -= 1;
            ranks[at] = rank(&starts, at, parts);
            if at > 0 {
                ranks[at - 1] = rank(&starts, at - 1, parts);
            }
        }
    }

    /// A sequence of tokens is the encoding's if each two neighbours in it are. So a window may end where the next
    /// begins with the token that it would have continued with; otherwise it was too short.
    fn count_windowed(&mut self, piece: &[u8], window_min: usize) -> usize {
        let (mut count, mut from, mut window) = (0, 0, window_min);
        let range = |from: usize, window: usize| from..piece.len().min(from + window);
        self.merge_pairs(&piece[range(from, window)]);
        while from + window < piece.len() {
            let (tokens, cut) = self.parts_before(window - OVERLAP.min(window / 2));
            let next_len = self.ends.get(cut).map(|end| *end as usize - cut);
            self.merge_pairs(&piece[range(from + cut, window_min)]);
            if Some(self.ends[0] as usize) == next_len {
                (count, from, window) = (count + tokens, from + cut, window_min);
            } else {
                window *= 2;
                self.merge_pairs(&piece[range(from, window)]);
            }
        }
        count + self.parts_before(usize::MAX).0
    }

    /// How many parts begin before a position, and where the next one begins.
    fn parts_before(&self, before: usize) -> (usize, usize) {
        let (mut count, mut at) = (0, 0);
        while at < before.min(self.ends.len()) {
            (count, at) = (count + 1, self.ends[at] as usize);
        }
        (count, at)
    }

    /// Merges until no two neighbours make a token.
    fn merge_pairs(&mut self, bytes: &[u8]) {
        let len = bytes.len() as u32;
        self.queue.clear();
        self.ranks.clear();
        self.ranks.resize(bytes.len(), None);
        self.ends.clear();
        self.ends.extend(1..=len);
        self.starts.clear();
        self.starts.extend((0..=len).map(|end| end.saturating_sub(1)));
        for start in 0..len {
            self.propose_merge(bytes, start);
        }
        while let Some(Reverse((rank, start))) = self.queue.pop() {
            if self.ranks[start as usize] != Some(rank) {
                continue; // Stale: one of the two was merged with another.
            }
            let middle = self.ends[start as usize];
            let end = self.ends[middle as usize];
            self.ranks[middle as usize] = None;
            self.ends[start as usize] = end;
            self.starts[end as usize] = start;
            self.propose_merge(bytes, start);
            if start > 0 {
                self.propose_merge(bytes, self.starts[start as usize]);
            }
        }
    }

    /// Queues the merge of a part with the next, if they make a token.
    fn propose_merge(&mut self, bytes: &[u8], start: u32) {
        let merged =
            self.ends.get(self.ends[start as usize] as usize).map(|end| &bytes[start as usize..*end as usize]);
        let rank = merged.and_then(|merged| self.table.rank(merged));
        self.ranks[start as usize] = rank;
        self.queue.extend(rank.map(|rank| Reverse((rank, start))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CL100K, O200K};

    /// Both ways of merging give the same count.
    #[test]
    fn short_pieces_are_joined_as_long_ones() {
        let text = "internationalisation zyx!qqqqqqqqqqqqqqqqqqqqqqqq naïveté Straßenbahnhaltestelle ошибкаошибка 0x7fffaa 日本語日本 aAbBcC \u{1f980}\u{1f980}";
        for encoding in [&O200K, &CL100K] {
            let mut merge = PairMerger::new(encoding.table);
            for start in 0..text.len() {
                for end in start + 2..=text.len().min(start + SHORT_BYTES) {
                    let piece = &text.as_bytes()[start..end];
                    assert_eq!(merge.count_short(piece), merge.count_windowed(piece, WINDOW), "{piece:?}");
                }
            }
        }
    }

    /// The smaller the windows, the more often one is too short.
    #[test]
    fn windows_change_no_count() {
        let texts =
            ["a".repeat(999), "abcdefghij".repeat(90), "ACGTTGCAAC".repeat(60), "internationalisation".repeat(40)];
        for (table, text) in
            [&O200K, &CL100K].into_iter().flat_map(|encoding| texts.iter().map(|text| (encoding.table, text)))
        {
            let mut merge = PairMerger::new(table);
            let whole = merge.count_windowed(text.as_bytes(), usize::MAX / 4);
            for window in [8, 16, 64, 300] {
                assert_eq!(merge.count_windowed(text.as_bytes(), window), whole, "{window}: {text}");
            }
        }
    }
}
