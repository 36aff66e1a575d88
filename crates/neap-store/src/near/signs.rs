//! Of each embedding the signs of its numbers, a bit each, so laid out that several are compared at once.

use std::hint::black_box;

use pulp::{Arch, NullaryFnOnce};

const BITS: usize = u64::BITS as usize;
/// So many stand side by side: of each the first word, then of each the second, and so on.
pub(super) const LANES: usize = 8;
/// Words of a page of memory. Where one begins, nothing has been fetched in advance, nor is it known where it lies.
const PAGE: usize = 4_096 / size_of::<u64>();

/// The signs of many embeddings of one length.
pub(super) struct Signs {
    /// Of one embedding.
    words: usize,
    all: Vec<u64>,
}

impl Signs {
    /// None yet.
    pub(super) fn new(dimensions: usize) -> Self {
        Self { words: dimensions.div_ceil(BITS), all: Vec::new() }
    }

    /// Bytes that are held.
    pub(super) fn bytes(&self) -> usize {
        self.all.capacity() * size_of::<u64>()
    }

    /// Puts those of an embedding at its place, which is no further than one after the last.
    pub(super) fn put(&mut self, at: usize, values: &[i8]) {
        self.all.resize(self.all.len().max((at / LANES + 1) * self.words * LANES), 0);
        for (word, bits) in signs(values).enumerate() {
            let place = self.place(at, word);
            self.all[place] = bits;
        }
    }

    /// Removes those at a place; the last take it.
    pub(super) fn remove(&mut self, at: usize, last: usize) {
        for word in 0..self.words {
            let (from, to) = (self.place(last, word), self.place(at, word));
            self.all[to] = self.all[from];
        }
        self.all.truncate(last.div_ceil(LANES) * self.words * LANES);
    }

    /// In how many signs embeddings differ from one, from a multiple of [`LANES`] on and as many; those after the last are anything.
    pub(super) fn differing(&self, start: usize, meant: &[u64], out: &mut [u16]) {
        debug_assert!(start.is_multiple_of(LANES) && out.len().is_multiple_of(LANES));
        let (first, length) = (self.place(start, 0), out.len() * self.words);
        // What comes after the next is asked for now: so it is there when it is wanted.
        let ahead = first + 2 * length;
        for page in (ahead..ahead + length).step_by(PAGE) {
            black_box(self.all.get(page).copied());
        }
        let signs = &self.all[first..self.all.len().min(first + length)];
        Arch::new().dispatch(Differing { out, signs, meant });
    }

    fn place(&self, at: usize, word: usize) -> usize {
        (at / LANES * self.words + word) * LANES + at % LANES
    }
}

/// A bit for each value: whether it is above zero.
pub(super) fn signs(values: &[i8]) -> impl Iterator<Item = u64> {
    values
        .chunks(BITS)
        .map(|some| some.iter().enumerate().fold(0, |bits, (at, value)| bits | u64::from(*value > 0) << at))
}

/// In how many signs each embedding differs from one.
struct Differing<'a> {
    out: &'a mut [u16],
    signs: &'a [u64],
    meant: &'a [u64],
}

impl NullaryFnOnce for Differing<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { out, signs, meant } = self;
        let (out, _) = out.as_chunks_mut::<LANES>();
        let (signs, _) = signs.as_chunks::<LANES>();
        let both = out.len().min(signs.len() / meant.len().max(1));
        for at in 0..both {
            let mut sums = [0; LANES];
            for word in 0..meant.len() {
                let (some, meant) = (&signs[at * meant.len() + word], meant[word]);
                for lane in 0..LANES {
                    sums[lane] += u64::from((some[lane] ^ meant).count_ones());
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

    /// Whatever was put and removed, and wherever it stands: each differs in as many signs as a look at its numbers tells.
    #[test]
    fn signs_follow_their_embeddings() {
        for dimensions in [1, 64, 70, 384] {
            let (mut all, mut kept) = (Signs::new(dimensions), Vec::new());
            let meant = vector(999, dimensions);
            let bits: Vec<u64> = signs(meant.values()).collect();
            for step in 0..300 {
                if step % 3 == 2 {
                    let at = step * 7 % kept.len();
                    kept.swap_remove(at);
                    all.remove(at, kept.len());
                } else {
                    let next = vector(step as i64, dimensions);
                    all.put(kept.len(), next.values());
                    kept.push(next);
                }
                let mut found = vec![0; kept.len().next_multiple_of(LANES)];
                all.differing(0, &bits, &mut found);
                let expected: Vec<usize> = kept.iter().map(|one| differing(one, &meant)).collect();
                let found: Vec<usize> = found[..kept.len()].iter().map(|one| usize::from(*one)).collect();
                assert_eq!(found, expected, "{dimensions} {step}");
            }
        }
    }
}
