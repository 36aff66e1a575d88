//! What the store is asked for memories, and what it gives.

use super::{Memory, MemoryKind};
use crate::ids::Stamp;

/// What is looked for in an agent's memories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecallRequest {
    /// Distinct terms; a candidate has at least one. Without any, the newest are given.
    pub terms: Vec<String>,
    /// Candidates of each kind, at most; a kind that is not named is not searched.
    pub limits: Vec<(MemoryKind, usize)>,
    /// Whether superseded facts are searched as well.
    pub superseded: bool,
    /// Only what was written at this moment or later.
    pub from: Option<Stamp>,
    /// Only what was written before this moment.
    pub until: Option<Stamp>,
}

impl RecallRequest {
    /// Searches kinds for terms.
    pub fn new(terms: Vec<String>, limits: Vec<(MemoryKind, usize)>) -> Self {
        Self { terms, limits, superseded: false, from: None, until: None }
    }
}

/// What the store found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recalled {
    /// Candidates, in any order.
    pub memories: Vec<Memory>,
    /// How many memories are searched in all.
    pub texts: u64,
    /// How many of them have each term of the request.
    pub texts_with: Vec<u64>,
}
