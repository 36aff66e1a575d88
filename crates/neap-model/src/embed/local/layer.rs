//! The arithmetic of a layer, on as wide vectors as the processor has.

use std::sync::OnceLock;

use pulp::{Arch, Simd, WithSimd};

use super::weights::{GROUP, Table};

/// Numbers of a piece between layers.
pub(super) const WIDE: usize = 384;
const HEADS: usize = 12;
const HEAD: usize = WIDE / HEADS;

/// A weight matrix in strips of two vectors of outputs, each strip input after input, as the product walks it. The weights stay packed
/// in memory: a strip is opened when its turn comes, for all rows at once. With few rows that takes longer than the product itself; where
/// somebody waits for those, the strips are kept open.
pub(super) struct Matrix {
    /// Of the two vectors of outputs, the first in the low bits.
    codes: Vec<u8>,
    /// For each strip and group of inputs, the scale of each output.
    scales: Vec<f32>,
    bias: Vec<f32>,
    inputs: usize,
    open: OnceLock<Vec<f32>>,
}

/// With more rows than this there is nothing to gain from strips that are open already.
const FEW_ROWS: usize = 64;

impl Matrix {
    /// From one row of weights for each output; nothing when the shapes do not fit.
    pub(super) fn new(rows: &[(&Table<'_>, usize)], inputs: usize, bias: Vec<f32>) -> Option<Self> {
        let lanes = Arch::new().dispatch(Lanes);
        if rows.len() != bias.len() || !rows.len().is_multiple_of(2 * lanes) || !inputs.is_multiple_of(GROUP) {
            return None;
        }
        let mut codes = Vec::with_capacity(inputs * rows.len() / 2);
        let mut scales = Vec::with_capacity(inputs / GROUP * rows.len());
        for rows in rows.chunks_exact(2 * lanes) {
            let (low, high) = rows.split_at(lanes);
            let code = |(table, row): &(&Table<'_>, usize), input: usize| table.code(*row, input);
            for input in 0..inputs {
                codes.extend(low.iter().zip(high).map(|(low, high)| code(low, input) | code(high, input) << 4));
            }
            for group in 0..inputs / GROUP {
                scales.extend(rows.iter().map(|(table, row)| table.scale(*row, group)));
            }
        }
        Some(Self { codes, scales, bias, inputs, open: OnceLock::new() })
    }

    /// Keeps the strips open from now on.
    pub(super) fn be_quick(&self) {
        self.open.get_or_init(|| {
            let lanes = Arch::new().dispatch(Lanes);
            let mut all = vec![0.0; self.inputs * self.bias.len()];
            for (number, strip) in all.chunks_exact_mut(self.inputs * 2 * lanes).enumerate() {
                self.open(number, lanes, strip);
            }
            all
        });
    }

    /// Opens a strip: two vectors of outputs for each input.
    #[inline(always)]
    fn open(&self, number: usize, lanes: usize, to: &mut [f32]) {
        let codes = self.codes[number * self.inputs * lanes..].chunks_exact(GROUP * lanes);
        let scales = self.scales[number * self.inputs / GROUP * 2 * lanes..].chunks_exact(2 * lanes);
        for ((codes, scales), to) in codes.zip(scales).zip(to.chunks_exact_mut(GROUP * 2 * lanes)) {
            let (low, high) = scales.split_at(lanes);
            for (codes, to) in codes.chunks_exact(lanes).zip(to.chunks_exact_mut(2 * lanes)) {
                let (to_low, to_high) = to.split_at_mut(lanes);
                for ((to, code), scale) in to_low.iter_mut().zip(codes).zip(low) {
                    *to = (f32::from(code & 15) - 8.0) * scale;
                }
                for ((to, code), scale) in to_high.iter_mut().zip(codes).zip(high) {
                    *to = (f32::from(code >> 4) - 8.0) * scale;
                }
            }
        }
    }

    /// The product with each row of `x`, plus the bias.
    #[inline(always)]
    pub(super) fn apply<S: Simd>(&self, simd: S, x: &[f32]) -> Vec<f32> {
        let (wide, strip) = (self.bias.len(), 2 * S::F32_LANES);
        let rows = x.len() / self.inputs;
        let mut out = vec![0.0; rows * wide];
        let is_open = self.open.get().filter(|_| rows <= FEW_ROWS);
        let mut opened = vec![0.0; if is_open.is_some() { 0 } else { self.inputs * strip }];
        for number in 0..wide / strip {
            let weights = match is_open {
                Some(open) => &open[number * self.inputs * strip..][..self.inputs * strip],
                None => {
                    self.open(number, S::F32_LANES, &mut opened);
                    &opened
                }
            };
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

/// One strip of outputs for `R` rows, all of whose sums stay in registers: in the inner loops there is nothing that could fail, for which
/// they would have to be kept elsewhere. Every sum is taken in the order of the inputs, so a text's embedding does not depend on the texts
/// beside it.
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
    const NONE: [f32; GROUP] = [0.0; GROUP];
    // What is of another shape would be left out in silence.
    assert!(inputs.is_multiple_of(GROUP) && weights.len() == 2 * inputs && x.len() >= R * inputs);
    let mut sums = [[bias[0], bias[1]]; R];
    for group in 0..inputs / GROUP {
        let Some(weights) = weights[2 * GROUP * group..].first_chunk::<{ 2 * GROUP }>() else { break };
        let mut rows = [&NONE; R];
        for row in 0..R {
            rows[row] = x[row * inputs + group * GROUP..].first_chunk().unwrap_or(&NONE);
        }
        for input in 0..GROUP {
            for row in 0..R {
                let value = simd.splat_f32s(rows[row][input]);
                sums[row][0] = simd.mul_add_f32s(value, weights[2 * input], sums[row][0]);
                sums[row][1] = simd.mul_add_f32s(value, weights[2 * input + 1], sums[row][1]);
            }
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
