//! A fingerprint of a run: two runs are the same, byte for byte, if theirs are.

/// FNV-1a over everything that was written and everything that a model saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// Takes in one record; where records end matters.
    pub fn add(&mut self, text: &str) {
        for byte in text.bytes().chain(text.len().to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// The fingerprint as a number.
    pub fn value(self) -> u64 {
        self.0
    }
}
