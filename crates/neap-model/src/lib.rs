//! Models: chat, summarize, embed, count tokens.
//!
//! Defines the ports [`ChatModel`], [`Summarizer`] and [`Embedder`];
//! [`TokenCounter`](neap_core::base::tokens::TokenCounter) belongs to the core. Exact counters ([`bpe`]), an extractive
//! summarizer ([`summarize`]), a rule-based model ([`offline`]) and a scripted one for tests ([`scripted`]) are
//! built in and need neither key nor network. [`client`] reaches every other model and shares its wire formats
//! ([`wire`]) with the proxy.

pub mod bpe;
pub mod caller;
pub mod client;
pub mod compute;
pub mod embed;
pub mod envelope;
mod error;
pub mod hook;
pub mod memory_tool;
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
use neap_core::session::summary::SummaryRequest;
use neap_core::turn::{ModelReply, ModelRequest};

pub type OnText<'a> = &'a mut (dyn FnMut(&str) + Send);

#[async_trait]
pub trait ChatModel: Send + Sync {
    /// Shown in reports.
    fn name(&self) -> &str;

    /// Streams the reply's text to `on_text` in pieces. Dropping the future stops the model.
    async fn reply(&self, request: &ModelRequest, on_text: OnText<'_>) -> Result<ModelReply, ModelError>;
}

#[async_trait]
pub trait Summarizer: Send + Sync {
    /// Aims for the requested length; the core counts and decides. An error is never stored as a summary (I12).
    async fn summarize(&self, request: &SummaryRequest) -> Result<String, ModelError>;
}
