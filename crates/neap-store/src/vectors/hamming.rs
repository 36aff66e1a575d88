//! Finds the embeddings with the smallest Hamming distance between sign bits.

use std::ops::Range;

use super::sign_bits::{LANES, SignBits};

const BLOCK: usize = 256;
/// Embeddings skipped together if none of them is close enough, which is usual.
const GROUP: usize = 32;

/// Collects the closest embeddings; the more are found, the smaller the distance that still counts.
pub(super) struct HammingTopK {
    wanted: usize,
    /// The largest distance that still counts.
    distance_max: u16,
    /// How many embeddings have each distance.
    histogram: Vec<usize>,
    /// How many are closer than `distance_max`.
    closer_count: usize,
    /// Includes entries that no longer qualify.
    found: Vec<(usize, u16)>,
}

impl HammingTopK {
    pub(super) fn new(dimensions: usize, wanted: usize) -> Self {
        let distance_max = u16::try_from(dimensions).unwrap_or(u16::MAX);
        Self {
            wanted,
            distance_max,
            histogram: vec![0; usize::from(distance_max) + 1],
            closer_count: 0,
            found: Vec::new(),
        }
    }

    /// Scans a range of embeddings, which must begin at a multiple of [`LANES`].
    pub(super) fn scan(
        &mut self,
        range: Range<usize>,
        signs: &SignBits,
        query: &[u64],
        is_searched: impl Fn(usize) -> bool,
    ) {
        let mut distances = [0_u16; BLOCK];
        for start in range.clone().step_by(BLOCK) {
            let count = range.end.min(start + BLOCK) - start;
            signs.hamming_distances(start, query, &mut distances[..count.next_multiple_of(LANES)]);
            for (start, group) in (start..).step_by(GROUP).zip(distances[..count].chunks(GROUP)) {
                if group.iter().fold(u16::MAX, |least, distance| least.min(*distance)) > self.distance_max {
                    continue;
                }
                for (at, distance) in (start..).zip(group) {
                    if *distance <= self.distance_max && is_searched(at) {
                        self.insert(at, *distance);
                    }
                }
            }
        }
    }

    pub(super) fn merge(mut self, other: Self) -> Self {
        for (at, distance) in other.found {
            if distance <= self.distance_max {
                self.insert(at, distance);
            }
        }
        self
    }

    /// `distance` must not exceed `distance_max`.
    fn insert(&mut self, at: usize, distance: u16) {
        self.found.push((at, distance));
        self.histogram[usize::from(distance)] += 1;
        self.closer_count += usize::from(distance < self.distance_max);
        while self.closer_count >= self.wanted && self.distance_max > 0 {
            self.distance_max -= 1;
            self.closer_count -= self.histogram[usize::from(self.distance_max)];
        }
    }

    /// The closest `wanted`, and all that are as close as the last of them.
    pub(super) fn finish(self) -> Vec<usize> {
        let is_near = |(at, distance): (usize, u16)| (distance <= self.distance_max).then_some(at);
        self.found.into_iter().filter_map(is_near).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::sign_bits::sign_words;
    use super::super::tests::{differing, vector};
    use super::*;

    /// One pass keeps the same as sorting everything first: the closest `wanted` and ties with the last.
    #[test]
    fn those_that_agree_most_stay() {
        let many: Vec<u16> = (0..4_000_u32).map(|at| (at.wrapping_mul(0x9e37_79b9) >> 24) as u16).collect();
        let distinct: Vec<u16> = (0..256).map(|at| at * 37 % 256).collect();
        let far: Vec<u16> = many.iter().map(|distance| (*distance).max(200)).collect();
        for (distances, wanted) in
            [&many, &distinct, &far].into_iter().flat_map(|all| [(all, 1), (all, 100), (all, 256), (all, 9_000)])
        {
            let mut halves = [(); 2].map(|()| HammingTopK::new(384, wanted));
            for (at, distance) in distances.iter().enumerate() {
                let top_k = &mut halves[at / 7 % 2];
                if *distance <= top_k.distance_max {
                    top_k.insert(at, *distance);
                }
            }
            let mut top_k = halves.into_iter().fold(HammingTopK::new(384, wanted), HammingTopK::merge).finish();
            top_k.sort_unstable();
            let mut order = distances.clone();
            order.sort_unstable();
            let last = order[wanted.min(order.len()) - 1];
            let expected: Vec<usize> = (0..distances.len()).filter(|at| distances[*at] <= last).collect();
            assert_eq!(top_k, expected, "{wanted}");
        }
    }

    /// No embedding as close as the last wanted one is skipped.
    #[test]
    fn those_near_enough_are_seen_wherever_they_stand() {
        for dimensions in [70, 384] {
            let mut all = SignBits::new(dimensions);
            let value = |at: usize| vector(at as i64, dimensions);
            (0..3_000).for_each(|at| all.put(at, sign_words(value(at).values())));
            let query = value(77_777);
            let bits: Vec<u64> = sign_words(query.values()).collect();
            for (range, wanted) in [(0..3_000, 1), (0..3_000, 40), (256..2_999, 40), (512..700, 500)] {
                let mut top_k = HammingTopK::new(dimensions, wanted);
                top_k.scan(range.clone(), &all, &bits, |at| at % 3 > 0);
                let mut found = top_k.finish();
                found.sort_unstable();
                let distance = |at: &usize| differing(&value(*at), &query);
                let admitted: Vec<usize> = range.filter(|at| at % 3 > 0).collect();
                let mut order: Vec<usize> = admitted.iter().map(distance).collect();
                order.sort_unstable();
                let last = order[wanted.min(order.len()) - 1];
                let expected: Vec<usize> = admitted.into_iter().filter(|at| distance(at) <= last).collect();
                assert_eq!(found, expected, "{dimensions} {wanted}");
            }
        }
    }
}
