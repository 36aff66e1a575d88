//! The arithmetic of a layer, on as wide vectors as the processor has.

use pulp::{Arch, Simd, WithSimd};

use super::weights::{GROUP, Table};

/// Numbers of a piece between layers.
pub(super) const WIDE: usize = 384;
const HEADS: usize = 12;
const HEAD: usize = WIDE / HEADS;

/// A weight matrix in strips of two vectors of outputs, each strip group after group of inputs, as the product walks it. The weights stay
/// packed in memory, and are opened a group at a time, for all rows at once: to read them unpacked would take longer.
pub(super) struct Matrix {
    /// For each strip, and each [`PACKED`] inputs: those of each output in one number, the first in its low bits.
    codes: Vec<u32>,
    /// For each strip and group of inputs, the scale of each output.
    scales: Vec<f32>,
    bias: Vec<f32>,
    inputs: usize,
}

/// Weights in one number, and bits of each.
const PACKED: usize = 8;
const BITS: usize = 4;

impl Matrix {
    /// From one row of weights for each output; nothing when the shapes do not fit.
    pub(super) fn new(rows: &[(&Table<'_>, usize)], inputs: usize, bias: Vec<f32>) -> Option<Self> {
        let strip = 2 * Arch::new().dispatch(Lanes);
        if rows.len() != bias.len() || !rows.len().is_multiple_of(strip) || !inputs.is_multiple_of(GROUP) {
            return None;
        }
        let mut codes = Vec::with_capacity(inputs / PACKED * rows.len());
        let mut scales = Vec::with_capacity(inputs / GROUP * rows.len());
        for rows in rows.chunks_exact(strip) {
            for first in (0..inputs).step_by(PACKED) {
                codes.extend(rows.iter().map(|(table, row)| {
                    let code = |at: usize| u32::from(table.code(*row, first + at)) << (BITS * at);
                    (0..PACKED).map(code).sum::<u32>()
                }));
            }
            for group in 0..inputs / GROUP {
                scales.extend(rows.iter().map(|(table, row)| table.scale(*row, group)));
            }
        }
        Some(Self { codes, scales, bias, inputs })
    }

    /// The product with each row of `x`, plus the bias.
    #[inline(always)]
    pub(super) fn apply<S: Simd>(&self, simd: S, x: &[f32]) -> Vec<f32> {
        let (wide, strip, groups) = (self.bias.len(), 2 * S::F32_LANES, self.inputs / GROUP);
        let rows = x.len() / self.inputs;
        let mut out = self.bias.repeat(rows);
        let mut weights = [simd.splat_f32s(0.0); 2 * GROUP];
        let codes = self.codes.chunks_exact(GROUP / PACKED * strip);
        for (number, (codes, scales)) in codes.zip(self.scales.chunks_exact(strip)).enumerate() {
            let (first, input) = (number / groups * strip, number % groups * GROUP);
            open(simd, codes, scales, &mut weights);
            let mut row = 0;
            while row < rows {
                let (x, out) = (&x[row * self.inputs + input..], &mut out[row * wide + first..]);
                row += match rows - row {
                    6.. => block::<S, 6>(simd, x, self.inputs, &weights, out, wide),
                    4.. => block::<S, 4>(simd, x, self.inputs, &weights, out, wide),
                    2.. => block::<S, 2>(simd, x, self.inputs, &weights, out, wide),
                    _ => block::<S, 1>(simd, x, self.inputs, &weights, out, wide),
                };
            }
        }
        out
    }
}

/// Unpacks a group of a strip: two vectors of outputs for each input.
#[inline(always)]
fn open<S: Simd>(simd: S, codes: &[u32], scales: &[f32], weights: &mut [S::f32s; 2 * GROUP]) {
    // The last bit of such a float is worth one: with a code in its last bits, it is so much more.
    const ONES: f32 = 8_388_608.0;
    const NOUGHT: f32 = 8.0;
    let (codes, scales) = (S::as_simd_u32s(codes).0, S::as_simd_f32s(scales).0);
    let (low_bits, ones) = (simd.splat_u32s((1 << BITS) - 1), simd.splat_u32s(ONES.to_bits()));
    let less = simd.splat_f32s(ONES + NOUGHT);
    for (codes, weights) in codes.as_chunks::<2>().0.iter().zip(weights.as_chunks_mut::<{ 2 * PACKED }>().0) {
        for (half, scale) in scales.iter().enumerate().take(2) {
            for at in 0..PACKED {
                let code = simd.wrapping_dyn_shr_u32s(codes[half], simd.splat_u32s((BITS * at) as u32));
                let code = simd.or_u32s(simd.and_u32s(code, low_bits), ones);
                let code = simd.sub_f32s(simd.transmute_f32s_u32s(code), less);
                weights[2 * at + half] = simd.mul_f32s(code, *scale);
            }
        }
    }
}

/// What a group of inputs adds to one strip of outputs for `R` rows, all of whose sums stay in registers: in the inner loops there is
/// nothing that could fail, for which they would have to be kept elsewhere. Every sum is taken in the order of the inputs, so a text's
/// embedding does not depend on the texts beside it.
#[inline(always)]
fn block<S: Simd, const R: usize>(
    simd: S,
    x: &[f32],
    inputs: usize,
    weights: &[S::f32s; 2 * GROUP],
    out: &mut [f32],
    wide: usize,
) -> usize {
    const NONE: [f32; GROUP] = [0.0; GROUP];
    // What is of another shape would be left out in silence.
    assert!(x.len() >= (R - 1) * inputs + GROUP);
    let mut rows = [&NONE; R];
    let mut sums = [[simd.splat_f32s(0.0); 2]; R];
    for row in 0..R {
        rows[row] = x[row * inputs..].first_chunk().unwrap_or(&NONE);
        if let [low, high] = S::as_simd_f32s(&out[row * wide..][..2 * S::F32_LANES]).0 {
            sums[row] = [*low, *high];
        }
    }
    for input in 0..GROUP {
        for row in 0..R {
            let value = simd.splat_f32s(rows[row][input]);
            sums[row][0] = simd.mul_add_f32s(value, weights[2 * input], sums[row][0]);
            sums[row][1] = simd.mul_add_f32s(value, weights[2 * input + 1], sums[row][1]);
        }
    }
    for row in 0..R {
        if let [low, high] = S::as_mut_simd_f32s(&mut out[row * wide..][..2 * S::F32_LANES]).0 {
            (*low, *high) = (sums[row][0], sums[row][1]);
        }
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
/// what it is found by and what it gives. Loops by number: what goes by way of a closure need not be done in vectors.
#[inline(always)]
pub(super) fn attend(asked: &[f32], mixed: &mut [f32]) {
    const ROW: usize = 3 * WIDE;
    const NONE: [f32; HEAD] = [0.0; HEAD];
    let pieces = asked.len() / ROW;
    let mut found_by = vec![0.0_f32; HEAD * pieces];
    let mut given = vec![NONE; pieces];
    let mut shares = vec![0.0_f32; pieces];
    for head in (0..HEADS).map(|head| head * HEAD) {
        for (piece, row) in asked.chunks_exact(ROW).enumerate() {
            given[piece] = *row[2 * WIDE + head..].first_chunk().unwrap_or(&NONE);
            for (place, value) in row[WIDE + head..][..HEAD].iter().enumerate() {
                found_by[place * pieces + piece] = *value;
            }
        }
        for (row, out) in asked.chunks_exact(ROW).zip(mixed.chunks_exact_mut(WIDE)) {
            let (shares, given) = (&mut shares[..pieces], &given[..pieces]);
            shares.fill(0.0);
            for place in 0..HEAD {
                let (value, found_by) = (row[head + place], &found_by[place * pieces..][..pieces]);
                for piece in 0..pieces {
                    shares[piece] += found_by[piece] * value;
                }
            }
            to_shares(shares);
            let mut sum = NONE;
            for piece in 0..pieces {
                let (share, given) = (shares[piece], &given[piece]);
                for place in 0..HEAD {
                    sum[place] += given[place] * share;
                }
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
