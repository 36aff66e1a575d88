//! Sign bits of embeddings, one bit per value, laid out so that several embeddings are compared at once.

use std::hint::black_box;

use pulp::{Arch, NullaryFnOnce};

const BITS: usize = u64::BITS as usize;
/// Embeddings interleaved: the first word of each, then the second of each, and so on.
pub(super) const LANES: usize = 8;
/// Words per memory page. The hardware prefetcher stops at a page boundary, and the TLB may miss there.
const PAGE: usize = 4_096 / size_of::<u64>();

pub(super) struct SignBits {
    /// Words per embedding.
    words: usize,
    all: Vec<u64>,
}

impl SignBits {
    pub(super) fn new(dimensions: usize) -> Self {
        Self { words: dimensions.div_ceil(BITS), all: Vec::new() }
    }

    pub(super) fn bytes(&self) -> usize {
        self.all.capacity() * size_of::<u64>()
    }

    /// Expects as many words as an embedding has; `at` may be at most one past the last embedding.
    pub(super) fn put(&mut self, at: usize, words: impl Iterator<Item = u64>) {
        self.all.resize(self.all.len().max((at / LANES + 1) * self.words * LANES), 0);
        for (word, bits) in words.take(self.words).enumerate() {
            let index = self.word_index(at, word);
            self.all[index] = bits;
        }
    }

    pub(super) fn words(&self, at: usize) -> impl Iterator<Item = u64> {
        (0..self.words).map(move |word| self.all[self.word_index(at, word)])
    }

    pub(super) fn words_per_embedding(&self) -> usize {
        self.words
    }

    /// Removes the embedding at `at`; the one at `last` takes its slot.
    pub(super) fn remove(&mut self, at: usize, last: usize) {
        for word in 0..self.words {
            let (from, to) = (self.word_index(last, word), self.word_index(at, word));
            self.all[to] = self.all[from];
        }
        self.all.truncate(last.div_ceil(LANES) * self.words * LANES);
    }

    /// Hamming distances of as many embeddings as `out` holds, from `start`, a multiple of [`LANES`]; beyond the
    /// last embedding they are arbitrary.
    pub(super) fn hamming_distances(&self, start: usize, query: &[u64], out: &mut [u16]) {
        debug_assert!(start.is_multiple_of(LANES) && out.len().is_multiple_of(LANES));
        let (first, length) = (self.word_index(start, 0), out.len() * self.words);
        // Touch the pages after the next ones now, so that they are loaded in time.
        let ahead = first + 2 * length;
        for page in (ahead..ahead + length).step_by(PAGE) {
            black_box(self.all.get(page).copied());
        }
        let signs = &self.all[first..self.all.len().min(first + length)];
        Arch::new().dispatch(HammingKernel { out, signs, query });
    }

    fn word_index(&self, at: usize, word: usize) -> usize {
        (at / LANES * self.words + word) * LANES + at % LANES
    }
}

/// The sign bits of an embedding as they are stored.
pub fn sign_bytes(values: &[i8]) -> Vec<u8> {
    sign_words(values).flat_map(u64::to_le_bytes).collect()
}

/// One bit per value: whether it is positive.
pub(super) fn sign_words(values: &[i8]) -> impl Iterator<Item = u64> {
    values
        .chunks(BITS)
        .map(|chunk| chunk.iter().enumerate().fold(0, |bits, (at, value)| bits | u64::from(*value > 0) << at))
}

struct HammingKernel<'a> {
    out: &'a mut [u16],
    signs: &'a [u64],
    query: &'a [u64],
}

impl NullaryFnOnce for HammingKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { out, signs, query } = self;
        let (out, _) = out.as_chunks_mut::<LANES>();
        let (signs, _) = signs.as_chunks::<LANES>();
        let groups = out.len().min(signs.len() / query.len().max(1));
        for at in 0..groups {
            let mut sums = [0; LANES];
            for word in 0..query.len() {
                let (lanes, query_word) = (&signs[at * query.len() + word], query[word]);
                for lane in 0..LANES {
                    sums[lane] += u64::from((lanes[lane] ^ query_word).count_ones());
                }
            }
            for lane in 0..LANES {
                out[at][lane] = sums[lane].min(u64::from(u16::MAX)) as u16;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{differing, vector};
    use super::*;

    /// However embeddings were put and removed, each distance is the one computed from its values.
    #[test]
    fn signs_follow_their_embeddings() {
        for dimensions in [1, 64, 70, 384] {
            let (mut all, mut stored) = (SignBits::new(dimensions), Vec::new());
            let query = vector(999, dimensions);
            let bits: Vec<u64> = sign_words(query.values()).collect();
            for step in 0..300 {
                if step % 3 == 2 {
                    let at = step * 7 % stored.len();
                    stored.swap_remove(at);
                    all.remove(at, stored.len());
                } else {
                    let next = vector(step as i64, dimensions);
                    all.put(stored.len(), sign_words(next.values()));
                    stored.push(next);
                }
                let mut found = vec![0; stored.len().next_multiple_of(LANES)];
                all.hamming_distances(0, &bits, &mut found);
                let expected: Vec<usize> = stored.iter().map(|one| differing(one, &query)).collect();
                let found: Vec<usize> = found[..stored.len()].iter().map(|one| usize::from(*one)).collect();
                assert_eq!(found, expected, "{dimensions} {step}");
            }
        }
    }
}
