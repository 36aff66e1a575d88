//! What backends share: rows derived from events, candidates of a search, and the comparison of both with the stream.

pub mod candidates;
pub mod card;
pub mod derived;
pub mod examine;
pub mod exchange;
pub mod memory_recall;
pub mod rowids;
