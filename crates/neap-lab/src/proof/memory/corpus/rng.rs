//! Deterministic random numbers: the same corpus in every run, on every machine.

/// SplitMix64.
#[derive(Debug, Clone)]
pub(crate) struct CorpusRng(u64);

impl CorpusRng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Both ends included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// True with this probability.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.between(1, 100) <= percent
    }

    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.between(0, items.len() as u64 - 1) as usize]
    }

    /// Two different items, if there are two.
    pub(crate) fn two<T: Copy>(&mut self, items: &[T]) -> (T, T) {
        let first = self.between(0, items.len() as u64 - 1) as usize;
        let step = if items.len() > 1 { self.between(1, items.len() as u64 - 1) as usize } else { 0 };
        (items[first], items[(first + step) % items.len()])
    }
}
