//! The arithmetic of a layer, in SIMD vectors of the processor's width.

use pulp::{Arch, Simd, WithSimd};

use super::weights::{GROUP_SIZE, QuantizedTable};

/// Values per token between layers.
pub(super) const HIDDEN: usize = 384;
const HEADS: usize = 12;
const HEAD_DIM: usize = HIDDEN / HEADS;

/// A weight matrix in strips of two SIMD vectors of outputs; each strip stores its groups of inputs in the order
/// in which the product reads them. Weights stay packed in memory and are unpacked a group at a time for all rows:
/// reading unpacked weights would be slower.
pub(super) struct Matrix {
    /// Per strip and [`PACKED`] inputs: each output's codes in one number, the first in the low bits.
    codes: Vec<u32>,
    /// Per strip and group of inputs: the scale of each output.
    scales: Vec<f32>,
    bias: Vec<f32>,
    inputs: usize,
}

/// Weights per number, and bits per weight.
const PACKED: usize = 8;
const BITS: usize = 4;

impl Matrix {
    /// One row of weights per output; `None` if the shapes do not fit.
    pub(super) fn new(rows: &[(&QuantizedTable<'_>, usize)], inputs: usize, bias: Vec<f32>) -> Option<Self> {
        let strip = 2 * Arch::new().dispatch(LaneCount);
        if rows.len() != bias.len() || !rows.len().is_multiple_of(strip) || !inputs.is_multiple_of(GROUP_SIZE) {
            return None;
        }
        let mut codes = Vec::with_capacity(inputs / PACKED * rows.len());
        let mut scales = Vec::with_capacity(inputs / GROUP_SIZE * rows.len());
        for rows in rows.chunks_exact(strip) {
            for first in (0..inputs).step_by(PACKED) {
                codes.extend(rows.iter().map(|(table, row)| {
                    let code = |at: usize| u32::from(table.code(*row, first + at)) << (BITS * at);
                    (0..PACKED).map(code).sum::<u32>()
                }));
            }
            for group in 0..inputs / GROUP_SIZE {
                scales.extend(rows.iter().map(|(table, row)| table.scale(*row, group)));
            }
        }
        Some(Self { codes, scales, bias, inputs })
    }

    /// Multiplies each row of `x` and adds the bias.
    #[inline(always)]
    pub(super) fn apply<S: Simd>(&self, simd: S, x: &[f32]) -> Vec<f32> {
        let (width, strip, groups) = (self.bias.len(), 2 * S::F32_LANES, self.inputs / GROUP_SIZE);
        let rows = x.len() / self.inputs;
        let mut out = self.bias.repeat(rows);
        let mut weights = [simd.splat_f32s(0.0); 2 * GROUP_SIZE];
        let codes = self.codes.chunks_exact(GROUP_SIZE / PACKED * strip);
        for (number, (codes, scales)) in codes.zip(self.scales.chunks_exact(strip)).enumerate() {
            let (first, input) = (number / groups * strip, number % groups * GROUP_SIZE);
            unpack_group(simd, codes, scales, &mut weights);
            let mut row = 0;
            while row < rows {
                let (x, out) = (&x[row * self.inputs + input..], &mut out[row * width + first..]);
                row += match rows - row {
                    6.. => multiply_rows::<S, 6>(simd, x, self.inputs, &weights, out, width),
                    4.. => multiply_rows::<S, 4>(simd, x, self.inputs, &weights, out, width),
                    2.. => multiply_rows::<S, 2>(simd, x, self.inputs, &weights, out, width),
                    _ => multiply_rows::<S, 1>(simd, x, self.inputs, &weights, out, width),
                };
            }
        }
        out
    }
}

/// Unpacks a group of a strip: two vectors of outputs per input.
#[inline(always)]
fn unpack_group<S: Simd>(simd: S, codes: &[u32], scales: &[f32], weights: &mut [S::f32s; 2 * GROUP_SIZE]) {
    // At 2^23 a float's lowest bit is worth one: a code in the low bits adds its value.
    const ONES: f32 = 8_388_608.0;
    const NOUGHT: f32 = 8.0;
    let (codes, scales) = (S::as_simd_u32s(codes).0, S::as_simd_f32s(scales).0);
    let (low_bits, ones) = (simd.splat_u32s((1 << BITS) - 1), simd.splat_u32s(ONES.to_bits()));
    let offset = simd.splat_f32s(ONES + NOUGHT);
    for (codes, weights) in codes.as_chunks::<2>().0.iter().zip(weights.as_chunks_mut::<{ 2 * PACKED }>().0) {
        for (half, scale) in scales.iter().enumerate().take(2) {
            for at in 0..PACKED {
                let code = simd.wrapping_dyn_shr_u32s(codes[half], simd.splat_u32s((BITS * at) as u32));
                let code = simd.or_u32s(simd.and_u32s(code, low_bits), ones);
                let code = simd.sub_f32s(simd.transmute_f32s_u32s(code), offset);
                weights[2 * at + half] = simd.mul_f32s(code, *scale);
            }
        }
    }
}

/// Adds a group of inputs to one strip of outputs for `R` rows. The sums stay in registers: the inner loops have
/// nothing that can panic, which would force them to memory. Sums follow the order of the inputs, so an embedding
/// does not depend on the other texts of its batch.
#[inline(always)]
fn multiply_rows<S: Simd, const R: usize>(
    simd: S,
    x: &[f32],
    inputs: usize,
    weights: &[S::f32s; 2 * GROUP_SIZE],
    out: &mut [f32],
    width: usize,
) -> usize {
    const NONE: [f32; GROUP_SIZE] = [0.0; GROUP_SIZE];
    // A mismatched shape would silently be skipped below.
    assert!(x.len() >= (R - 1) * inputs + GROUP_SIZE);
    let mut rows = [&NONE; R];
    let mut sums = [[simd.splat_f32s(0.0); 2]; R];
    for row in 0..R {
        rows[row] = x[row * inputs..].first_chunk().unwrap_or(&NONE);
        if let [low, high] = S::as_simd_f32s(&out[row * width..][..2 * S::F32_LANES]).0 {
            sums[row] = [*low, *high];
        }
    }
    for input in 0..GROUP_SIZE {
        for row in 0..R {
            let value = simd.splat_f32s(rows[row][input]);
            sums[row][0] = simd.mul_add_f32s(value, weights[2 * input], sums[row][0]);
            sums[row][1] = simd.mul_add_f32s(value, weights[2 * input + 1], sums[row][1]);
        }
    }
    for row in 0..R {
        if let [low, high] = S::as_mut_simd_f32s(&mut out[row * width..][..2 * S::F32_LANES]).0 {
            (*low, *high) = (sums[row][0], sums[row][1]);
        }
    }
    R
}

struct LaneCount;

impl WithSimd for LaneCount {
    type Output = usize;

    fn with_simd<S: Simd>(self, _: S) -> usize {
        S::F32_LANES
    }
}

pub(super) struct LayerNorm(Vec<(f32, f32)>);

impl LayerNorm {
    pub(super) fn new(scale: Vec<f32>, shift: Vec<f32>) -> Option<Self> {
        (scale.len() == HIDDEN && shift.len() == HIDDEN).then(|| Self(scale.into_iter().zip(shift).collect()))
    }

    #[inline(always)]
    pub(super) fn apply(&self, x: &mut [f32]) {
        for row in x.chunks_exact_mut(HIDDEN) {
            let mean = row.iter().sum::<f32>() / HIDDEN as f32;
            let variance = row.iter().map(|value| (value - mean) * (value - mean)).sum::<f32>() / HIDDEN as f32;
            let inverse_std = 1.0 / (variance + 1e-12).sqrt();
            for (value, (scale, shift)) in row.iter_mut().zip(&self.0) {
                *value = (*value - mean) * inverse_std * scale + shift;
            }
        }
    }
}

/// Multi-head attention within one text. Each row of `qkv` holds a token's query, key and value. Indexed loops,
/// because closures are not reliably vectorized.
#[inline(always)]
pub(super) fn attention(qkv: &[f32], attended: &mut [f32]) {
    const ROW: usize = 3 * HIDDEN;
    const NONE: [f32; HEAD_DIM] = [0.0; HEAD_DIM];
    let tokens = qkv.len() / ROW;
    let mut keys = vec![0.0_f32; HEAD_DIM * tokens];
    let mut values = vec![NONE; tokens];
    let mut weights = vec![0.0_f32; tokens];
    for head in (0..HEADS).map(|head| head * HEAD_DIM) {
        for (token, row) in qkv.chunks_exact(ROW).enumerate() {
            values[token] = *row[2 * HIDDEN + head..].first_chunk().unwrap_or(&NONE);
            for (dim, value) in row[HIDDEN + head..][..HEAD_DIM].iter().enumerate() {
                keys[dim * tokens + token] = *value;
            }
        }
        for (row, out) in qkv.chunks_exact(ROW).zip(attended.chunks_exact_mut(HIDDEN)) {
            let (weights, values) = (&mut weights[..tokens], &values[..tokens]);
            weights.fill(0.0);
            for dim in 0..HEAD_DIM {
                let (value, keys) = (row[head + dim], &keys[dim * tokens..][..tokens]);
                for token in 0..tokens {
                    weights[token] += keys[token] * value;
                }
            }
            softmax(weights);
            let mut sum = NONE;
            for token in 0..tokens {
                let (weight, value) = (weights[token], &values[token]);
                for dim in 0..HEAD_DIM {
                    sum[dim] += value[dim] * weight;
                }
            }
            out[head..][..HEAD_DIM].copy_from_slice(&sum);
        }
    }
}

/// Scales by 1/√`HEAD_DIM`, then normalizes to a sum of one.
#[inline(always)]
fn softmax(scores: &mut [f32]) {
    let scale = 1.0 / (HEAD_DIM as f32).sqrt();
    let top = scores.iter().copied().fold(f32::MIN, f32::max);
    scores.iter_mut().for_each(|score| *score = ((*score - top) * scale).exp());
    let sum: f32 = scores.iter().sum();
    scores.iter_mut().for_each(|score| *score /= sum);
}

/// GELU from a table, linear between points 1/512 apart.
pub(super) struct Gelu(Vec<f32>);

impl Gelu {
    const RANGE: f32 = 6.0;
    const STEPS_PER_UNIT: f32 = 512.0;

    pub(super) fn new() -> Self {
        let points = (2.0 * Self::RANGE * Self::STEPS_PER_UNIT) as u32 + 2;
        let step = 1.0 / f64::from(Self::STEPS_PER_UNIT);
        let bell = |x: f64| (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
        let mut area = 0.0;
        let table = (0..points).map(|point| {
            let x = f64::from(point) * step - f64::from(Self::RANGE);
            let here = x * area;
            area += step / 6.0 * (bell(x) + 4.0 * bell(x + step / 2.0) + bell(x + step));
            here as f32
        });
        Self(table.collect())
    }

    #[inline(always)]
    pub(super) fn apply(&self, row: &mut [f32]) {
        for value in row.iter_mut().filter(|value| **value < Self::RANGE) {
            let at = (value.max(-Self::RANGE) + Self::RANGE) * Self::STEPS_PER_UNIT;
            let point = at as usize;
            *value = self.0[point] + (self.0[point + 1] - self.0[point]) * (at - point as f32);
        }
    }
}
