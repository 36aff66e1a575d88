//! The hash by which a token is found. It is part of the build script as well: the table is laid out by it.

/// Spreads bytes over 64 bits.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut sum = (bytes.len() as u64).wrapping_mul(ODD);
    for chunk in bytes.chunks(8) {
        let mut eight = [0; 8];
        eight[..chunk.len()].copy_from_slice(chunk);
        sum = (sum ^ u64::from_le_bytes(eight)).wrapping_mul(ODD);
        sum ^= sum >> 29;
    }
    sum.wrapping_mul(ODD)
}

/// Bits of a slot that hold a token's number, counted from one; the others hold a part of its hash.
pub(crate) const NUMBER_BITS: u32 = 18;

/// The part of a hash that a slot keeps.
pub(crate) fn mark(hash: u64) -> u32 {
    (hash as u32) >> NUMBER_BITS << NUMBER_BITS
}
