//! The hash of the token table. The build script includes this file, since it lays the table out.

pub(crate) fn hash(bytes: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut sum = (bytes.len() as u64).wrapping_mul(ODD);
    for chunk in bytes.chunks(8) {
        sum = (sum ^ word(chunk)).wrapping_mul(ODD);
        sum ^= sum >> 29;
    }
    sum.wrapping_mul(ODD)
}

/// At most eight bytes as a number, distinct for equal lengths. Avoids a copy of unknown length, which would be a
/// call.
fn word(bytes: &[u8]) -> u64 {
    if let Some(eight) = bytes.first_chunk() {
        return u64::from_le_bytes(*eight);
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32;
    }
    bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// Bits of a slot for the token's number, from 1; the others hold part of its hash.
pub(crate) const NUMBER_BITS: u32 = 18;

/// The part of a hash that a slot stores.
pub(crate) fn mark(hash: u64) -> u32 {
    (hash as u32) >> NUMBER_BITS << NUMBER_BITS
}

pub(crate) const PAIRS: usize = 128 * 128;

/// The index of an ASCII pair. Most lookups are such pairs, and need no hash.
pub(crate) fn pair(first: u8, second: u8) -> Option<usize> {
    (first.is_ascii() && second.is_ascii()).then_some(usize::from(first) << 7 | usize::from(second))
}
