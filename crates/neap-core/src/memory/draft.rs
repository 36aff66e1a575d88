//! What someone wants to be remembered, before it is judged.

use super::{Body, Provenance};
use crate::ids::Stamp;

/// A record to be written; the rules decide whether it is new, known already, or takes the place of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryDraft {
    /// What it says.
    pub body: Body,
    /// Words to sort by.
    pub tags: Vec<String>,
    /// The field it belongs to.
    pub domain: Option<String>,
    /// Whether it is to be always loaded. Only a person pins: from anybody else it is a proposal
    /// ([`Memory::pin_asked`](super::Memory::pin_asked)).
    pub pinned: bool,
    /// From when on it holds.
    pub valid_from: Option<Stamp>,
    /// Until when it holds.
    pub valid_until: Option<Stamp>,
    /// Who wants it.
    pub provenance: Provenance,
}

impl MemoryDraft {
    /// With nothing but what it says and who says it.
    pub fn new(body: Body, provenance: Provenance) -> Self {
        Self {
            body,
            tags: Vec::new(),
            domain: None,
            pinned: false,
            valid_from: None,
            valid_until: None,
            provenance,
        }
    }
}
