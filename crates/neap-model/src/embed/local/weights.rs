//! Loads weights: named tensors behind a JSON header (safetensors), matrices at four bits per weight.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::layer::{LayerNorm, Matrix};

/// Weights per shared scale.
pub(super) const GROUP_SIZE: usize = 32;

#[derive(Deserialize)]
struct TensorEntry {
    data_offsets: (usize, usize),
}

pub(super) struct TensorFile<'a>(BTreeMap<String, &'a [u8]>);

impl<'a> TensorFile<'a> {
    /// `None` if the file is incomplete.
    pub(super) fn parse(file: &'a [u8]) -> Option<Self> {
        let (length, rest) = file.split_first_chunk::<8>()?;
        let (head, body) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        let entries: BTreeMap<String, serde_json::Value> = serde_json::from_slice(head).ok()?;
        let mut tensors = BTreeMap::new();
        for (name, entry) in entries.into_iter().filter(|(name, _)| name != "__metadata__") {
            let (from, to) = TensorEntry::deserialize(entry).ok()?.data_offsets;
            tensors.insert(name, body.get(from..to)?);
        }
        Some(Self(tensors))
    }

    /// Rows are unpacked on lookup.
    pub(super) fn table(&self, name: &str, width: usize) -> Option<QuantizedTable<'a>> {
        let (codes, scales) = (*self.0.get(&format!("{name}.q4"))?, *self.0.get(&format!("{name}.scales"))?);
        (codes.len() * 2 == scales.len() / 2 * GROUP_SIZE && codes.len() * 2 % width == 0)
            .then_some(QuantizedTable { codes, scales, width })
    }

    /// One matrix from several with the same input, side by side; `inputs` values in, `outputs` out.
    pub(super) fn matrix(&self, names: &[String], inputs: usize, outputs: usize) -> Option<Matrix> {
        let (mut tables, mut bias) = (Vec::new(), Vec::new());
        for name in names {
            tables.push(self.table(&format!("{name}.weight"), inputs)?);
            bias.extend(self.f32_values(&format!("{name}.bias"))?);
        }
        let rows: Vec<(&QuantizedTable<'_>, usize)> =
            tables.iter().flat_map(|table| (0..table.rows()).map(move |row| (table, row))).collect();
        if rows.len() != outputs {
            return None;
        }
        Matrix::new(&rows, inputs, bias)
    }

    pub(super) fn norm(&self, name: &str) -> Option<LayerNorm> {
        LayerNorm::new(self.f32_values(&format!("{name}.weight"))?, self.f32_values(&format!("{name}.bias"))?)
    }

    pub(super) fn f32_values(&self, name: &str) -> Option<Vec<f32>> {
        Some(self.0.get(name)?.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }
}

pub(super) struct QuantizedTable<'a> {
    codes: &'a [u8],
    scales: &'a [u8],
    width: usize,
}

impl QuantizedTable<'_> {
    pub(super) fn rows(&self) -> usize {
        self.codes.len() * 2 / self.width
    }

    /// A weight without its scale, 0 to 15; 8 means zero.
    pub(super) fn code(&self, row: usize, at: usize) -> u8 {
        let index = row * self.width + at;
        let pair = self.codes.get(index / 2).copied().unwrap_or(0x88);
        if index.is_multiple_of(2) { pair & 15 } else { pair >> 4 }
    }

    pub(super) fn scale(&self, row: usize, group: usize) -> f32 {
        let scales = self.scales.as_chunks::<2>().0;
        scales
            .get(row * self.width / GROUP_SIZE + group)
            .map_or(0.0, |scale| f16_to_f32(u16::from_le_bytes(*scale)))
    }

    /// Adds a row to `out`; a missing row adds nothing.
    pub(super) fn add_row(&self, row: usize, out: &mut [f32]) {
        let first = row * self.width / GROUP_SIZE;
        let codes = self.codes.chunks_exact(GROUP_SIZE / 2).skip(first);
        let scales = self.scales.as_chunks::<2>().0.iter().skip(first);
        for ((codes, scale), out) in codes.zip(scales).zip(out.chunks_exact_mut(GROUP_SIZE)) {
            let scale = f16_to_f32(u16::from_le_bytes(*scale));
            for (code, out) in codes.iter().zip(out.as_chunks_mut::<2>().0) {
                out[0] += (f32::from(code & 15) - 8.0) * scale;
                out[1] += (f32::from(code >> 4) - 8.0) * scale;
            }
        }
    }
}

fn f16_to_f32(bits: u16) -> f32 {
    let (sign, power, rest) = (u32::from(bits >> 15) << 31, u32::from(bits >> 10) & 31, u32::from(bits) & 1023);
    match power {
        0 => f32::from_bits(sign | 0x3380_0000) * f32::from(bits & 1023),
        31 => f32::from_bits(sign | 0x7f80_0000 | (rest << 13)),
        _ => f32::from_bits(sign | ((power + 112) << 23) | (rest << 13)),
    }
}
