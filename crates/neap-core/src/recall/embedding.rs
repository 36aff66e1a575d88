//! Embeddings, quantized to `i8`: integer arithmetic gives the same similarity on every machine.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Embedding(Vec<i8>);

impl Embedding {
    /// Quantizes an embedder's output; only the direction is kept.
    pub fn quantize(values: &[f32]) -> Self {
        let largest = values.iter().filter(|v| v.is_finite()).fold(0.0_f32, |max, v| max.max(v.abs()));
        if largest == 0.0 {
            return Self(vec![0; values.len()]);
        }
        let scaled = |v: &f32| if v.is_finite() { (v / largest * 127.0).round() as i8 } else { 0 };
        Self(values.iter().map(scaled).collect())
    }

    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.iter().map(|byte| byte.cast_signed()).collect())
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().map(|value| value.cast_unsigned()).collect()
    }

    pub fn values(&self) -> &[i8] {
        &self.0
    }

    /// Cosine similarity, -1 to 1; 0 if either is zero or their dimensions differ.
    pub fn similarity(&self, other: &[i8]) -> f64 {
        if self.0.len() != other.len() {
            return 0.0;
        }
        cosine(dot(&self.0, other), dot(&self.0, &self.0), dot(other, other))
    }
}

#[inline(always)]
pub fn dot(a: &[i8], b: &[i8]) -> i32 {
    // A plain loop inlines and vectorizes with whatever instructions its caller enables.
    let both = a.len().min(b.len());
    let (a, b) = (&a[..both], &b[..both]);
    let mut sum = 0;
    for at in 0..both {
        sum += i32::from(a[at]) * i32::from(b[at]);
    }
    sum
}

/// The cosine from three dot products: of both, and of each with itself.
#[inline(always)]
pub fn cosine(both: i32, one: i32, other: i32) -> f64 {
    if one == 0 || other == 0 { 0.0 } else { f64::from(both) / (f64::from(one) * f64::from(other)).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_direction_counts() {
        let (small, large) = (Embedding::quantize(&[0.1, -0.2, 0.0]), Embedding::quantize(&[10.0, -20.0, 0.0]));
        assert_eq!(small, large);
        assert_eq!(small.values(), [64, -127, 0]);
        assert!((small.similarity(large.values()) - 1.0).abs() < 1e-12);
        assert!((small.similarity(&[-64, 127, 0]) + 1.0).abs() < 1e-12);
        assert_eq!(small.similarity(&[0, 0, 127]), 0.0);
        assert_eq!(Embedding::from_bytes(&small.to_bytes()), small);
    }

    #[test]
    fn what_says_nothing_is_near_to_nothing() {
        for values in [&[0.0, 0.0][..], &[f32::NAN, f32::INFINITY], &[]] {
            assert_eq!(Embedding::quantize(values).similarity(&[1, 2]), 0.0, "{values:?}");
        }
        assert_eq!(Embedding::quantize(&[1.0]).similarity(&[1, 2]), 0.0, "of another embedder");
    }
}
