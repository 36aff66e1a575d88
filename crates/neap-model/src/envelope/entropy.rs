//! Where unpredictable bytes come from. Handed in, so that a simulation can give its own.

use super::key::KeyError;

/// Gives unpredictable bytes.
pub trait Entropy: Send + Sync {
    /// Fills all of it, or fails.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), KeyError>;
}

/// The operating system's.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), KeyError> {
        getrandom::fill(bytes).map_err(|_| KeyError::Entropy)
    }
}
