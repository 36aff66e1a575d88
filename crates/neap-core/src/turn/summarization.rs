//! Makes every summary, whatever its source: splits long text, checks length and content, retries, repairs, and
//! falls back to the built-in summariser if the configured one fails.

use std::collections::VecDeque;

use super::limits;
use super::step::{Input, Step};
use crate::base::message::{Message, message_tokens};
use crate::base::policy::Policy;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::session::summary::{
    CheckedSummary, SummarizerKind, SummaryRequest, chunks, summarizable_messages, validate_summary,
};
use crate::text::receipt::Original;

/// Requests for a summary, the first included, before one that is still too long is cut.
const TRIES_MAX: u32 = 3;
/// Each retry asks for this share of the previous length, in per cent.
const RETRY_PERCENT: u64 = 75;

#[derive(Debug)]
pub(super) struct Summarization {
    job: SummaryJob,
    /// Parts still to be summarised at this level.
    parts: VecDeque<Vec<Message>>,
    /// Summaries of the parts before them.
    part_summaries: Vec<Message>,
    attempt: Option<SummaryAttempt>,
    /// Why the configured summariser failed, if it did; the built-in one is used from then on.
    configured_error: Option<String>,
}

#[derive(Debug, Clone)]
pub(super) struct SummaryJob {
    /// Oldest first.
    pub(super) messages: Vec<Message>,
    /// What the receipt is held against, where the messages are summaries themselves; else empty.
    pub(super) originals: Vec<Message>,
    /// A few words; the summary may name it.
    pub(super) topic: String,
    pub(super) handle: Option<String>,
    /// Never more than the length of the source.
    pub(super) tokens_max: Tokens,
    pub(super) summarizer: SummarizerKind,
}

#[derive(Debug)]
struct SummaryAttempt {
    part: Vec<Message>,
    tokens_max: Tokens,
    tries: u32,
}

#[derive(Debug)]
pub(super) enum SummaryProgress<T> {
    Ask(Step),
    /// On an error there is no summary, and nothing may be stored as one (I12).
    Ready(Result<T, String>),
}

impl Summarization {
    /// Starts a summary. Drops system messages and empty ones.
    pub(super) fn start(
        counter: &dyn TokenCounter,
        policy: &Policy,
        mut job: SummaryJob,
    ) -> (Self, SummaryProgress<CheckedSummary>) {
        job.messages = summarizable_messages(job.messages);
        let source: Tokens = job.messages.iter().map(|message| counter.count(&message.content)).sum();
        job.tokens_max = job.tokens_max.min(source);
        let parts = chunks(counter, Tokens(policy.summary_input_tokens_max), &job.messages).into();
        let mut summarization =
            Self { job, parts, part_summaries: Vec::new(), attempt: None, configured_error: None };
        let progress = summarization.next(counter, policy);
        (summarization, progress)
    }

    /// # Panics
    /// If the input does not answer a summary request, which is a bug in the driver.
    pub(super) fn step(
        &mut self,
        counter: &dyn TokenCounter,
        policy: &Policy,
        input: Input,
    ) -> SummaryProgress<CheckedSummary> {
        match (self.attempt.take(), input) {
            (Some(attempt), Input::Summarized(Ok(text))) => {
                self.receive_summary(counter, policy, attempt, limits::truncate_message(text, policy))
            }
            (Some(attempt), Input::Summarized(Err(error))) => {
                self.fall_back(attempt, limits::truncate_error(&error))
            }
            (attempt, input) => panic!("the driver answered a summary (asked: {attempt:?}) with {input:?}"),
        }
    }

    /// Requests the next part or the summary of the summaries, or finishes.
    fn next(&mut self, counter: &dyn TokenCounter, policy: &Policy) -> SummaryProgress<CheckedSummary> {
        if self.parts.is_empty() && !self.part_summaries.is_empty() {
            let level = std::mem::take(&mut self.part_summaries);
            self.parts = chunks(counter, Tokens(policy.summary_input_tokens_max), &level).into();
        }
        let is_last = self.is_last();
        let Some(part) = self.parts.pop_front() else {
            return SummaryProgress::Ready(Err("there is nothing to summarize".to_owned()));
        };
        let tokens: Tokens = part.iter().map(|message| message_tokens(counter, message)).sum();
        // A part shrinks to at most a quarter, so that the levels end.
        let for_part =
            Tokens(policy.summary_tokens_max).max(self.job.tokens_max).min(Tokens(tokens.0.div_ceil(4)));
        let tokens_max = if is_last { self.job.tokens_max } else { for_part };
        self.ask(SummaryAttempt { part, tokens_max, tries: 0 }, tokens_max)
    }

    /// Whether the current request is for the final summary.
    fn is_last(&self) -> bool {
        self.parts.len() <= 1 && self.part_summaries.is_empty()
    }

    fn ask(&mut self, attempt: SummaryAttempt, tokens_max: Tokens) -> SummaryProgress<CheckedSummary> {
        let summarizer =
            if self.configured_error.is_some() { SummarizerKind::BuiltIn } else { self.job.summarizer };
        let (topic, messages) = (self.job.topic.clone(), attempt.part.clone());
        self.attempt = Some(attempt);
        SummaryProgress::Ask(Step::Summarize(SummaryRequest { topic, summarizer, messages, tokens_max }))
    }

    fn receive_summary(
        &mut self,
        counter: &dyn TokenCounter,
        policy: &Policy,
        mut attempt: SummaryAttempt,
        text: String,
    ) -> SummaryProgress<CheckedSummary> {
        attempt.tries += 1;
        if counter.count(&text) > attempt.tokens_max && attempt.tries < TRIES_MAX {
            let less = (0..attempt.tries).fold(attempt.tokens_max, |tokens, _| tokens.percent(RETRY_PERCENT));
            return self.ask(attempt, less.max(Tokens(1)));
        }
        let is_last = self.parts.is_empty() && self.part_summaries.is_empty();
        let source = if is_last { &self.job.messages } else { &attempt.part };
        let original = Original::new(source).with_known_name(&self.job.topic);
        match validate_summary(counter, &original, attempt.tokens_max, &text) {
            Err(why) => self.fall_back(attempt, why),
            Ok((text, repaired)) if is_last => {
                let handle = self.job.handle.as_deref();
                let mut receipt = Box::new(match self.job.originals.as_slice() {
                    [] => original.receipt(&text, handle),
                    originals => Original::new(originals).with_known_name(&self.job.topic).receipt(&text, handle),
                });
                receipt.repaired = repaired;
                SummaryProgress::Ready(Ok(CheckedSummary { tokens: counter.count(&text), text, receipt }))
            }
            Ok((text, _)) => {
                self.part_summaries.push(Message::user(text));
                self.next(counter, policy)
            }
        }
    }

    /// Tries the built-in summariser once; if that fails too, there is no summary.
    fn fall_back(&mut self, attempt: SummaryAttempt, why: String) -> SummaryProgress<CheckedSummary> {
        if self.job.summarizer == SummarizerKind::BuiltIn || self.configured_error.is_some() {
            return SummaryProgress::Ready(Err(self.configured_error.take().unwrap_or(why)));
        }
        self.configured_error = Some(why);
        let tokens_max = attempt.tokens_max;
        self.ask(SummaryAttempt { tries: 0, ..attempt }, tokens_max)
    }
}

#[cfg(test)]
mod tests;
