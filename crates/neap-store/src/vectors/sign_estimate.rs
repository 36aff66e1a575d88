//! Estimates a similarity from a whole query and the signs of an embedding: closer than comparing signs with signs,
//! and still without reading the embedding.

use super::sign_bits::SignBits;

const BYTE_VALUES: usize = 1 << u8::BITS;

/// The sum of the query's values at the positive signs, for every possible byte of signs.
pub(super) struct SignEstimate(Vec<[i32; BYTE_VALUES]>);

impl SignEstimate {
    pub(super) fn new(query: &[i8]) -> Self {
        let tables = query.chunks(u8::BITS as usize).map(|values| {
            let mut sums = [0; BYTE_VALUES];
            for byte in 1..BYTE_VALUES {
                let lowest = byte.trailing_zeros() as usize;
                let value = values.get(lowest).copied().unwrap_or(0);
                sums[byte] = sums[byte & (byte - 1)] + i32::from(value);
            }
            sums
        });
        Self(tables.collect())
    }

    /// Grows with the similarity. Comparable only between embeddings of the same query.
    pub(super) fn of(&self, signs: &SignBits, at: usize) -> i32 {
        let bytes = signs.words(at).flat_map(u64::to_le_bytes);
        self.0.iter().zip(bytes).map(|(sums, byte)| sums[usize::from(byte)]).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::sign_bits::sign_words;
    use super::super::tests::vector;
    use super::*;

    #[test]
    fn the_estimate_is_the_sum_of_the_query_at_positive_signs() {
        for dimensions in [1, 8, 64, 70, 384] {
            let (query, mut signs) = (vector(999, dimensions), SignBits::new(dimensions));
            for at in 0..20 {
                let value = vector(at as i64, dimensions);
                signs.put(at, sign_words(value.values()));
                let is_positive = |(_, value): &(&i8, &i8)| **value > 0;
                let pairs = query.values().iter().zip(value.values()).filter(is_positive);
                let expected: i32 = pairs.map(|(query, _)| i32::from(*query)).sum();
                assert_eq!(SignEstimate::new(query.values()).of(&signs, at), expected, "{dimensions} {at}");
            }
        }
    }
}
