//! Where embeddings point on the whole.

use neap_core::recall::{Embedding, dot};
use pulp::{Arch, NullaryFnOnce};

use super::fast_dot;

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

    /// Takes the direction of an embedding away.
    pub(super) fn subtract(&mut self, values: &[i8]) {
        self.change(values, -1);
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
