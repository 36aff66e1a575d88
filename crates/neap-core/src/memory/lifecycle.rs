//! What time and use do to memories: one table of moves.

use super::Memory;
use crate::ids::Stamp;

impl Memory {
    /// When it is next looked at for what time does to it.
    pub fn due(&self) -> Option<Stamp> {
        None
    }
}
