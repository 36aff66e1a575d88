//! Similarity search over the embeddings of one model, held in memory as `i8` values.
//!
//! Sign bits are compared first. If there are few embeddings, all are then compared exactly; of many only those
//! with the closest signs: the only approximation.
//!
//! [`Arch`] compiles each `NullaryFnOnce` once per instruction set, including only what is inlined into it. So
//! these kernels use no closures and no iterator adapters: a call that is not inlined would be compiled for the
//! baseline machine.

mod hamming;
mod mean_vector;
mod scan;
mod sign_bits;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hint::black_box;

use neap_core::base::ids::Stamp;
use neap_core::recall::{Embedding, TextKind, cosine, dot};
use pulp::{Arch, NullaryFnOnce};

pub(crate) use mean_vector::MeanVector;
pub(crate) use scan::{VectorFilter, VectorScan};
use sign_bits::SignBits;

const PREFETCH: usize = 8;
const CACHE_LINE: usize = 64;

/// Embeddings of one length, one per text.
pub(crate) struct VectorIndex {
    dimensions: usize,
    texts: Vec<VectorEntry>,
    /// One embedding after another.
    values: Vec<i8>,
    signs: SignBits,
    squared_norms: Vec<i32>,
    places: HashMap<i64, usize>,
    mean_vector: MeanVector,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VectorEntry {
    /// The text's rowid.
    pub(crate) text: i64,
    pub(crate) kind: TextKind,
    pub(crate) at: Stamp,
}

impl VectorIndex {
    pub(crate) fn new(dimensions: usize) -> Self {
        let (texts, values, squared_norms) = (Vec::new(), Vec::new(), Vec::new());
        let (signs, places, mean_vector) = (SignBits::new(dimensions), HashMap::new(), MeanVector::default());
        Self { dimensions, texts, values, signs, squared_norms, places, mean_vector }
    }

    /// Replaces a text's embedding; one of another length is dropped.
    pub(crate) fn put(&mut self, entry: VectorEntry, bytes: &[u8]) {
        self.remove(entry.text);
        if bytes.len() != self.dimensions {
            return;
        }
        let at = self.texts.len();
        self.places.insert(entry.text, at);
        self.texts.push(entry);
        let start = self.values.len();
        self.values.extend(bytes.iter().map(|byte| byte.cast_signed()));
        self.signs.put(at, &self.values[start..]);
        self.squared_norms.push(fast_dot(&self.values[start..], &self.values[start..]));
        self.mean_vector.add(&self.values[start..]);
    }

    pub(crate) fn size(&self) -> (usize, usize) {
        let slot_bytes = size_of::<(i64, usize)>() + 1;
        let bytes = self.values.capacity()
            + self.signs.bytes()
            + self.squared_norms.capacity() * size_of::<i32>()
            + self.texts.capacity() * size_of::<VectorEntry>()
            + self.places.capacity() * slot_bytes;
        (self.texts.len(), bytes)
    }

    /// The last embedding takes the freed slot.
    pub(crate) fn remove(&mut self, text: i64) {
        let Some(at) = self.places.remove(&text) else { return };
        self.texts.swap_remove(at);
        self.squared_norms.swap_remove(at);
        if let Some(moved) = self.texts.get(at) {
            self.places.insert(moved.text, at);
        }
        self.mean_vector.subtract(&self.values[at * self.dimensions..(at + 1) * self.dimensions]);
        let last = self.values.len() - self.dimensions;
        self.values.copy_within(last.., at * self.dimensions);
        self.values.truncate(last);
        self.signs.remove(at, self.texts.len());
    }

    /// The similarity of each text that has an embedding here.
    pub(crate) fn similarities(&self, query: &Embedding, texts: &[i64]) -> Vec<(i64, f64)> {
        let places: Vec<usize> = texts.iter().filter_map(|text| self.places.get(text).copied()).collect();
        let similarities = self.exact_similarities(query.values(), &places);
        similarities.into_iter().map(|(at, similarity)| (self.texts[at].text, similarity)).collect()
    }

    /// The similarity at these indexes; 0 if the query has another length.
    fn exact_similarities(&self, query: &[i8], places: &[usize]) -> Vec<(usize, f64)> {
        if query.len() != self.dimensions {
            return places.iter().map(|at| (*at, 0.0)).collect();
        }
        Arch::new().dispatch(CosineKernel { index: self, places, query })
    }

    pub(crate) fn mean_vector(&self) -> &MeanVector {
        &self.mean_vector
    }

    #[inline(always)]
    fn value(&self, at: usize) -> &[i8] {
        &self.values[at * self.dimensions..(at + 1) * self.dimensions]
    }

    pub(crate) fn scan_nearest<'a>(
        &'a self,
        query: &'a Embedding,
        max: usize,
        filter: Option<VectorFilter<'a>>,
    ) -> VectorScan<'a> {
        VectorScan::new(self, query, max, filter)
    }
}

struct CosineKernel<'a> {
    index: &'a VectorIndex,
    places: &'a [usize],
    query: &'a [i8],
}

impl NullaryFnOnce for CosineKernel<'_> {
    type Output = Vec<(usize, f64)>;

    #[inline(always)]
    fn call(self) -> Self::Output {
        let Self { index, places, query } = self;
        let squared_norm = dot(query, query);
        let mut found = Vec::with_capacity(places.len());
        for batch in places.chunks(PREFETCH) {
            // Touching several distant cache lines at once costs little more than waiting for one.
            for &at in batch {
                let value = index.value(at);
                let mut byte = 0;
                while byte < value.len() {
                    black_box(value[byte]);
                    byte += CACHE_LINE;
                }
            }
            for &at in batch {
                found.push((at, cosine(dot(query, index.value(at)), squared_norm, index.squared_norms[at])));
            }
        }
        found
    }
}

struct DotKernel<'a>(&'a [i8], &'a [i8]);

impl NullaryFnOnce for DotKernel<'_> {
    type Output = i32;

    #[inline(always)]
    fn call(self) -> i32 {
        dot(self.0, self.1)
    }
}

fn fast_dot(a: &[i8], b: &[i8]) -> i32 {
    Arch::new().dispatch(DotKernel(a, b))
}

/// More similar first, then newer.
pub(crate) fn by_similarity(a: &(i64, f64), b: &(i64, f64)) -> Ordering {
    by_similarity_of(|text| *text, a, b)
}

/// Like [`by_similarity`], but reads the text only on a tie.
fn by_similarity_of<T>(text: impl Fn(&T) -> i64, a: &(T, f64), b: &(T, f64)) -> Ordering {
    b.1.total_cmp(&a.1).then_with(|| text(&b.0).cmp(&text(&a.0)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn entry(text: i64) -> VectorEntry {
        VectorEntry { text, kind: TextKind::User, at: Stamp(text) }
    }

    /// Deterministic pseudo-random values.
    pub(super) fn vector(seed: i64, dimensions: usize) -> Embedding {
        let mut state = (seed as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut bytes = Vec::with_capacity(dimensions);
        for _ in 0..dimensions {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            bytes.push((state >> 32) as u8);
        }
        Embedding::from_bytes(&bytes)
    }

    /// The Hamming distance of the signs, computed from the values.
    pub(super) fn differing(a: &Embedding, b: &Embedding) -> usize {
        a.values().iter().zip(b.values()).filter(|(a, b)| (**a > 0) != (**b > 0)).count()
    }

    fn all(count: i64, dimensions: usize) -> VectorIndex {
        let mut vectors = VectorIndex::new(dimensions);
        for text in 0..count {
            vectors.put(entry(text), &vector(text, dimensions).to_bytes());
        }
        vectors
    }

    fn nearest(
        vectors: &VectorIndex,
        query: &Embedding,
        max: usize,
        filter: Option<VectorFilter<'_>>,
    ) -> Vec<(i64, f64)> {
        let run = |threads: usize| {
            let scan = vectors.scan_nearest(query, max, filter);
            std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(|| scan.run()))));
            scan.nearest()
        };
        let alone = run(1);
        assert_eq!(run(3), alone);
        alone
    }

    #[test]
    fn the_nearest_come_first_then_the_newer() {
        let mut vectors = VectorIndex::new(2);
        for (text, bytes) in [(1, [5, 5]), (2, [10, 0]), (3, [7, 7]), (4, [0, 9]), (5, [1, 1])] {
            vectors.put(entry(text), &bytes);
        }
        let texts = |max, filter: Option<VectorFilter<'_>>| {
            let found = nearest(&vectors, &Embedding::from_bytes(&[3, 3]), max, filter);
            found.into_iter().map(|(text, _)| text).collect::<Vec<_>>()
        };
        assert_eq!(texts(9, None), [5, 3, 1, 4, 2]);
        assert_eq!(texts(2, None), [5, 3]);
        assert_eq!(texts(2, Some(&|entry| entry.text < 4)), [3, 1]);
        assert_eq!(texts(0, None), Vec::<i64>::new());
        assert_eq!(nearest(&vectors, &Embedding::from_bytes(&[3]), 9, None), [], "of another length");
    }

    #[test]
    fn embeddings_are_replaced_and_removed() {
        let (mut vectors, mut stored) = (VectorIndex::new(70), BTreeMap::new());
        for step in 0..400_i64 {
            let text = (step * 37) % 50;
            if step % 3 == 2 {
                vectors.remove(text);
                stored.remove(&text);
            } else {
                vectors.put(entry(text), &vector(step, 70).to_bytes());
                stored.insert(text, vector(step, 70));
            }
            let query = vector(step * 7, 70);
            let mut expected: Vec<_> =
                stored.iter().map(|(text, v)| (*text, query.similarity(v.values()))).collect();
            expected.sort_by(by_similarity);
            assert_eq!(nearest(&vectors, &query, 99, None), expected);
            let similarity: Vec<_> =
                stored.get(&text).map(|v| (text, query.similarity(v.values()))).into_iter().collect();
            assert_eq!(vectors.similarities(&query, &[text, 99]), similarity);
        }
    }

    /// However many threads share the scan, every embedding is seen and the result is the same.
    #[test]
    fn steps_are_shared() {
        let vectors = all(9_000, 70);
        for seed in [3, 10_001] {
            let query = vector(seed, 70);
            let mut expected: Vec<_> =
                (0..9_000).map(|text| (text, query.similarity(vector(text, 70).values()))).collect();
            expected.sort_by(by_similarity);
            // So many are wanted that all are compared exactly.
            assert_eq!(nearest(&vectors, &query, 9_000, None), expected);
        }
    }

    /// Few embeddings are all compared exactly, whatever their signs.
    #[test]
    fn few_are_all_looked_at_closely() {
        let vectors = all(4_000, 16);
        for seed in [3, 10_001] {
            let query = vector(seed, 16);
            let mut expected: Vec<_> =
                (0..4_000).map(|text| (text, query.similarity(vector(text, 16).values()))).collect();
            expected.sort_by(by_similarity);
            assert_eq!(nearest(&vectors, &query, 100, None), expected[..100]);
        }
    }

    /// Among many, a near duplicate is always found, and nearly all of the nearest.
    #[test]
    fn signs_lead_to_the_nearest() {
        for dimensions in [128, 384] {
            signs_lead(dimensions);
        }
    }

    fn signs_lead(dimensions: usize) {
        let vectors = all(20_500, dimensions);
        let mut same = 0;
        for seed in 0..10 {
            let query = vector(seed * 999, dimensions);
            let found = nearest(&vectors, &query, 20, None);
            assert_eq!(found[0].0, seed * 999);
            let mut exact: Vec<_> =
                (0..vectors.texts.len()).map(|at| (at as i64, query.similarity(vectors.value(at)))).collect();
            exact.sort_by(by_similarity);
            same += exact[..20].iter().filter(|one| found.contains(one)).count();
            let even = nearest(&vectors, &query, 20, Some(&|entry| entry.text % 2 == 0));
            assert!(even.len() == 20 && even.iter().all(|(text, _)| text % 2 == 0));
        }
        assert!(same >= 150, "{same} of 200");
    }
}
