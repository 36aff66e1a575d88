//! The mean direction of embeddings.

use neap_core::recall::{Embedding, dot};
use pulp::{Arch, NullaryFnOnce};

use super::fast_dot;

/// The sum of directions as integers: the order of additions and subtractions does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MeanVector {
    count: i64,
    sum: Vec<i64>,
}

/// The length of a unit vector in that sum.
const UNIT: f64 = 1_048_576.0;

impl MeanVector {
    pub fn add(&mut self, values: &[i8]) {
        self.add_scaled(values, 1);
    }

    pub fn subtract(&mut self, values: &[i8]) {
        self.add_scaled(values, -1);
    }

    fn add_scaled(&mut self, values: &[i8], by: i64) {
        self.sum.resize(values.len(), 0);
        let squares = fast_dot(values, values);
        if squares == 0 {
            return;
        }
        self.count += by;
        let scale = UNIT / f64::from(squares).sqrt();
        Arch::new().dispatch(AddScaled { sum: &mut self.sum, values, by, scale });
    }

    /// As stored: the count, the sum of each dimension, a checksum.
    pub fn to_bytes(&self) -> Vec<u8> {
        let values = std::iter::once(&self.count).chain(&self.sum);
        let mut bytes: Vec<u8> = values.flat_map(|value| value.to_le_bytes()).collect();
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes
    }

    /// `None` if the bytes are damaged.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (bytes, checksum) = bytes.split_last_chunk::<4>()?;
        if crc32fast::hash(bytes).to_le_bytes() != *checksum {
            return None;
        }
        let (values, _) = bytes.as_chunks::<8>();
        let mut values = values.iter().map(|bytes| i64::from_le_bytes(*bytes));
        Some(Self { count: values.next()?, sum: values.collect() })
    }

    pub fn mean_similarity(all: impl IntoIterator<Item = Self>, query: &Embedding) -> f64 {
        let length = f64::from(dot(query.values(), query.values())).sqrt();
        let (mut count, mut product) = (0, 0);
        for MeanVector { count: own_count, sum } in all {
            if sum.len() == query.values().len() {
                count += own_count;
                product += sum.iter().zip(query.values()).map(|(sum, value)| sum * i64::from(*value)).sum::<i64>();
            }
        }
        if count == 0 || length == 0.0 { 0.0 } else { product as f64 / UNIT / length / count as f64 }
    }
}

struct AddScaled<'a> {
    sum: &'a mut [i64],
    values: &'a [i8],
    by: i64,
    scale: f64,
}

impl NullaryFnOnce for AddScaled<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (sum, value) in self.sum.iter_mut().zip(self.values) {
            *sum += self.by * i64::from((f64::from(*value) * self.scale).round_ties_even() as i32);
        }
    }
}
