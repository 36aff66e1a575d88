//! Where a token is found. It is part of the build script as well: the table is laid out by it.

/// Spreads bytes over 64 bits.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut sum = (bytes.len() as u64).wrapping_mul(ODD);
    for chunk in bytes.chunks(8) {
        sum = (sum ^ word(chunk)).wrapping_mul(ODD);
        sum ^= sum >> 29;
    }
    sum.wrapping_mul(ODD)
}

/// At most eight bytes as a number; others of the same length make another. Read where they lie: a copy of unknown length is a call.
fn word(bytes: &[u8]) -> u64 {
    if let Some(eight) = bytes.first_chunk() {
        return u64::from_le_bytes(*eight);
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32;
    }
    bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// Bits of a slot that hold a token's number, counted from one; the others hold a part of its hash.
pub(crate) const NUMBER_BITS: u32 = 18;

/// The part of a hash that a slot keeps.
pub(crate) fn mark(hash: u64) -> u32 {
    (hash as u32) >> NUMBER_BITS << NUMBER_BITS
}

/// So many pairs of ASCII characters there are.
pub(crate) const PAIRS: usize = 128 * 128;

/// The place of a pair among them: most of what is asked for, and so found without a hash.
pub(crate) fn pair(first: u8, second: u8) -> Option<usize> {
    (first.is_ascii() && second.is_ascii()).then_some(usize::from(first) << 7 | usize::from(second))
}
