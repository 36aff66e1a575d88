//! I9: whatever is written, a backend answers as the memory backend does.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

mod proposals;
mod recalls;

pub use proposals::{propose_alike, propose_alike_of_many};
pub use recalls::recall_alike;

/// Chance that gives the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.roll(from.len() as u64) as usize]
    }
}
