//! What of everything that was said and is known answers a question.
//!
//! The store proposes ([`Query`] → [`Proposed`]): texts that share the rarer words of the question, and texts whose embedding is
//! near to its own. It gives of each a [`Card`], not the words. This orders them, and only what is chosen is read.

mod card;
mod embedding;
mod query;
mod text;

pub use card::{Card, Proposed};
pub use embedding::{Embedding, cosine, dot};
pub use query::{Filter, Limits, Query};
pub use text::{Text, TextId, TextKey, TextKind, text_of};
