//! What a text means, as numbers.

pub mod local;

pub use local::LocalEmbedder;

use async_trait::async_trait;
use neap_core::recall::Embedding;

use crate::ModelError;

/// Turns texts into directions: texts that mean alike point alike.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Which one it is, with its version: embeddings of different ones cannot be compared, so it is stored beside them.
    fn identity(&self) -> &str;

    /// One embedding for each text, in order. A text may be empty, or longer than what it looks at.
    async fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, ModelError>;
}
