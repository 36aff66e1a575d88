//! Finds the messages, summaries and memories that are relevant to a question.
//!
//! The store proposes candidates ([`Query`] → [`Candidates`]) by rare shared terms and by embedding similarity,
//! without their texts. [`Ranking`] orders them, the texts of the best are read, and [`pack()`] fills a token
//! budget with them. [`RankedSearch`] runs these steps in one store call.

mod candidate;
mod continuation;
mod embedding;
mod indexed_text;
mod pack;
mod page;
mod passage;
mod query;
mod question;
mod rank;
mod ranked_search;
mod restatements;
mod snippet;
#[cfg(test)]
mod tests;
mod text_search;
mod time_mentions;
mod unembedded_text;
mod weights;

pub use candidate::{Candidate, Candidates};
pub use continuation::likely_conversations;
pub use embedding::{Embedding, cosine, dot};
pub use indexed_text::{IndexedText, TextId, TextKey, TextKind};
pub use pack::{PageCounting, RecalledContext, pack};
pub use page::ShownText;
pub use query::{Filter, NeighbourQuery, Query, SearchLimits};
pub use question::ParsedQuestion;
pub(crate) use rank::SIMILARITY_MIN as SEARCHED_SIMILARITY_MIN;
pub use rank::{RankFactors, Ranked, Ranking, is_similar_enough};
pub use ranked_search::{RankedResults, RankedSearch};
pub use snippet::snippet;
pub use text_search::{FoundText, TextSearch};
pub use unembedded_text::{UnembeddedText, message_end};
pub use weights::RankWeights;
