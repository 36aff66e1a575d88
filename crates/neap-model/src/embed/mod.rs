//! Embeddings: texts of similar meaning become similar vectors.

pub mod endpoint;
pub mod local;

pub use endpoint::{EndpointEmbedder, EndpointOptions};
pub use local::LocalEmbedder;

use async_trait::async_trait;
use neap_core::recall::Embedding;

use crate::ModelError;

#[async_trait]
pub trait Embedder: Send + Sync {
    /// Model and version. Embeddings of different identities are not comparable, so it is stored with them. Final
    /// only after [`prepare`](Self::prepare) or the first embedding.
    fn identity(&self) -> &str;

    /// Requests what the identity depends on.
    async fn prepare(&self) -> Result<(), ModelError> {
        Ok(())
    }

    /// How many texts to embed per call; small where each occupies the processor, because others may wait.
    fn batch_size(&self) -> usize {
        usize::MAX
    }

    /// One embedding per text, in order. A text may be empty or too long; a long one is truncated.
    async fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, ModelError>;
}
