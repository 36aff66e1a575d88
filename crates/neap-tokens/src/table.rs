//! Looks up an encoding's tokens by their bytes, directly in the table that the build laid out.

use crate::hash::{NUMBER_BITS, PAIRS, hash, mark, pair};

/// Layout, in 32-bit words: token count, slot count, ranks of ASCII pairs, slots, token offsets (and the end of
/// the last); then the tokens' bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TokenTable(pub(crate) &'static [u8]);

pub(crate) const TOKEN_BYTES_MAX: usize = 128;

/// Words before the slots.
const HEADER_WORDS: usize = 2 + PAIRS;

impl TokenTable {
    /// A token's rank: the lower, the earlier the encoding learnt it.
    pub(crate) fn rank(self, token: &[u8]) -> Option<u32> {
        if token.len() > TOKEN_BYTES_MAX {
            return None;
        }
        if let [first, second] = token
            && let Some(pair) = pair(*first, *second)
        {
            return self.read_u32(2 + pair).checked_sub(1);
        }
        let (tokens, slots) = (self.read_u32(0) as usize, self.read_u32(1) as usize);
        let hash = hash(token);
        let mut at = (hash >> (64 - slots.trailing_zeros())) as usize;
        loop {
            let slot = self.read_u32(HEADER_WORDS + at);
            if slot == 0 {
                return None;
            }
            let rank = (slot & ((1 << NUMBER_BITS) - 1)) - 1;
            if slot - rank - 1 == mark(hash) && self.token_bytes(tokens, slots, rank as usize) == token {
                return Some(rank);
            }
            at = (at + 1) % slots;
        }
    }

    fn token_bytes(self, tokens: usize, slots: usize, rank: usize) -> &'static [u8] {
        let (starts, text) = (HEADER_WORDS + slots, 4 * (HEADER_WORDS + slots + tokens + 1));
        &self.0[text + self.read_u32(starts + rank) as usize..text + self.read_u32(starts + rank + 1) as usize]
    }

    fn read_u32(self, at: usize) -> u32 {
        self.0[4 * at..].first_chunk().map_or(0, |four| u32::from_le_bytes(*four))
    }
}
