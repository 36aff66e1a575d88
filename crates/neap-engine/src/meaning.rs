//! Having texts embedded, off the reply's path: words find a new text at once, its meaning a moment later.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use neap_core::memory::mask;
use neap_core::recall::Embedding;
use neap_model::ModelError;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::parts::Parts;

/// Texts that are embedded at once.
const BATCH: usize = 32;
/// So much of a text is embedded, in bytes: its beginning.
const TEXT_BYTES_MAX: usize = 1_200;
/// An embedder that may take its time and failed is not asked again for so long: nobody waits for it at every question.
const REST: Duration = Duration::from_secs(5);

/// How long a question may be with its embedder, and what became of the last one.
#[derive(Default)]
pub(crate) struct Patience {
    /// None for as long as it takes.
    pub(crate) limit: Option<Duration>,
    fault: Mutex<Option<Fault>>,
}

struct Fault {
    what: String,
    at: Instant,
}

impl Patience {
    fn fault(&self) -> MutexGuard<'_, Option<Fault>> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_resting(&self) -> bool {
        self.limit.is_some() && self.fault().as_ref().is_some_and(|fault| fault.at.elapsed() < REST)
    }
}

impl Parts {
    /// Who says what texts mean; empty if nobody does.
    pub(crate) fn embedder_name(&self) -> String {
        self.embedder.as_ref().map_or_else(String::new, |embedder| embedder.identity().to_owned())
    }

    /// What a question means; none without an embedder, or where it fails or takes too long: then words alone find.
    pub(crate) async fn meaning(&self, question: &str) -> Option<Embedding> {
        let says_something = !question.trim().is_empty();
        if self.embedder.is_none() || !says_something || self.patience.is_resting() {
            return None;
        }
        let meant = self.embedded(question).await;
        if let Err(error) = &meant {
            tracing::warn!(target: "neap::recall", %error, "a question was not embedded");
        }
        let fault = meant.as_ref().err().map(|error| Fault { what: error.to_string(), at: Instant::now() });
        *self.patience.fault() = fault;
        meant.ok()
    }

    async fn embedded(&self, question: &str) -> Result<Embedding, ModelError> {
        let nothing = || ModelError::Refused("it makes nothing of the question".to_owned());
        let embedder = self.embedder.as_ref().ok_or_else(nothing)?;
        // What is stored is masked before it is embedded; what is only asked is not stored.
        let masked = mask(question).0;
        let texts = [masked.as_str()];
        let embedding = embedder.embed(&texts);
        let made = match self.patience.limit {
            Some(limit) => {
                tokio::time::timeout(limit, embedding).await.unwrap_or(Err(ModelError::TimedOut(limit)))
            }
            None => embedding.await,
        };
        made?.pop().filter(|meant| meant.values().iter().any(|value| *value != 0)).ok_or_else(nothing)
    }
}

impl Engine {
    /// What a question means; none without an embedder, or where it fails or takes too long: then words alone find.
    pub async fn meaning(&self, question: &str) -> Option<Embedding> {
        self.parts.meaning(question).await
    }

    /// Why the latest question was looked for by its words alone, though there is an embedder; none if it was not.
    pub fn meaning_fault(&self) -> Option<String> {
        self.parts.patience.fault().as_ref().map(|fault| fault.what.clone())
    }

    /// Embeds some of the texts that wait for it; says how many that were. Without an embedder there is nothing to do.
    pub async fn index_some(&self) -> Result<usize, EngineError> {
        let Some(embedder) = &self.parts.embedder else { return Ok(0) };
        embedder.ready().await?;
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
