//! What backends share: rows derived from events, candidates of a search, and the comparison of both with the stream.

pub mod candidates;
pub mod card;
pub mod counts;
pub mod derived;
pub mod event_row;
pub mod examine;
pub mod exchange;
pub mod memory_erasure;
pub mod memory_recall;
pub mod prepared_commit;
pub mod rowids;
pub mod scope_column;
