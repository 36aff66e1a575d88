//! Messages between the state machine and its driver.

use super::MemoryResponse;
use crate::base::ids::{Seq, Stamp};
use crate::memory::{Change, Memory, MemoryId, MemoryWrite, RecallRequest, RecallResponse};

#[derive(Debug)]
pub enum LearnStep {
    /// Look up records. → [`LearnInput::QueryResult`].
    Query(MemoryQuery),
    /// Apply to the agent's state and append to its stream. → [`LearnInput::Committed`] or [`LearnInput::Stale`].
    Commit(Vec<MemoryWrite>),
    Done(Box<MemoryResponse>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryQuery {
    /// Search by words. → [`MemoryQueryResult::Records`].
    Recall(RecallRequest),
    /// Search by words and, if an embedder is available, by embedding. → [`MemoryQueryResult::Records`].
    Search {
        request: RecallRequest,
        /// The text to embed.
        question: String,
    },
    /// Records by id. → [`MemoryQueryResult::Records`].
    Get(Vec<MemoryId>),
    /// The record in one event. → [`MemoryQueryResult::Records`].
    AsOf(Seq),
    /// All versions of a record, oldest first. → [`MemoryQueryResult::History`].
    History(MemoryId),
    /// Newest versions of records with a transition due by time. → [`MemoryQueryResult::Versions`].
    Due { now: Stamp, max: usize },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryQueryResult {
    Records(RecallResponse),
    Versions(Vec<MemoryVersion>),
    History {
        /// Oldest first.
        versions: Vec<MemoryVersion>,
        /// Events that cannot be read.
        damaged: Vec<Seq>,
    },
}

/// The record after one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryVersion {
    pub seq: Seq,
    pub at: Stamp,
    pub change: Change,
    pub memory: Memory,
}

#[derive(Debug)]
pub enum LearnInput {
    Begin,
    QueryResult(MemoryQueryResult),
    Committed,
    /// Another writer committed first; none of these changes were stored, and the state was reloaded.
    Stale,
}
