//! The source of random bytes, injected so that a simulation can supply its own.

use super::key::KeyError;

pub trait Entropy: Send + Sync {
    /// Fills the whole slice or fails.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), KeyError>;
}

#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), KeyError> {
        getrandom::fill(bytes).map_err(|_| KeyError::Entropy)
    }
}
