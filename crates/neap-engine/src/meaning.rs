//! Having texts embedded, off the reply's path: words find a new text at once, its meaning a moment later.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use neap_core::recall::Embedding;
use neap_core::secrets::Masking;
use neap_model::ModelError;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::parts::Parts;

/// Texts that are embedded at once.
const BATCH: usize = 32;
/// So much of a text is embedded, in bytes: its beginning.
const TEXT_BYTES_MAX: usize = 1_200;
/// So much of a question is embedded, in bytes: its beginning.
const QUESTION_BYTES_MAX: usize = 4_096;
/// So much of it is looked through for secrets before.
const LOOK_BYTES: usize = 8 * QUESTION_BYTES_MAX;
/// An embedder that may take its time and could not be reached is not asked again for so long: nobody waits for it at every question.
const REST: Duration = Duration::from_secs(5);

/// How long a question may be with its embedder, and what became of the last one.
#[derive(Default)]
pub(crate) struct Patience {
    /// None for as long as it takes.
    pub(crate) limit: Option<Duration>,
    fault: Mutex<Option<Fault>>,
    /// The latest question, masked, and what it means: memories and what was said are searched for the same one.
    latest: Mutex<Option<(String, Embedding)>>,
}

struct Fault {
    what: String,
    at: Instant,
    /// Whether the next question would fare no better.
    is_of_the_way: bool,
}

impl Fault {
    fn new(error: &ModelError) -> Self {
        let is_of_the_way = match error {
            ModelError::Transport(_) | ModelError::TimedOut(_) | ModelError::RateLimited { .. } => true,
            // It answered, and will answer the next one as soon.
            ModelError::Refused(_)
            | ModelError::ContextFull(_)
            | ModelError::Protocol(_)
            | ModelError::Unusable(_)
            | ModelError::ScriptEnded => false,
        };
        Self { what: error.to_string(), at: Instant::now(), is_of_the_way }
    }
}

impl Patience {
    fn fault(&self) -> MutexGuard<'_, Option<Fault>> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn latest(&self) -> MutexGuard<'_, Option<(String, Embedding)>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_resting(&self) -> bool {
        let rests = |fault: &Fault| fault.is_of_the_way && fault.at.elapsed() < REST;
        self.limit.is_some() && self.fault().as_ref().is_some_and(rests)
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
        *self.patience.fault() = meant.as_ref().err().map(Fault::new);
        meant.ok()
    }

    async fn embedded(&self, question: &str) -> Result<Embedding, ModelError> {
        let nothing = || ModelError::Refused("it makes nothing of the question".to_owned());
        let embedder = self.embedder.as_ref().ok_or_else(nothing)?;
        // What is stored is masked before it is embedded; what is only asked is not stored.
        let masked = masked(self.store.masking(), question);
        if let Some((_, meant)) = self.patience.latest().as_ref().filter(|(latest, _)| *latest == masked) {
            return Ok(meant.clone());
        }
        let texts = [masked.as_str()];
        let embedding = embedder.embed(&texts);
        let made = match self.patience.limit {
            Some(limit) => {
                tokio::time::timeout(limit, embedding).await.unwrap_or(Err(ModelError::TimedOut(limit)))
            }
            None => embedding.await,
        };
        let meant =
            made?.pop().filter(|meant| meant.values().iter().any(|value| *value != 0)).ok_or_else(nothing)?;
        *self.patience.latest() = Some((masked, meant.clone()));
        Ok(meant)
    }
}

/// What is embedded of a question. A secret is seen whole before anything is cut.
fn masked(masking: Masking, question: &str) -> String {
    let looked_at = &question[..question.floor_char_boundary(LOOK_BYTES)];
    let mut masked = masking.text(looked_at).0.into_owned();
    masked.truncate(masked.floor_char_boundary(QUESTION_BYTES_MAX));
    masked
}

impl Engine {
    /// What a question means; none without an embedder, or where it fails or takes too long: then words alone find.
    pub async fn meaning(&self, question: &str) -> Option<Embedding> {
        self.parts.meaning(question).await
    }

    /// Makes an embedder that is here ready for questions: the first would wait for it.
    pub async fn warm_up(&self) {
        if self.parts.patience.limit.is_none() {
            self.meaning("ready").await;
        }
    }

    /// Why the latest question was looked for by its words alone, though there is an embedder; none if it was not.
    pub fn meaning_fault(&self) -> Option<String> {
        self.parts.patience.fault().as_ref().map(|fault| fault.what.clone())
    }

    /// Embeds some of the texts that wait for it; says how many that were. Without an embedder there is nothing to do.
    pub async fn index_some(&self) -> Result<usize, EngineError> {
        self.index_until(&|| false).await
    }

    /// The same, in small steps: when it is enough for now, what is embedded is stored, and the rest waits.
    pub(crate) async fn index_until(&self, is_enough: &(dyn Fn() -> bool + Sync)) -> Result<usize, EngineError> {
        let Some(embedder) = &self.parts.embedder else { return Ok(0) };
        embedder.ready().await?;
        let store = self.parts.store.as_ref();
        let waiting = store.unembedded(embedder.identity(), BATCH).await?;
        if waiting.is_empty() {
            return Ok(0);
        }
        let heads: Vec<&str> =
            waiting.iter().map(|(_, text)| &text[..text.floor_char_boundary(TEXT_BYTES_MAX)]).collect();
        let mut embeddings = Vec::with_capacity(heads.len());
        for some in heads.chunks(embedder.together().clamp(1, BATCH)) {
            let made = embedder.embed(some).await?;
            let is_short = made.len() < some.len();
            embeddings.extend(made);
            if is_short {
                break;
            }
            if is_enough() {
                break;
            }
        }
        let count = embeddings.len();
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use async_trait::async_trait;
    use neap_model::Embedder;
    use neap_store::MemStore;

    use super::*;

    /// Fails at its first question.
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
                _ => Ok(texts.iter().map(|_| Embedding::of(&[1.0, 0.0])).collect()),
            }
        }
    }

    /// One question that is refused does not silence the others; an embedder that cannot be reached is left alone for a while.
    #[tokio::test]
    async fn meaning_rests_after_a_fault_of_the_way_alone() {
        let limit = Some(Duration::from_secs(60));
        for (with, limit, is_asked_again) in [
            (ModelError::Refused("400".to_owned()), limit, true),
            (ModelError::ContextFull("413".to_owned()), limit, true),
            (ModelError::Protocol("?".to_owned()), limit, true),
            (ModelError::Transport("gone".to_owned()), limit, false),
            (ModelError::TimedOut(REST), limit, false),
            (ModelError::RateLimited { retry_after: None, message: "slow".to_owned() }, limit, false),
            // Whoever takes no time is asked whenever there is a question.
            (ModelError::Transport("gone".to_owned()), None, true),
        ] {
            let embedder = Arc::new(Fails { with: with.clone(), asked: AtomicUsize::new(0) });
            let builder = Engine::builder(Arc::new(MemStore::default())).embedder(embedder.clone());
            let engine = builder.meaning_limit(limit).build();
            assert!(engine.meaning("a question").await.is_none() && engine.meaning_fault().is_some(), "{with}");
            assert_eq!(engine.meaning("another").await.is_some(), is_asked_again, "{with}");
            assert_eq!(embedder.asked.load(Ordering::Relaxed), 1 + usize::from(is_asked_again), "{with}");
        }
    }
}
