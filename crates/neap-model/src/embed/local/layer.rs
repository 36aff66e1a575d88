//! The arithmetic of a layer, on as wide vectors as the processor has.

use pulp::{Arch, Simd, WithSimd};

/// Numbers of a piece between layers.
pub(super) const WIDE: usize = 384;
const HEADS: usize = 12;
const HEAD: usize = WIDE / HEADS;

/// A weight matrix in strips of two vectors of outputs, each strip input after input, as the product walks it.
pub(super) struct Matrix {
    strips: Vec<f32>,
    bias: Vec<f32>,
    inputs: usize,
}

impl Matrix {
    /// From one row of weights for each output; nothing when the shapes do not fit.
    pub(super) fn new(rows: &[Vec<f32>], bias: Vec<f32>) -> Option<Self> {
        let (inputs, strip) = (rows.first()?.len(), 2 * Arch::new().dispatch(Lanes));
        if rows.len() != bias.len() || !rows.len().is_multiple_of(strip) {
            return None;
        }
        let mut strips = Vec::with_capacity(inputs * rows.len());
        for rows in rows.chunks_exact(strip) {
            for input in 0..inputs {
                strips.extend(rows.iter().filter_map(|row| row.get(input)));
            }
        }
        Some(Self { strips, bias, inputs })
    }

    /// The product with each row of `x`, plus the bias.
    #[inline(always)]
    pub(super) fn apply<S: Simd>(&self, simd: S, x: &[f32]) -> Vec<f32> {
        let (wide, strip) = (self.bias.len(), 2 * S::F32_LANES);
        let rows = x.len() / self.inputs;
        let mut out = vec![0.0; rows * wide];
        for (number, weights) in self.strips.chunks_exact(self.inputs * strip).enumerate() {
            let weights = S::as_simd_f32s(weights).0;
            let bias = S::as_simd_f32s(&self.bias[number * strip..][..strip]).0;
            let mut row = 0;
            while row < rows {
                let (x, out) = (&x[row * self.inputs..], &mut out[row * wide + number * strip..]);
                row += match rows - row {
                    6.. => block::<S, 6>(simd, x, self.inputs, weights, bias, out, wide),
                    4.. => block::<S, 4>(simd, x, self.inputs, weights, bias, out, wide),
                    2.. => block::<S, 2>(simd, x, self.inputs, weights, bias, out, wide),
                    _ => block::<S, 1>(simd, x, self.inputs, weights, bias, out, wide),
                };
            }
        }
        out
    }
}

/// One strip of outputs for `R` rows, all of whose sums stay in registers. Every sum is taken in the order of the
/// inputs, so a text's embedding does not depend on the texts beside it.
#[inline(always)]
fn block<S: Simd, const R: usize>(
    simd: S,
    x: &[f32],
    inputs: usize,
    weights: &[S::f32s],
    bias: &[S::f32s],
    out: &mut [f32],
    wide: usize,
) -> usize {
    let rows: [&[f32]; R] = std::array::from_fn(|row| &x[row * inputs..][..inputs]);
    let mut sums = [[bias[0], bias[1]]; R];
    for (input, weights) in weights.as_chunks::<2>().0.iter().enumerate().take(inputs) {
        for (sum, row) in sums.iter_mut().zip(&rows) {
            let value = simd.splat_f32s(row[input]);
            sum[0] = simd.mul_add_f32s(value, weights[0], sum[0]);
            sum[1] = simd.mul_add_f32s(value, weights[1], sum[1]);
        }
    }
    for (row, sum) in sums.iter().enumerate() {
        S::as_mut_simd_f32s(&mut out[row * wide..][..2 * S::F32_LANES]).0.copy_from_slice(sum);
    }
    R
}

struct Lanes;

impl WithSimd for Lanes {
    type Output = usize;

    fn with_simd<S: Simd>(self, _: S) -> usize {
        S::F32_LANES
    }
}

/// Brings a row to mean nought and spread one, then scales and shifts it.
pub(super) struct Norm(Vec<(f32, f32)>);

impl Norm {
    pub(super) fn new(scale: Vec<f32>, shift: Vec<f32>) -> Option<Self> {
        (scale.len() == WIDE && shift.len() == WIDE).then(|| Self(scale.into_iter().zip(shift).collect()))
    }

    #[inline(always)]
    pub(super) fn apply(&self, x: &mut [f32]) {
        for row in x.chunks_exact_mut(WIDE) {
            let mean = row.iter().sum::<f32>() / WIDE as f32;
            let spread = row.iter().map(|value| (value - mean) * (value - mean)).sum::<f32>() / WIDE as f32;
            let by = 1.0 / (spread + 1e-12).sqrt();
            for (value, (scale, shift)) in row.iter_mut().zip(&self.0) {
                *value = (*value - mean) * by * scale + shift;
            }
        }
    }
}

/// Every piece takes from every piece of its text, head by head. A row of `asked` holds what a piece asks for,
/// what it is found by and what it gives.
#[inline(always)]
pub(super) fn attend(asked: &[f32], mixed: &mut [f32]) {
    const ROW: usize = 3 * WIDE;
    let pieces = asked.len() / ROW;
    let mut found_by = vec![0.0_f32; HEAD * pieces];
    let mut shares = vec![0.0_f32; pieces];
    for head in (0..HEADS).map(|head| head * HEAD) {
        for (piece, row) in asked.chunks_exact(ROW).enumerate() {
            for (place, value) in row[WIDE + head..][..HEAD].iter().enumerate() {
                found_by[place * pieces + piece] = *value;
            }
        }
        for (row, out) in asked.chunks_exact(ROW).zip(mixed.chunks_exact_mut(WIDE)) {
            shares.fill(0.0);
            for (value, found_by) in row[head..][..HEAD].iter().zip(found_by.chunks_exact(pieces)) {
                shares.iter_mut().zip(found_by).for_each(|(share, other)| *share += other * value);
            }
            to_shares(&mut shares);
            let mut sum = [0.0_f32; HEAD];
            for (share, row) in shares.iter().zip(asked.chunks_exact(ROW)) {
                sum.iter_mut().zip(&row[2 * WIDE + head..]).for_each(|(sum, value)| *sum += value * share);
            }
            out[head..][..HEAD].copy_from_slice(&sum);
        }
    }
}

/// Scores become shares that sum to one.
#[inline(always)]
fn to_shares(scores: &mut [f32]) {
    let by = 1.0 / (HEAD as f32).sqrt();
    let top = scores.iter().copied().fold(f32::MIN, f32::max);
    scores.iter_mut().for_each(|score| *score = ((*score - top) * by).exp());
    let sum: f32 = scores.iter().sum();
    scores.iter_mut().for_each(|score| *score /= sum);
}

/// `x` times the normal distribution at `x`, by table: straight lines between points 1/512 apart.
pub(super) struct Gelu(Vec<f32>);

impl Gelu {
    const REACH: f32 = 6.0;
    const FINE: f32 = 512.0;

    pub(super) fn new() -> Self {
        let points = (2.0 * Self::REACH * Self::FINE) as u32 + 2;
        let step = 1.0 / f64::from(Self::FINE);
        let bell = |x: f64| (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
        let mut area = 0.0;
        let table = (0..points).map(|point| {
            let x = f64::from(point) * step - f64::from(Self::REACH);
            let here = x * area;
            area += step / 6.0 * (bell(x) + 4.0 * bell(x + step / 2.0) + bell(x + step));
            here as f32
        });
        Self(table.collect())
    }

    #[inline(always)]
    pub(super) fn apply(&self, row: &mut [f32]) {
        for value in row.iter_mut().filter(|value| **value < Self::REACH) {
            let at = (value.max(-Self::REACH) + Self::REACH) * Self::FINE;
            let point = at as usize;
            *value = self.0[point] + (self.0[point + 1] - self.0[point]) * (at - point as f32);
        }
    }
}
