//! Opens a weights file: named tensors behind a JSON head (safetensors), matrices at four bits a weight.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::layer::{Matrix, Norm};

/// Weights share a scale in groups of this many.
pub(super) const GROUP: usize = 32;

#[derive(Deserialize)]
struct Place {
    data_offsets: (usize, usize),
}

/// The tensors of a file, by name.
pub(super) struct Weights<'a>(BTreeMap<String, &'a [u8]>);

impl<'a> Weights<'a> {
    /// Reads the head; nothing when the file is not whole.
    pub(super) fn open(file: &'a [u8]) -> Option<Self> {
        let (length, rest) = file.split_first_chunk::<8>()?;
        let (head, body) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        let places: BTreeMap<String, serde_json::Value> = serde_json::from_slice(head).ok()?;
        let mut tensors = BTreeMap::new();
        for (name, place) in places.into_iter().filter(|(name, _)| name != "__metadata__") {
            let (from, to) = Place::deserialize(place).ok()?.data_offsets;
            tensors.insert(name, body.get(from..to)?);
        }
        Some(Self(tensors))
    }

    /// A table whose rows are opened when they are looked up.
    pub(super) fn table(&self, name: &str, wide: usize) -> Option<Table<'a>> {
        let (codes, scales) = (*self.0.get(&format!("{name}.q4"))?, *self.0.get(&format!("{name}.scales"))?);
        (codes.len() * 2 == scales.len() / 2 * GROUP && codes.len() * 2 % wide == 0).then_some(Table {
            codes: Cow::Borrowed(codes),
            scales: Cow::Borrowed(scales),
            wide,
        })
    }

    /// Whether there is a tensor of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// One matrix out of several that read the same input, side by side; `inputs` values in, `outputs` out.
    pub(super) fn matrix(&self, names: &[String], inputs: usize, outputs: usize) -> Option<Matrix> {
        let (mut tables, mut bias) = (Vec::new(), Vec::new());
        for name in names {
            tables.push(self.table(&format!("{name}.weight"), inputs)?);
            bias.extend(self.values(&format!("{name}.bias"))?);
        }
        let rows: Vec<(&Table<'_>, usize)> =
            tables.iter().flat_map(|table| (0..table.rows()).map(move |row| (table, row))).collect();
        if rows.len() != outputs {
            return None;
        }
        Matrix::new(&rows, inputs, bias)
    }

    /// What a normalisation multiplies and adds.
    pub(super) fn norm(&self, name: &str) -> Option<Norm> {
        Norm::new(self.values(&format!("{name}.weight"))?, self.values(&format!("{name}.bias"))?)
    }

    pub(super) fn values(&self, name: &str) -> Option<Vec<f32>> {
        Some(self.0.get(name)?.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }
}

/// Rows of four-bit weights, still packed.
pub(super) struct Table<'a> {
    codes: Cow<'a, [u8]>,
    scales: Cow<'a, [u8]>,
    wide: usize,
}

impl Table<'_> {
    /// The same without the file.
    pub(super) fn owned(self) -> Table<'static> {
        let own = |bytes: Cow<'_, [u8]>| Cow::Owned(bytes.into_owned());
        Table { codes: own(self.codes), scales: own(self.scales), wide: self.wide }
    }

    pub(super) fn rows(&self) -> usize {
        self.codes.len() * 2 / self.wide
    }

    /// A weight without its scale, from 0 to 15; 8 stands for nought.
    pub(super) fn code(&self, row: usize, at: usize) -> u8 {
        let place = row * self.wide + at;
        let pair = self.codes.get(place / 2).copied().unwrap_or(0x88);
        if place.is_multiple_of(2) { pair & 15 } else { pair >> 4 }
    }

    /// The scale of a group of a row's weights.
    pub(super) fn scale(&self, row: usize, group: usize) -> f32 {
        let scales = self.scales.as_chunks::<2>().0;
        scales.get(row * self.wide / GROUP + group).map_or(0.0, |scale| from_half(u16::from_le_bytes(*scale)))
    }

    /// Adds a row to `out`; one that is not there adds nothing.
    pub(super) fn add_row(&self, row: usize, out: &mut [f32]) {
        let first = row * self.wide / GROUP;
        let codes = self.codes.chunks_exact(GROUP / 2).skip(first);
        let scales = self.scales.as_chunks::<2>().0.iter().skip(first);
        for ((codes, scale), out) in codes.zip(scales).zip(out.chunks_exact_mut(GROUP)) {
            let scale = from_half(u16::from_le_bytes(*scale));
            for (code, out) in codes.iter().zip(out.as_chunks_mut::<2>().0) {
                out[0] += (f32::from(code & 15) - 8.0) * scale;
                out[1] += (f32::from(code >> 4) - 8.0) * scale;
            }
        }
    }
}

/// A sixteen-bit float, wider.
fn from_half(bits: u16) -> f32 {
    let (sign, power, rest) = (u32::from(bits >> 15) << 31, u32::from(bits >> 10) & 31, u32::from(bits) & 1023);
    match power {
        0 => f32::from_bits(sign | 0x3380_0000) * f32::from(bits & 1023),
        31 => f32::from_bits(sign | 0x7f80_0000 | (rest << 13)),
        _ => f32::from_bits(sign | ((power + 112) << 23) | (rest << 13)),
    }
}
