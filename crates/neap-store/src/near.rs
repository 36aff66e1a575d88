//! Which embeddings are near to another: all of one embedder's, held in memory as small whole numbers.
//!
//! Few are compared one by one. Of many, the signs of their numbers are compared first, a bit each; only those that agree most are
//! looked at closely. That is an approximation, and the only one.

use std::cmp::Ordering;
use std::collections::HashMap;

use neap_core::ids::Stamp;
use neap_core::recall::{Embedding, TextKind, cosine, dot};
use pulp::{Arch, NullaryFnOnce};

/// Up to so many are compared one by one.
const EXACT_MAX: usize = 20_000;
/// Above that so many times what is wanted is looked at closely, and at least so many.
const CLOSER: usize = 8;
const CLOSER_MIN: usize = 1_000;
const BITS: usize = u64::BITS as usize;

/// Embeddings of one length, each of another text.
pub(crate) struct Vectors {
    dimensions: usize,
    texts: Vec<Of>,
    /// One after another.
    values: Vec<i8>,
    /// A bit for each value: whether it is above zero.
    signs: Vec<u64>,
    /// The sum of squares of each.
    squares: Vec<i32>,
    places: HashMap<i64, usize>,
    directions: Directions,
}

/// The sum of directions, in whole numbers: in whatever order they were added and taken away, it is the same.
#[derive(Debug, Default)]
pub(crate) struct Directions {
    count: i64,
    sum: Vec<i64>,
}

/// A direction's length in that sum.
const UNIT: f64 = 1_048_576.0;

impl Directions {
    /// Adds the direction of an embedding.
    pub(crate) fn add(&mut self, values: &[i8]) {
        self.change(values, 1);
    }

    fn change(&mut self, values: &[i8], by: i64) {
        let squares = fast_dot(values, values);
        if squares == 0 {
            return;
        }
        self.count += by;
        self.sum.resize(values.len(), 0);
        let scale = UNIT / f64::from(squares).sqrt();
        Arch::new().dispatch(Shifted { sum: &mut self.sum, values, by, scale });
    }

    /// How near all of these are to an embedding, on the whole.
    pub(crate) fn mean_near<'a>(all: impl IntoIterator<Item = &'a Self>, meant: &Embedding) -> f64 {
        let length = f64::from(dot(meant.values(), meant.values())).sqrt();
        let (mut count, mut both) = (0, 0);
        for Directions { count: some, sum } in all {
            if sum.len() == meant.values().len() {
                count += some;
                both += sum.iter().zip(meant.values()).map(|(sum, value)| sum * i64::from(*value)).sum::<i64>();
            }
        }
        if count == 0 || length == 0.0 { 0.0 } else { both as f64 / UNIT / length / count as f64 }
    }
}

/// What others are held against.
pub(crate) struct Probe<'a> {
    values: &'a [i8],
    squares: i32,
}

impl<'a> Probe<'a> {
    pub(crate) fn of(embedding: &'a Embedding) -> Self {
        let values = embedding.values();
        Self { values, squares: fast_dot(values, values) }
    }
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
        let (texts, values, signs, squares) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (places, directions) = (HashMap::new(), Directions::default());
        Self { dimensions, texts, values, signs, squares, places, directions }
    }

    /// Puts a text's embedding in place of the one that it had; one of another length is none.
    pub(crate) fn put(&mut self, of: Of, bytes: &[u8]) {
        self.remove(of.text);
        if bytes.len() != self.dimensions {
            return;
        }
        self.places.insert(of.text, self.texts.len());
        self.texts.push(of);
        let start = self.values.len();
        self.values.extend(bytes.iter().map(|byte| byte.cast_signed()));
        self.signs.extend(signs(&self.values[start..]));
        self.squares.push(fast_dot(&self.values[start..], &self.values[start..]));
        self.directions.add(&self.values[start..]);
    }

    /// Removes a text's embedding, if it has one. The last takes its place.
    pub(crate) fn remove(&mut self, text: i64) {
        let Some(at) = self.places.remove(&text) else { return };
        self.texts.swap_remove(at);
        self.squares.swap_remove(at);
        if let Some(moved) = self.texts.get(at) {
            self.places.insert(moved.text, at);
        }
        self.directions.change(&self.values[at * self.dimensions..(at + 1) * self.dimensions], -1);
        cut(&mut self.values, at, self.dimensions);
        cut(&mut self.signs, at, self.dimensions.div_ceil(BITS));
    }

    /// How near a text is; none if it has no embedding here.
    pub(crate) fn near(&self, meant: &Probe<'_>, text: i64) -> Option<f64> {
        let at = *self.places.get(&text)?;
        if meant.values.len() != self.dimensions {
            return Some(0.0);
        }
        Some(cosine(fast_dot(meant.values, self.value(at)), meant.squares, self.squares[at]))
    }

    /// The sum of them all.
    pub(crate) fn directions(&self) -> &Directions {
        &self.directions
    }

    #[inline(always)]
    fn value(&self, at: usize) -> &[i8] {
        &self.values[at * self.dimensions..(at + 1) * self.dimensions]
    }

    /// The nearest `max` of those that are searched, nearest first; of equally near ones, the newer.
    pub(crate) fn nearest(
        &self,
        meant: &Embedding,
        max: usize,
        is_searched: Option<&dyn Fn(&Of) -> bool>,
    ) -> Vec<(i64, f64)> {
        if max == 0 || self.dimensions == 0 || meant.values().len() != self.dimensions {
            return Vec::new();
        }
        let is_searched = |at: &usize| is_searched.is_none_or(|is_searched| is_searched(&self.texts[*at]));
        let closely: Vec<usize> = if self.texts.len() <= EXACT_MAX {
            (0..self.texts.len()).filter(is_searched).collect()
        } else {
            self.agreeing(meant, max.saturating_mul(CLOSER).max(CLOSER_MIN), is_searched)
        };
        let mut found = Arch::new().dispatch(Compared { all: self, closely: &closely, meant: meant.values() });
        if found.len() > max {
            found.select_nth_unstable_by(max, nearer);
            found.truncate(max);
        }
        found.sort_unstable_by(nearer);
        found
    }

    /// At least `wanted` of those whose signs agree most, if there are so many.
    fn agreeing(&self, meant: &Embedding, wanted: usize, is_searched: impl Fn(&usize) -> bool) -> Vec<usize> {
        let meant: Vec<u64> = signs(meant.values()).collect();
        let mut agreeing = Agreeing::new(self.dimensions, wanted);
        let mut distances = [0_u16; BLOCK];
        for (signs, start) in self.signs.chunks(BLOCK * meant.len()).zip((0..).step_by(BLOCK)) {
            Arch::new().dispatch(Distances { out: &mut distances, signs, meant: &meant });
            for (at, distance) in (start..self.texts.len()).zip(distances) {
                if distance <= agreeing.most && is_searched(&at) {
                    agreeing.take(at, distance);
                }
            }
        }
        agreeing.end()
    }
}

/// So many are compared by their signs at a time.
const BLOCK: usize = 256;

/// Those that agree most among all that were seen: the more of them there are, the fewer signs may differ.
struct Agreeing {
    wanted: usize,
    /// In so many signs one may differ.
    most: u16,
    /// How many differ in how many signs.
    with: Vec<usize>,
    /// How many differ in fewer than `most`.
    fewer: usize,
    /// With all that were among them for a while.
    found: Vec<(usize, u16)>,
}

impl Agreeing {
    fn new(dimensions: usize, wanted: usize) -> Self {
        let most = u16::try_from(dimensions).unwrap_or(u16::MAX);
        Self { wanted, most, with: vec![0; usize::from(most) + 1], fewer: 0, found: Vec::new() }
    }

    /// Takes one that differs in `most` signs or fewer.
    fn take(&mut self, at: usize, distance: u16) {
        self.found.push((at, distance));
        self.with[usize::from(distance)] += 1;
        self.fewer += usize::from(distance < self.most);
        while self.fewer >= self.wanted && self.most > 0 {
            self.most -= 1;
            self.fewer -= self.with[usize::from(self.most)];
        }
    }

    fn end(self) -> Vec<usize> {
        let is_near = |(at, distance): (usize, u16)| (distance <= self.most).then_some(at);
        self.found.into_iter().filter_map(is_near).collect()
    }
}

// These are made once for each kind of machine, each with all the instructions that it has: only what is inlined into what `Arch` runs.
// Not as closures, and not by way of iterators' own: what calls a closure need not be inlined, and then is made for the least machine.

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

/// A sum of directions, with one more or one less.
struct Shifted<'a> {
    sum: &'a mut [i64],
    values: &'a [i8],
    by: i64,
    scale: f64,
}

impl NullaryFnOnce for Shifted<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (sum, value) in self.sum.iter_mut().zip(self.values) {
            *sum += self.by * i64::from((f64::from(*value) * self.scale).round_ties_even() as i32);
        }
    }
}

/// How near some texts are.
struct Compared<'a> {
    all: &'a Vectors,
    closely: &'a [usize],
    meant: &'a [i8],
}

impl NullaryFnOnce for Compared<'_> {
    type Output = Vec<(i64, f64)>;

    #[inline(always)]
    fn call(self) -> Self::Output {
        let Self { all, closely, meant } = self;
        let own = dot(meant, meant);
        let mut found = Vec::with_capacity(closely.len());
        for &at in closely {
            found.push((all.texts[at].text, cosine(dot(meant, all.value(at)), own, all.squares[at])));
        }
        found
    }
}

/// In how many signs each embedding differs from one.
struct Distances<'a> {
    out: &'a mut [u16],
    signs: &'a [u64],
    meant: &'a [u64],
}

impl NullaryFnOnce for Distances<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { out, signs, meant } = self;
        // As long as the built-in embedder's are: a loop of known length is unrolled.
        if let Ok(meant) = <&[u64; 6]>::try_from(meant) {
            let (signs, _) = signs.as_chunks::<6>();
            let both = out.len().min(signs.len());
            for at in 0..both {
                out[at] = differing(&signs[at], meant);
            }
            return;
        }
        for (out, signs) in out.iter_mut().zip(signs.chunks_exact(meant.len())) {
            *out = differing(signs, meant);
        }
    }
}

/// In how many signs two embeddings differ.
#[inline(always)]
fn differing(a: &[u64], b: &[u64]) -> u16 {
    let both = a.len().min(b.len());
    let (a, b) = (&a[..both], &b[..both]);
    let mut sum = 0;
    for at in 0..both {
        sum += (a[at] ^ b[at]).count_ones() as u16;
    }
    sum
}

/// Removes the stretch of one text; the last takes its place.
fn cut<T: Copy>(all: &mut Vec<T>, at: usize, length: usize) {
    let last = all.len() - length;
    all.copy_within(last.., at * length);
    all.truncate(last);
}

fn signs(values: &[i8]) -> impl Iterator<Item = u64> {
    values
        .chunks(BITS)
        .map(|some| some.iter().enumerate().fold(0, |bits, (at, value)| bits | u64::from(*value > 0) << at))
}

/// The nearer first, then the newer.
pub(crate) fn nearer(a: &(i64, f64), b: &(i64, f64)) -> Ordering {
    b.1.total_cmp(&a.1).then(b.0.cmp(&a.0))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn of(text: i64) -> Of {
        Of { text, kind: TextKind::User, at: Stamp(text) }
    }

    /// Numbers that look random and are the same every time.
    fn vector(seed: i64, dimensions: usize) -> Embedding {
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

    fn all(count: i64, dimensions: usize) -> Vectors {
        let mut vectors = Vectors::new(dimensions);
        for text in 0..count {
            vectors.put(of(text), &vector(text, dimensions).to_bytes());
        }
        vectors
    }

    #[test]
    fn the_nearest_come_first_then_the_newer() {
        let mut vectors = Vectors::new(2);
        for (text, bytes) in [(1, [5, 5]), (2, [10, 0]), (3, [7, 7]), (4, [0, 9]), (5, [1, 1])] {
            vectors.put(of(text), &bytes);
        }
        let texts = |max, is_searched: Option<&dyn Fn(&Of) -> bool>| {
            let found = vectors.nearest(&Embedding::from_bytes(&[3, 3]), max, is_searched);
            found.into_iter().map(|(text, _)| text).collect::<Vec<_>>()
        };
        assert_eq!(texts(9, None), [5, 3, 1, 4, 2]);
        assert_eq!(texts(2, None), [5, 3]);
        assert_eq!(texts(2, Some(&|of| of.text < 4)), [3, 1]);
        assert_eq!(texts(0, None), Vec::<i64>::new());
        assert_eq!(vectors.nearest(&Embedding::from_bytes(&[3]), 9, None), [], "of another length");
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
            assert_eq!(vectors.nearest(&meant, 99, None), expected);
            assert_eq!(vectors.near(&Probe::of(&meant), text), kept.get(&text).map(|v| meant.near(v.values())));
        }
    }

    /// In one pass the same stay as if all had been put in order first: the first that are wanted, and those as far as the last of them.
    #[test]
    fn those_that_agree_most_stay() {
        let bytes = vector(7, 4_000).to_bytes();
        let many: Vec<u16> = bytes.iter().map(|byte| u16::from(*byte)).collect();
        let distinct: Vec<u16> = (0..256).map(|at| at * 37 % 256).collect();
        let far: Vec<u16> = many.iter().map(|distance| (*distance).max(200)).collect();
        for (distances, wanted) in
            [&many, &distinct, &far].into_iter().flat_map(|of| [(of, 1), (of, 100), (of, 256), (of, 9_000)])
        {
            let mut agreeing = Agreeing::new(384, wanted);
            for (at, distance) in distances.iter().enumerate() {
                if *distance <= agreeing.most {
                    agreeing.take(at, *distance);
                }
            }
            let mut order = distances.clone();
            order.sort_unstable();
            let last = order[wanted.min(order.len()) - 1];
            let expected: Vec<usize> = (0..distances.len()).filter(|at| distances[*at] <= last).collect();
            assert_eq!(agreeing.end(), expected, "{wanted}");
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
        let vectors = all(EXACT_MAX as i64 + 500, dimensions);
        let mut same = 0;
        for seed in 0..10 {
            let meant = vector(seed * 999, dimensions);
            let found = vectors.nearest(&meant, 20, None);
            assert_eq!(found[0].0, seed * 999);
            let mut exact: Vec<_> =
                (0..vectors.texts.len()).map(|at| (at as i64, meant.near(vectors.value(at)))).collect();
            exact.sort_by(nearer);
            same += exact[..20].iter().filter(|one| found.contains(one)).count();
            let even = vectors.nearest(&meant, 20, Some(&|of| of.text % 2 == 0));
            assert!(even.len() == 20 && even.iter().all(|(text, _)| text % 2 == 0));
        }
        assert!(same >= 150, "{same} of 200");
    }
}
