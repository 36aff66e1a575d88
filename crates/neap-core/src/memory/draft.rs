//! A memory someone wants recorded, before validation.

use super::{Body, Provenance, SentDraft};
use crate::base::ids::Stamp;
use crate::base::project_id::ProjectId;

/// Input to [`remember`](super::remember()), which decides whether it is new, known, or replaces another record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryDraft {
    pub body: Body,
    pub tags: Vec<String>,
    pub project: Option<ProjectId>,
    pub domain: Option<String>,
    /// Only a person pins; from anyone else this is a proposal ([`Memory::pin_asked`](super::Memory::pin_asked)).
    pub pinned: bool,
    pub valid_from: Option<Stamp>,
    pub valid_until: Option<Stamp>,
    pub provenance: Provenance,
    /// If its caller gave it a key.
    pub sent: Option<SentDraft>,
}

impl MemoryDraft {
    pub fn new(body: Body, provenance: Provenance) -> Self {
        Self {
            body,
            tags: Vec::new(),
            project: None,
            domain: None,
            pinned: false,
            valid_from: None,
            valid_until: None,
            provenance,
            sent: None,
        }
    }
}
