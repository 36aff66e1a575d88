//! Finds the messages, summaries and memories that are relevant to a question.
//!
//! The store proposes candidates ([`Query`] → [`Candidates`]) by rare shared terms and by embedding similarity,
//! without their texts. [`Ranking`] orders them, the texts of the best are read, and [`pack()`] fills a token
//! budget with them. [`RankedSearch`] runs these steps in one store call.

mod asked_for;
mod candidate;
mod continuation;
mod decisions;
mod embedding;
mod expectation;
mod files_in_work;
mod indexed_text;
mod named_times;
mod other_projects;
mod pack;
mod page;
mod passage;
mod query;
mod question;
mod rank;
mod ranked_search;
mod relevance;
mod restatements;
mod snippet;
#[cfg(test)]
mod tests;
mod text_search;
mod time_mentions;
mod weights;

pub use candidate::{Candidate, Candidates};
pub use continuation::likely_conversations;
pub use embedding::{Embedding, cosine, dot};
pub use expectation::{Expectation, Stage};
pub use indexed_text::{IndexedText, TextId, TextKey, TextKind};
pub(crate) use other_projects::{STRONG_SIMILARITY_MIN, are_strong};
pub use pack::{PageCounting, RecalledContext, pack};
pub use page::ShownText;
pub use query::{Filter, NeighbourQuery, ProjectFilter, Query, SearchLimits};
pub use question::ParsedQuestion;
pub(crate) use rank::SIMILARITY_MIN as SEARCHED_SIMILARITY_MIN;
pub use rank::{RankFactors, Ranked, Ranking, is_similar_enough};
pub use ranked_search::{RankedResults, RankedSearch};
pub use relevance::PageCause;
pub(crate) use relevance::UNASKED_SIMILARITY_MIN;
pub use snippet::snippet;
pub use text_search::{FoundText, TextSearch};
pub use weights::RankWeights;
