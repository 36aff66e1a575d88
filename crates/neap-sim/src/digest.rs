//! A digest of a run: two runs with the same digest are the same, byte for byte.

/// FNV-1a over every event and every model request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunDigest(u64);

impl Default for RunDigest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl RunDigest {
    /// Adds one record; its length is added too, so record boundaries matter.
    pub fn add(&mut self, text: &str) {
        for byte in text.bytes().chain(text.len().to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    pub fn value(self) -> u64 {
        self.0
    }
}
