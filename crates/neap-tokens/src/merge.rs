//! Joining the bytes of a piece into tokens: of all neighbours that make a token together, those of the lowest rank first.

use std::array;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::table::{LONGEST, Table};

/// A longer piece is joined window by window, so that it takes neither more memory nor more time a byte.
const WINDOW: usize = 4096;
/// What of a window is left to the next: near its end, more text can make other tokens.
const OVERLAP: usize = 4 * LONGEST;

/// The longest piece that is short.
const SHORT: usize = 32;
/// Higher than any rank.
const NONE: u32 = u32::MAX;

/// Joins pieces; what it needs for one serves the next.
#[derive(Debug)]
pub(crate) struct Merge {
    table: Table,
    /// Joins that were possible: the rank of what they make, then where it begins.
    joins: BinaryHeap<Reverse<(u32, u32)>>,
    /// The rank of what the part that begins here makes with the next.
    ranks: Vec<Option<u32>>,
    /// Where the part ends that begins here.
    ends: Vec<u32>,
    /// Where the part begins that ends here.
    starts: Vec<u32>,
}

impl Merge {
    pub(crate) fn new(table: Table) -> Self {
        Self { table, joins: BinaryHeap::new(), ranks: Vec::new(), ends: Vec::new(), starts: Vec::new() }
    }

    /// How many tokens a piece is.
    pub(crate) fn count(&mut self, piece: &[u8]) -> usize {
        if piece.len() == 1 || self.table.rank(piece).is_some() {
            return 1;
        }
        if piece.len() <= SHORT { self.of_short(piece) } else { self.by_windows(piece, WINDOW) }
    }

    /// The same where looking through all parts for the lowest rank is sooner done than keeping them in order.
    fn of_short(&self, piece: &[u8]) -> usize {
        // Where each part begins, and the rank of what it makes with the next.
        let mut starts: [u8; SHORT + 1] = array::from_fn(|at| at as u8);
        let mut ranks = [NONE; SHORT];
        let mut parts = piece.len();
        let rank = |starts: &[u8], at: usize, parts: usize| {
            if at + 2 > parts {
                return NONE;
            }
            self.table.rank(&piece[usize::from(starts[at])..usize::from(starts[at + 2])]).unwrap_or(NONE)
        };
        for (at, own) in ranks[..parts].iter_mut().enumerate() {
            *own = rank(&starts, at, parts);
        }
        loop {
            let (mut lowest, mut at) = (NONE, 0);
            for (place, rank) in ranks[..parts].iter().enumerate() {
                // Of equals the first.
                if *rank < lowest {
                    (lowest, at) = (*rank, place);
                }
            }
            if lowest == NONE {
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

    /// A row of tokens is that of the encoding if each two neighbours in it are. So a window may end where the next begins with
    /// the token that it would have gone on with; otherwise it was too short.
    fn by_windows(&mut self, piece: &[u8], least: usize) -> usize {
        let (mut count, mut from, mut window) = (0, 0, least);
        let within = |from: usize, window: usize| from..piece.len().min(from + window);
        self.join(&piece[within(from, window)]);
        while from + window < piece.len() {
            let (tokens, cut) = self.parts(window - OVERLAP.min(window / 2));
            let goes_on_with = self.ends.get(cut).map(|end| *end as usize - cut);
            self.join(&piece[within(from + cut, least)]);
            if Some(self.ends[0] as usize) == goes_on_with {
                (count, from, window) = (count + tokens, from + cut, least);
            } else {
                window *= 2;
                self.join(&piece[within(from, window)]);
            }
        }
        count + self.parts(usize::MAX).0
    }

    /// How many parts begin before a place, and where the next one does.
    fn parts(&self, before: usize) -> (usize, usize) {
        let (mut count, mut at) = (0, 0);
        while at < before.min(self.ends.len()) {
            (count, at) = (count + 1, self.ends[at] as usize);
        }
        (count, at)
    }

    /// Joins as long as two neighbours make a token.
    fn join(&mut self, bytes: &[u8]) {
        let len = bytes.len() as u32;
        self.joins.clear();
        self.ranks.clear();
        self.ranks.resize(bytes.len(), None);
        self.ends.clear();
        self.ends.extend(1..=len);
        self.starts.clear();
        self.starts.extend((0..=len).map(|end| end.saturating_sub(1)));
        for start in 0..len {
            self.propose(bytes, start);
        }
        while let Some(Reverse((rank, start))) = self.joins.pop() {
            if self.ranks[start as usize] != Some(rank) {
                continue; // One of the two was joined with another.
            }
            let middle = self.ends[start as usize];
            let end = self.ends[middle as usize];
            self.ranks[middle as usize] = None;
            self.ends[start as usize] = end;
            self.starts[end as usize] = start;
            self.propose(bytes, start);
            if start > 0 {
                self.propose(bytes, self.starts[start as usize]);
            }
        }
    }

    /// What the part that begins here can make with the one after it.
    fn propose(&mut self, bytes: &[u8], start: u32) {
        let whole =
            self.ends.get(self.ends[start as usize] as usize).map(|end| &bytes[start as usize..*end as usize]);
        let rank = whole.and_then(|whole| self.table.rank(whole));
        self.ranks[start as usize] = rank;
        self.joins.extend(rank.map(|rank| Reverse((rank, start))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CL100K, O200K};

    /// Short pieces are joined in another way, to the same end.
    #[test]
    fn short_pieces_are_joined_as_long_ones() {
        let text = "internationalisation zyx!qqqqqqqqqqqqqqqqqqqqqqqq naïveté Straßenbahnhaltestelle ошибкаошибка 0x7fffaa 日本語日本 aAbBcC \u{1f980}\u{1f980}";
        for of in [&O200K, &CL100K] {
            let mut merge = Merge::new(of.table);
            for start in 0..text.len() {
                for end in start + 2..=text.len().min(start + SHORT) {
                    let piece = &text.as_bytes()[start..end];
                    assert_eq!(merge.of_short(piece), merge.by_windows(piece, WINDOW), "{piece:?}");
                }
            }
        }
    }

    /// The smaller the windows, the more often one is too short.
    #[test]
    fn windows_change_no_count() {
        let texts =
            ["a".repeat(999), "abcdefghij".repeat(90), "ACGTTGCAAC".repeat(60), "internationalisation".repeat(40)];
        for (table, text) in [&O200K, &CL100K].into_iter().flat_map(|of| texts.iter().map(|text| (of.table, text)))
        {
            let mut merge = Merge::new(table);
            let whole = merge.by_windows(text.as_bytes(), usize::MAX / 4);
            for window in [8, 16, 64, 300] {
                assert_eq!(merge.by_windows(text.as_bytes(), window), whole, "{window}: {text}");
            }
        }
    }
}
