//! Which embeddings are near to another: all of one embedder's, held in memory as small whole numbers.
//!
//! The signs of their numbers are compared first, a bit each. Few are all looked at closely then, of many only those that agree most:
//! that is an approximation, and the only one.
//!
//! What [`Arch`] runs (each `NullaryFnOnce`) is made once for each kind of machine, with all the instructions that it has: only what is inlined into it. So there are
//! no closures in it, and no iterators' own loops: what calls a closure need not be inlined, and then is made for the least machine.

mod agreeing;
mod directions;
mod looking;
mod signs;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hint::black_box;

use neap_core::ids::Stamp;
use neap_core::recall::{Embedding, TextKind, cosine, dot};
use pulp::{Arch, NullaryFnOnce};

pub(crate) use directions::Directions;
pub(crate) use looking::{Looking, Searched};
use signs::Signs;

/// So many embeddings are asked for at once.
const AHEAD: usize = 8;
/// Bytes that come from memory together.
const CACHE_LINE: usize = 64;

/// Embeddings of one length, each of another text.
pub(crate) struct Vectors {
    dimensions: usize,
    texts: Vec<Of>,
    /// One after another.
    values: Vec<i8>,
    signs: Signs,
    /// The sum of squares of each.
    squares: Vec<i32>,
    places: HashMap<i64, usize>,
    directions: Directions,
}

/// Whose embedding it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Of {
    /// The number of its text.
    pub(crate) text: i64,
    pub(crate) kind: TextKind,
    pub(crate) at: Stamp,
}

impl Vectors {
    /// None yet.
    pub(crate) fn new(dimensions: usize) -> Self {
        let (texts, values, squares) = (Vec::new(), Vec::new(), Vec::new());
        let (signs, places, directions) = (Signs::new(dimensions), HashMap::new(), Directions::default());
        Self { dimensions, texts, values, signs, squares, places, directions }
    }

    /// Puts a text's embedding in place of the one that it had; one of another length is none.
    pub(crate) fn put(&mut self, of: Of, bytes: &[u8]) {
        self.remove(of.text);
        if bytes.len() != self.dimensions {
            return;
        }
        let at = self.texts.len();
        self.places.insert(of.text, at);
        self.texts.push(of);
        let start = self.values.len();
        self.values.extend(bytes.iter().map(|byte| byte.cast_signed()));
        self.signs.put(at, &self.values[start..]);
        self.squares.push(fast_dot(&self.values[start..], &self.values[start..]));
        self.directions.add(&self.values[start..]);
    }

    /// How many there are, and the bytes that are held for them.
    pub(crate) fn size(&self) -> (usize, usize) {
        let place = size_of::<(i64, usize)>() + 1;
        let bytes = self.values.capacity()
            + self.signs.bytes()
            + self.squares.capacity() * size_of::<i32>()
            + self.texts.capacity() * size_of::<Of>()
            + self.places.capacity() * place;
        (self.texts.len(), bytes)
    }

    /// Removes a text's embedding, if it has one. The last takes its place.
    pub(crate) fn remove(&mut self, text: i64) {
        let Some(at) = self.places.remove(&text) else { return };
        self.texts.swap_remove(at);
        self.squares.swap_remove(at);
        if let Some(moved) = self.texts.get(at) {
            self.places.insert(moved.text, at);
        }
        self.directions.subtract(&self.values[at * self.dimensions..(at + 1) * self.dimensions]);
        let last = self.values.len() - self.dimensions;
        self.values.copy_within(last.., at * self.dimensions);
        self.values.truncate(last);
        self.signs.remove(at, self.texts.len());
    }

    /// How near those of the texts are that have an embedding here.
    pub(crate) fn near(&self, meant: &Embedding, texts: &[i64]) -> Vec<(i64, f64)> {
        let places: Vec<usize> = texts.iter().filter_map(|text| self.places.get(text).copied()).collect();
        let near = self.compared(meant.values(), &places);
        near.into_iter().map(|(at, near)| (self.texts[at].text, near)).collect()
    }

    /// How near the embeddings are that stand at these places. One of another length is not near at all.
    fn compared(&self, meant: &[i8], places: &[usize]) -> Vec<(usize, f64)> {
        if meant.len() != self.dimensions {
            return places.iter().map(|at| (*at, 0.0)).collect();
        }
        Arch::new().dispatch(Compared { all: self, places, meant })
    }

    /// The sum of them all.
    pub(crate) fn directions(&self) -> &Directions {
        &self.directions
    }

    #[inline(always)]
    fn value(&self, at: usize) -> &[i8] {
        &self.values[at * self.dimensions..(at + 1) * self.dimensions]
    }

    /// A look for the nearest `max` of those that are searched.
    pub(crate) fn look_for<'a>(
        &'a self,
        meant: &'a Embedding,
        max: usize,
        is_searched: Option<Searched<'a>>,
    ) -> Looking<'a> {
        Looking::new(self, meant, max, is_searched)
    }
}

/// How near some embeddings are.
struct Compared<'a> {
    all: &'a Vectors,
    places: &'a [usize],
    meant: &'a [i8],
}

impl NullaryFnOnce for Compared<'_> {
    type Output = Vec<(usize, f64)>;

    #[inline(always)]
    fn call(self) -> Self::Output {
        let Self { all, places, meant } = self;
        let own = dot(meant, meant);
        let mut found = Vec::with_capacity(places.len());
        for some in places.chunks(AHEAD) {
            // They stand far from each other: to ask for the next ones all at once takes little longer than to wait for one.
            for &at in some {
                let value = all.value(at);
                let mut byte = 0;
                while byte < value.len() {
                    black_box(value[byte]);
                    byte += CACHE_LINE;
                }
            }
            for &at in some {
                found.push((at, cosine(dot(meant, all.value(at)), own, all.squares[at])));
            }
        }
        found
    }
}

/// The sum of products.
struct Dot<'a>(&'a [i8], &'a [i8]);

impl NullaryFnOnce for Dot<'_> {
    type Output = i32;

    #[inline(always)]
    fn call(self) -> i32 {
        dot(self.0, self.1)
    }
}

fn fast_dot(a: &[i8], b: &[i8]) -> i32 {
    Arch::new().dispatch(Dot(a, b))
}

/// The nearer first, then the newer.
pub(crate) fn nearer(a: &(i64, f64), b: &(i64, f64)) -> Ordering {
    nearer_of(|text| *text, a, b)
}

/// The same where the text is read only if both are as near.
fn nearer_of<T>(text: impl Fn(&T) -> i64, a: &(T, f64), b: &(T, f64)) -> Ordering {
    b.1.total_cmp(&a.1).then_with(|| text(&b.0).cmp(&text(&a.0)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn of(text: i64) -> Of {
        Of { text, kind: TextKind::User, at: Stamp(text) }
    }

    /// Numbers that look random and are the same every time.
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

    /// In how many signs two differ, by a look at their numbers.
    pub(super) fn differing(a: &Embedding, b: &Embedding) -> usize {
        a.values().iter().zip(b.values()).filter(|(a, b)| (**a > 0) != (**b > 0)).count()
    }

    fn all(count: i64, dimensions: usize) -> Vectors {
        let mut vectors = Vectors::new(dimensions);
        for text in 0..count {
            vectors.put(of(text), &vector(text, dimensions).to_bytes());
        }
        vectors
    }

    fn nearest(
        vectors: &Vectors,
        meant: &Embedding,
        max: usize,
        is_searched: Option<Searched<'_>>,
    ) -> Vec<(i64, f64)> {
        let look = |threads: usize| {
            let looking = vectors.look_for(meant, max, is_searched);
            std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(|| looking.look()))));
            looking.nearest()
        };
        let alone = look(1);
        assert_eq!(look(3), alone);
        alone
    }

    #[test]
    fn the_nearest_come_first_then_the_newer() {
        let mut vectors = Vectors::new(2);
        for (text, bytes) in [(1, [5, 5]), (2, [10, 0]), (3, [7, 7]), (4, [0, 9]), (5, [1, 1])] {
            vectors.put(of(text), &bytes);
        }
        let texts = |max, is_searched: Option<Searched<'_>>| {
            let found = nearest(&vectors, &Embedding::from_bytes(&[3, 3]), max, is_searched);
            found.into_iter().map(|(text, _)| text).collect::<Vec<_>>()
        };
        assert_eq!(texts(9, None), [5, 3, 1, 4, 2]);
        assert_eq!(texts(2, None), [5, 3]);
        assert_eq!(texts(2, Some(&|of| of.text < 4)), [3, 1]);
        assert_eq!(texts(0, None), Vec::<i64>::new());
        assert_eq!(nearest(&vectors, &Embedding::from_bytes(&[3]), 9, None), [], "of another length");
    }

    /// Whatever is put, replaced and removed, it is what putting only the last of each gives.
    #[test]
    fn embeddings_are_replaced_and_removed() {
        let (mut vectors, mut kept) = (Vectors::new(70), BTreeMap::new());
        for step in 0..400_i64 {
            let text = (step * 37) % 50;
            if step % 3 == 2 {
                vectors.remove(text);
                kept.remove(&text);
            } else {
                vectors.put(of(text), &vector(step, 70).to_bytes());
                kept.insert(text, vector(step, 70));
            }
            let meant = vector(step * 7, 70);
            let mut expected: Vec<_> = kept.iter().map(|(text, v)| (*text, meant.near(v.values()))).collect();
            expected.sort_by(nearer);
            assert_eq!(nearest(&vectors, &meant, 99, None), expected);
            let near: Vec<_> = kept.get(&text).map(|v| (text, meant.near(v.values()))).into_iter().collect();
            assert_eq!(vectors.near(&meant, &[text, 99]), near);
        }
    }

    /// However many look, and in however many steps: all are seen, and the same is found as one by one.
    #[test]
    fn steps_are_shared() {
        let vectors = all(9_000, 70);
        for seed in [3, 10_001] {
            let meant = vector(seed, 70);
            let mut expected: Vec<_> =
                (0..9_000).map(|text| (text, meant.near(vector(text, 70).values()))).collect();
            expected.sort_by(nearer);
            // So many are wanted that all agree enough.
            assert_eq!(nearest(&vectors, &meant, 9_000, None), expected);
        }
    }

    /// Of few all are looked at closely: what is found is exact, whatever their signs say.
    #[test]
    fn few_are_all_looked_at_closely() {
        let vectors = all(4_000, 16);
        for seed in [3, 10_001] {
            let meant = vector(seed, 16);
            let mut expected: Vec<_> =
                (0..4_000).map(|text| (text, meant.near(vector(text, 16).values()))).collect();
            expected.sort_by(nearer);
            assert_eq!(nearest(&vectors, &meant, 100, None), expected[..100]);
        }
    }

    /// Among many, what is nearly the same is found for certain, and nearly all of the nearest are.
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
            let meant = vector(seed * 999, dimensions);
            let found = nearest(&vectors, &meant, 20, None);
            assert_eq!(found[0].0, seed * 999);
            let mut exact: Vec<_> =
                (0..vectors.texts.len()).map(|at| (at as i64, meant.near(vectors.value(at)))).collect();
            exact.sort_by(nearer);
            same += exact[..20].iter().filter(|one| found.contains(one)).count();
            let even = nearest(&vectors, &meant, 20, Some(&|of| of.text % 2 == 0));
            assert!(even.len() == 20 && even.iter().all(|(text, _)| text % 2 == 0));
        }
        assert!(same >= 150, "{same} of 200");
    }
}
