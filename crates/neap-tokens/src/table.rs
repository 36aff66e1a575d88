//! The tokens of an encoding, found by their bytes. Everything is read where the build put it.

use crate::hash::{NUMBER_BITS, PAIRS, hash, mark, pair};

/// Number of tokens, number of slots, pairs of ASCII characters, slots, where each token begins and the last ends, the tokens' bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table(pub(crate) &'static [u8]);

/// The longest token of any encoding here.
pub(crate) const LONGEST: usize = 128;

/// Numbers before the slots.
const BEFORE: usize = 2 + PAIRS;

impl Table {
    /// The rank of a token: the lower, the earlier it was learnt.
    pub(crate) fn rank(self, token: &[u8]) -> Option<u32> {
        if token.len() > LONGEST {
            return None;
        }
        if let [first, second] = token
            && let Some(pair) = pair(*first, *second)
        {
            return self.number(2 + pair).checked_sub(1);
        }
        let (tokens, slots) = (self.number(0) as usize, self.number(1) as usize);
        let hash = hash(token);
        let mut at = (hash >> (64 - slots.trailing_zeros())) as usize;
        loop {
            let slot = self.number(BEFORE + at);
            if slot == 0 {
                return None;
            }
            let rank = (slot & ((1 << NUMBER_BITS) - 1)) - 1;
            if slot - rank - 1 == mark(hash) && self.bytes(tokens, slots, rank as usize) == token {
                return Some(rank);
            }
            at = (at + 1) % slots;
        }
    }

    fn bytes(self, tokens: usize, slots: usize, rank: usize) -> &'static [u8] {
        let (starts, text) = (BEFORE + slots, 4 * (BEFORE + slots + tokens + 1));
        &self.0[text + self.number(starts + rank) as usize..text + self.number(starts + rank + 1) as usize]
    }

    fn number(self, at: usize) -> u32 {
        self.0[4 * at..].first_chunk().map_or(0, |four| u32::from_le_bytes(*four))
    }
}
