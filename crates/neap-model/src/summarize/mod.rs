//! The built-in summarizer: it selects sentences word for word, and never rewords or invents.
//!
//! It scores sentences (`score`) by what people look for later: the topic, names, numbers, identifiers, decisions,
//! causes and outcomes. It takes the best that add something new until the budget is used, in their original
//! order. The same log gives the same summary. [`ModelSummarizer`] uses a chat model instead.

mod cues;
mod model_summarizer;
mod pick;
mod score;
mod sentences;

use std::sync::Arc;

use async_trait::async_trait;
use neap_core::base::message::Message;
use neap_core::base::tokens::{TokenCounter, Tokens};
use neap_core::session::summary::SummaryRequest;

use crate::{ModelError, Summarizer};
pub use model_summarizer::ModelSummarizer;
pub(crate) use score::term_set;
use sentences::Sentence;

/// The sentences, and whether each is a question.
pub(crate) fn sentences(messages: &[Message]) -> Vec<(String, bool)> {
    sentences::split(messages).into_iter().map(|s| (s.text, s.is_question)).collect()
}

/// Whether a sentence says what was done, and why.
pub(crate) fn tells_fix(sentence: &str) -> bool {
    cues::Cues::of(&sentence.to_lowercase()).tells_fix()
}

#[derive(Clone)]
pub struct ExtractiveSummarizer {
    counter: Arc<dyn TokenCounter>,
}

impl ExtractiveSummarizer {
    pub fn new(counter: Arc<dyn TokenCounter>) -> Self {
        Self { counter }
    }

    /// Within the token limit and never longer than the messages; `None` if there is nothing to summarize.
    pub fn summary(&self, request: &SummaryRequest) -> Option<String> {
        let counter = &*self.counter;
        let sentences = sentences::split(&request.messages);
        let source_tokens: Tokens = request.messages.iter().map(|m| counter.count(&m.content)).sum();
        let budget = request.tokens_max.min(source_tokens);
        let scored = score::score_sentences(sentences);
        let text = pick::pick(counter, scored, budget);
        (!text.is_empty()).then_some(text).or_else(|| first_words(counter, request, budget))
    }
}

/// The fallback if no sentence was selected.
fn first_words(counter: &dyn TokenCounter, request: &SummaryRequest, budget: Tokens) -> Option<String> {
    let first = request.messages.iter().map(|m| m.content.trim()).find(|text| !text.is_empty())?;
    let flat = first.split_whitespace().take(200).collect::<Vec<_>>().join(" ");
    let text = sentences::truncate_to_fit(counter, &flat, budget);
    let text = if text.is_empty() { sentences::truncate_words(counter, &flat, budget) } else { text };
    (!text.is_empty()).then(|| text.to_owned())
}

impl std::fmt::Debug for ExtractiveSummarizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Extractive").field("encoding", &self.counter.encoding()).finish()
    }
}

#[async_trait]
impl Summarizer for ExtractiveSummarizer {
    async fn summarize(&self, request: &SummaryRequest) -> Result<String, ModelError> {
        self.summary(request).ok_or_else(|| ModelError::Refused("there is nothing to summarize".into()))
    }
}

#[cfg(test)]
mod tests;
