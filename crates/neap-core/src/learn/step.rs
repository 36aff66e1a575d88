//! The words that the machine and its driver exchange.

use super::Answer;
use crate::event::Recorded;
use crate::ids::{Seq, Stamp};
use crate::memory::{Change, Memory, MemoryId, RecallRequest, Recalled};

/// What to do next.
#[derive(Debug)]
pub enum LearnStep {
    /// Look something up in the store. → [`LearnInput::Given`].
    Ask(MemoryAsk),
    /// Make these durable in the agent's stream. → [`LearnInput::Committed`] or [`LearnInput::Stale`].
    Commit(Vec<Recorded>),
    /// It is over.
    Done(Box<Answer>),
}

/// What is looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryAsk {
    /// Candidates, by words. → [`MemoryGiven::Recalled`].
    Recall(RecallRequest),
    /// The same, and by what a question means, where somebody can tell. → [`MemoryGiven::Recalled`].
    Search {
        /// What is searched, and by which words.
        request: RecallRequest,
        /// What is asked.
        question: String,
    },
    /// Records by their ids. → [`MemoryGiven::Recalled`].
    Get(Vec<MemoryId>),
    /// A record as one event has it. → [`MemoryGiven::Recalled`].
    AsOf(Seq),
    /// All versions of a record, oldest first. → [`MemoryGiven::History`].
    History(MemoryId),
    /// The newest versions of records that time calls upon. → [`MemoryGiven::Versions`].
    Due {
        /// By now.
        now: Stamp,
        /// At most so many.
        max: usize,
    },
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryGiven {
    /// Records.
    Recalled(Recalled),
    /// Records with the events that made them so.
    Versions(Vec<Version>),
    /// A record's history.
    History {
        /// Its versions, oldest first.
        versions: Vec<Version>,
        /// Events of it that cannot be read.
        damaged: Vec<Seq>,
    },
}

/// A record as one event has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The event's place.
    pub seq: Seq,
    /// Its time.
    pub at: Stamp,
    /// What happened.
    pub change: Change,
    /// The record after it.
    pub memory: Memory,
}

/// What came of the last step.
#[derive(Debug)]
pub enum LearnInput {
    /// Start.
    Begin,
    /// What was looked up.
    Given(MemoryGiven),
    /// The events are durable.
    Committed,
    /// Someone else taught the agent first; nothing of ours happened, and its state was reloaded.
    Stale,
}
