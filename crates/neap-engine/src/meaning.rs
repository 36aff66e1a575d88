//! Having texts embedded, off the reply's path: words find a new text at once, its meaning a moment later.

use neap_core::recall::Embedding;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::parts::Parts;

/// Texts that are embedded at once.
const BATCH: usize = 32;
/// So much of a text is embedded, in bytes: its beginning.
const TEXT_BYTES_MAX: usize = 1_200;

impl Parts {
    /// Who says what texts mean; empty if nobody does.
    pub(crate) fn embedder_name(&self) -> String {
        self.embedder.as_ref().map_or_else(String::new, |embedder| embedder.identity().to_owned())
    }

    /// What a question means; none without an embedder, or where it fails: then words alone find.
    pub(crate) async fn meaning(&self, question: &str) -> Option<Embedding> {
        let embedder = self.embedder.as_ref()?;
        match embedder.embed(&[question]).await {
            Ok(mut embeddings) => embeddings.pop(),
            Err(error) => {
                tracing::warn!(target: "neap::recall", %error, "a question was not embedded");
                None
            }
        }
    }
}

impl Engine {
    /// What a question means; none without an embedder, or where it fails: then words alone find.
    pub async fn meaning(&self, question: &str) -> Option<Embedding> {
        self.parts.meaning(question).await
    }

    /// Embeds some of the texts that wait for it; says how many that were. Without an embedder there is nothing to do.
    pub async fn index_some(&self) -> Result<usize, EngineError> {
        let Some(embedder) = &self.parts.embedder else { return Ok(0) };
        let store = self.parts.store.as_ref();
        let waiting = store.unembedded(embedder.identity(), BATCH).await?;
        if waiting.is_empty() {
            return Ok(0);
        }
        let heads: Vec<&str> =
            waiting.iter().map(|(_, text)| &text[..text.floor_char_boundary(TEXT_BYTES_MAX)]).collect();
        let embeddings = embedder.embed(&heads).await?;
        let count = waiting.len();
        let batch = waiting.into_iter().zip(embeddings).map(|((id, text), embedding)| (id, text, embedding));
        store.embed(embedder.identity(), batch.collect()).await?;
        Ok(count)
    }

    /// Embeds all that waits for it; says how many texts that were.
    pub async fn index_all(&self) -> Result<usize, EngineError> {
        let mut all = 0;
        loop {
            match self.index_some().await? {
                0 => return Ok(all),
                some => all += some,
            }
        }
    }
}
