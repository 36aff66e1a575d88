//! What a text means, as numbers.

pub mod endpoint;
pub mod local;

pub use endpoint::{EndpointEmbedder, EndpointOptions};
pub use local::{FileEmbedder, LocalEmbedder};

use async_trait::async_trait;
use neap_core::recall::Embedding;

use crate::ModelError;

/// Turns texts into directions: texts that mean alike point alike.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Which one it is, with its version: embeddings of different ones cannot be compared, so it is stored beside them. It is
    /// certain once something was embedded, or after [`ready`](Self::ready).
    fn identity(&self) -> &str;

    /// Gets to know what its identity depends on, where that takes asking or reading.
    async fn ready(&self) -> Result<(), ModelError> {
        Ok(())
    }

    /// So many texts are best embedded together: few where each takes the processor, as others may wait for that.
    fn together(&self) -> usize {
        usize::MAX
    }

    /// One embedding for each text, in order. A text may be empty, or longer than what it looks at.
    async fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, ModelError>;
}
