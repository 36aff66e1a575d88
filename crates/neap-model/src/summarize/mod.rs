//! The built-in summariser: it picks what was said, word for word, and never rewords or invents.
//!
//! Sentences (`sentences`) are weighed (`score`) by what people look for later: what it was about, names,
//! numbers, identifiers, decisions, causes and how it came out. The best that add something new are taken
//! until the room is full, and put in the order in which they were said. The same log gives the same summary.
//! Where a chat model is to do it instead, there is [`ModelSummarizer`].

mod by_model;
mod cues;
mod pick;
mod score;
mod sentences;

use std::sync::Arc;

use async_trait::async_trait;
use neap_core::message::Message;
use neap_core::summary::SummaryRequest;
use neap_core::tokens::{TokenCounter, Tokens};

use crate::{ModelError, Summarizer};
pub use by_model::ModelSummarizer;
pub(crate) use score::term_set;
use sentences::Sentence;

/// What was said, sentence by sentence, and whether each asks something.
pub(crate) fn sentences(messages: &[Message]) -> Vec<(String, bool)> {
    sentences::split(messages).into_iter().map(|s| (s.text, s.is_question)).collect()
}

/// Summarises without a model.
#[derive(Clone)]
pub struct Extractive {
    counter: Arc<dyn TokenCounter>,
}

impl Extractive {
    /// Counts its room with this counter.
    pub fn new(counter: Arc<dyn TokenCounter>) -> Self {
        Self { counter }
    }

    /// A summary within the room asked for and never longer than what was said; none if nothing was.
    pub fn summary(&self, request: &SummaryRequest) -> Option<String> {
        let counter = &*self.counter;
        let sentences = sentences::split(&request.messages);
        let said: Tokens = request.messages.iter().map(|m| counter.count(&m.content)).sum();
        let room = request.tokens_max.min(said);
        let weighed = score::weigh(sentences);
        let text = pick::pick(counter, weighed, room);
        (!text.is_empty()).then_some(text).or_else(|| beginning(counter, request, room))
    }
}

/// Where nothing was worth keeping, the first words stand for the rest.
fn beginning(counter: &dyn TokenCounter, request: &SummaryRequest, room: Tokens) -> Option<String> {
    let first = request.messages.iter().map(|m| m.content.trim()).find(|text| !text.is_empty())?;
    let flat = first.split_whitespace().take(200).collect::<Vec<_>>().join(" ");
    let text = sentences::fit(counter, &flat, room);
    (!text.is_empty()).then(|| text.to_owned())
}

impl std::fmt::Debug for Extractive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Extractive").field("encoding", &self.counter.encoding()).finish()
    }
}

#[async_trait]
impl Summarizer for Extractive {
    async fn summarize(&self, request: &SummaryRequest) -> Result<String, ModelError> {
        self.summary(request).ok_or_else(|| ModelError::Refused("there is nothing to summarize".into()))
    }
}

#[cfg(test)]
mod tests;
