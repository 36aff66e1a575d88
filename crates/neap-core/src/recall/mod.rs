//! What of everything that was said and is known answers a question.
//!
//! The store proposes ([`Query`] → [`Proposed`]): texts that share the rarer words of the question, and texts whose embedding is
//! near to its own. It gives of each a [`Card`], not the words. [`Ranking`] orders them, what the best say is read, and
//! [`pack()`] fills a budget with it. [`Consult`] is all that a store is asked on the way.

mod belongs;
mod card;
mod consult;
mod embedding;
mod found;
mod fresh;
mod pack;
mod page;
mod passage;
mod query;
mod quote;
mod rank;
#[cfg(test)]
mod tests;
mod text;
mod wanted;
mod weights;
mod when;

pub use belongs::belongs_to;
pub use card::{Card, Proposed};
pub use consult::{Consult, Consulted};
pub use embedding::{Embedding, cosine, dot};
pub use found::{Found, Search};
pub use pack::{Counting, Recollection, pack};
pub use page::Shown;
pub use query::{Around, Filter, Limits, Query};
pub use quote::quote;
pub use rank::{Ranked, Ranking, Why, answers};
pub use text::{Text, TextId, TextKey, TextKind, text_of};
pub use wanted::Wanted;
pub use weights::Weights;
