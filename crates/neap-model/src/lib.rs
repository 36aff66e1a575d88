//! Who says it: models that answer, summarise and count.
//!
//! Four ports. [`ChatModel`], [`Summarizer`] and [`Embedder`] are here, [`TokenCounter`](neap_core::tokens::TokenCounter) is the
//! core's. Built in and needing no key and no network: exact counters ([`bpe`]), an extractive summariser
//! ([`summarize`]), a rule-based model that is honest about what it is ([`offline`]), and a scripted one for
//! tests and proofs ([`scripted`]). Any other model is asked over the network ([`client`]), in words that the
//! proxy shares ([`wire`]); what is known of models in advance is a table ([`profile`]). What tools answer is
//! signed on its way into the memory ([`envelope`]). What takes a processor's time is done off the async workers ([`compute`]). What other programs wrote down of their conversations is read to
//! records ([`transcript`]).

pub mod bpe;
pub mod client;
pub mod compute;
pub mod embed;
pub mod envelope;
mod error;
pub mod offline;
pub mod profile;
pub mod scripted;
mod stream;
pub mod summarize;
pub mod transcript;
pub mod usage;
pub mod wire;

pub use embed::Embedder;
pub use error::ModelError;

use async_trait::async_trait;
use neap_core::summary::SummaryRequest;
use neap_core::turn::{ModelReply, ModelRequest};

/// Takes a reply's words as they come.
pub type OnText<'a> = &'a mut (dyn FnMut(&str) + Send);

/// Answers a working context.
#[async_trait]
pub trait ChatModel: Send + Sync {
    /// What to call it in reports.
    fn name(&self) -> &str;

    /// Answers. Words go to `on_text` as they come; together they are the reply's text. Dropping the future
    /// stops the model.
    async fn reply(&self, request: &ModelRequest, on_text: OnText<'_>) -> Result<ModelReply, ModelError>;
}

/// Makes summaries.
#[async_trait]
pub trait Summarizer: Send + Sync {
    /// A summary of at most the length asked for, as near as the summariser can tell; the core counts and
    /// decides. An error is never taken for a summary (I12).
    async fn summarize(&self, request: &SummaryRequest) -> Result<String, ModelError>;
}
