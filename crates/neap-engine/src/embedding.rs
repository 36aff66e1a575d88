//! Embeds queries, and texts in the background: until then, a new text is found by its words alone.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use neap_core::recall::{Embedding, UnembeddedText};
use neap_core::text::secrets::Masking;
use neap_model::ModelError;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::parts::Parts;

/// Texts per indexing batch.
const BATCH: usize = 32;
/// Bytes of a query that are embedded, from its beginning.
const QUERY_BYTES_MAX: usize = 4_096;
/// Bytes of a query that are masked before it is cut to [`QUERY_BYTES_MAX`].
const MASK_BYTES_MAX: usize = 8 * QUERY_BYTES_MAX;
/// Pause after an embedder with a time limit was unreachable, too slow or limiting the rate, so that not every
/// query waits for it.
const BACKOFF: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(crate) struct QueryEmbedState {
    /// `None` waits for as long as it takes.
    pub(crate) timeout: Option<Duration>,
    fault: Mutex<Option<EmbedFault>>,
    /// The latest query, masked: one question searches both memories and messages.
    latest: Mutex<Option<(String, Embedding)>>,
}

struct EmbedFault {
    message: String,
    at: Instant,
    /// Whether the embedder was unreachable, too slow or limiting the rate, so that the next query would wait in
    /// vain.
    is_transient: bool,
}

impl EmbedFault {
    fn new(error: &ModelError) -> Self {
        let is_transient = match error {
            ModelError::Transport(_) | ModelError::TimedOut(_) | ModelError::RateLimited { .. } => true,
            // The embedder answered: the next query may succeed.
            ModelError::Refused(_)
            | ModelError::ContextFull(_)
            | ModelError::Protocol(_)
            | ModelError::ScriptEnded => false,
        };
        Self { message: error.to_string(), at: Instant::now(), is_transient }
    }
}

impl QueryEmbedState {
    fn fault(&self) -> MutexGuard<'_, Option<EmbedFault>> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn latest(&self) -> MutexGuard<'_, Option<(String, Embedding)>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_backing_off(&self) -> bool {
        let is_paused = |fault: &EmbedFault| fault.is_transient && fault.at.elapsed() < BACKOFF;
        self.timeout.is_some() && self.fault().as_ref().is_some_and(is_paused)
    }
}

impl Parts {
    /// The model of the stored embeddings that a query is compared with; empty without an embedder.
    pub(crate) fn embedder_name(&self) -> String {
        let embedder = self.embedder.as_ref();
        embedder.map_or_else(String::new, |embedder| UnembeddedText::stored_model(embedder.identity()))
    }

    pub(crate) async fn embed_query(&self, question: &str) -> Option<Embedding> {
        let has_text = !question.trim().is_empty();
        if self.embedder.is_none() || !has_text || self.query_embed.is_backing_off() {
            return None;
        }
        let embedding = self.embed_masked(question).await;
        if let Err(error) = &embedding {
            tracing::warn!(target: "neap::recall", %error, "a question was not embedded");
        }
        *self.query_embed.fault() = embedding.as_ref().err().map(EmbedFault::new);
        embedding.ok()
    }

    async fn embed_masked(&self, question: &str) -> Result<Embedding, ModelError> {
        let no_embedding = || ModelError::Refused("there is no embedding of the question".to_owned());
        let embedder = self.embedder.as_ref().ok_or_else(no_embedding)?;
        // Stored texts are masked before they are embedded, so the query is masked here.
        let masked = masked_query(self.store.masking(), question);
        if let Some((_, embedding)) = self.query_embed.latest().as_ref().filter(|(latest, _)| *latest == masked) {
            return Ok(embedding.clone());
        }
        let texts = [masked.as_str()];
        let pending = embedder.embed(&texts);
        let result = match self.query_embed.timeout {
            Some(limit) => tokio::time::timeout(limit, pending).await.unwrap_or(Err(ModelError::TimedOut(limit))),
            None => pending.await,
        };
        let embedding = result?
            .pop()
            .filter(|embedding| embedding.values().iter().any(|value| *value != 0))
            .ok_or_else(no_embedding)?;
        *self.query_embed.latest() = Some((masked, embedding.clone()));
        Ok(embedding)
    }
}

/// Masked before it is cut: half a secret would not be recognised.
fn masked_query(masking: Masking, question: &str) -> String {
    let head = &question[..question.floor_char_boundary(MASK_BYTES_MAX)];
    let mut masked = masking.mask(head).0.into_owned();
    masked.truncate(masked.floor_char_boundary(QUERY_BYTES_MAX));
    masked
}

impl Engine {
    /// Embeds a query; `None` without an embedder, or if it fails or times out: then search goes by words alone.
    pub async fn embed_query(&self, question: &str) -> Option<Embedding> {
        self.parts.embed_query(question).await
    }

    /// Loads a local embedder, so that the first query does not wait for it.
    pub async fn warm_up(&self) {
        if self.parts.query_embed.timeout.is_none() {
            self.embed_query("ready").await;
        }
    }

    /// Why the latest query was searched by words alone despite an embedder; `None` if it was embedded.
    pub fn embed_fault(&self) -> Option<String> {
        self.parts.query_embed.fault().as_ref().map(|fault| fault.message.clone())
    }

    /// Embeds one batch of waiting texts; returns how many. Does nothing without an embedder.
    pub async fn index_batch(&self) -> Result<usize, EngineError> {
        self.index_until(&|| false).await
    }

    /// Like [`Engine::index_batch`], in small steps: once `is_enough`, it stores what is embedded and stops.
    pub(crate) async fn index_until(&self, is_enough: &(dyn Fn() -> bool + Sync)) -> Result<usize, EngineError> {
        let Some(embedder) = &self.parts.embedder else { return Ok(0) };
        embedder.prepare().await?;
        let store = self.parts.store.as_ref();
        let model = UnembeddedText::stored_model(embedder.identity());
        let waiting = store.unembedded(&model, BATCH).await?;
        if waiting.is_empty() {
            return Ok(0);
        }
        let texts: Vec<String> = waiting.iter().map(UnembeddedText::to_embed).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let mut embeddings = Vec::with_capacity(texts.len());
        for chunk in texts.chunks(embedder.batch_size().clamp(1, BATCH)) {
            let made = embedder.embed(chunk).await?;
            let is_short = made.len() < chunk.len();
            embeddings.extend(made);
            if is_short {
                break;
            }
            if is_enough() {
                break;
            }
        }
        let count = embeddings.len();
        let batch = waiting.into_iter().zip(embeddings).map(|(text, embedding)| (text.id, text.text, embedding));
        store.put_embeddings(&model, batch.collect()).await?;
        Ok(count)
    }

    /// Embeds all waiting texts; returns how many.
    pub async fn index_all(&self) -> Result<usize, EngineError> {
        let mut total = 0;
        loop {
            match self.index_batch().await? {
                0 => return Ok(total),
                count => total += count,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use async_trait::async_trait;
    use neap_model::Embedder;
    use neap_store::MemStore;

    use super::*;

    struct Fails {
        with: ModelError,
        asked: AtomicUsize,
    }

    #[async_trait]
    impl Embedder for Fails {
        fn identity(&self) -> &str {
            "fails/1"
        }

        async fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, ModelError> {
            match self.asked.fetch_add(1, Ordering::Relaxed) {
                0 => Err(self.with.clone()),
                _ => Ok(texts.iter().map(|_| Embedding::quantize(&[1.0, 0.0])).collect()),
            }
        }
    }

    /// A refused query does not silence the next ones; an unreachable embedder is left alone for a while.
    #[tokio::test]
    async fn meaning_rests_after_a_fault_of_the_way_alone() {
        let limit = Some(Duration::from_secs(60));
        for (with, limit, is_asked_again) in [
            (ModelError::Refused("400".to_owned()), limit, true),
            (ModelError::ContextFull("413".to_owned()), limit, true),
            (ModelError::Protocol("?".to_owned()), limit, true),
            (ModelError::Transport("gone".to_owned()), limit, false),
            (ModelError::TimedOut(BACKOFF), limit, false),
            (ModelError::RateLimited { retry_after: None, message: "slow".to_owned() }, limit, false),
            // Without a time limit there is no pause.
            (ModelError::Transport("gone".to_owned()), None, true),
        ] {
            let embedder = Arc::new(Fails { with: with.clone(), asked: AtomicUsize::new(0) });
            let builder = Engine::builder(Arc::new(MemStore::default())).embedder(embedder.clone());
            let engine = builder.embed_timeout(limit).build();
            assert!(engine.embed_query("a question").await.is_none() && engine.embed_fault().is_some(), "{with}");
            assert_eq!(engine.embed_query("another").await.is_some(), is_asked_again, "{with}");
            assert_eq!(embedder.asked.load(Ordering::Relaxed), 1 + usize::from(is_asked_again), "{with}");
        }
    }
}
