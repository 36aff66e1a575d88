//! The one way a summary is made, wherever the text came from: in parts if it is long, counted, held against what
//! was said, asked for again, mended, and left to the built-in summariser if whoever was asked is of no use.

use std::collections::VecDeque;

use super::intake;
use super::step::{Input, Step};
use crate::message::{Message, message_tokens};
use crate::policy::Policy;
use crate::receipt::Original;
use crate::summary::{Made, SummaryBy, SummaryRequest, accept, chunks, spoken};
use crate::tokens::{TokenCounter, Tokens};

/// Asked again this often, each time for less, before an over-long summary is cut.
const TRIES_MAX: u32 = 3;
/// Each time for this much of what was asked before, in per cent.
const AGAIN_PERCENT: u64 = 75;

/// A summary in the making.
#[derive(Debug)]
pub(super) struct Summing {
    wish: Wish,
    /// Parts that wait for their summary, at this level.
    parts: VecDeque<Vec<Message>>,
    /// Summaries of the parts before them.
    done: Vec<Message>,
    asked: Option<Asked>,
    /// Why whoever is configured was of no use, if so; from then on the built-in one is asked.
    failed: Option<String>,
}

/// What is wanted.
#[derive(Debug, Clone)]
pub(super) struct Wish {
    /// What was said, oldest first.
    pub(super) said: Vec<Message>,
    /// What it is about, in a few words; the summary may name it.
    pub(super) about: String,
    /// What leads back to the original.
    pub(super) handle: Option<String>,
    /// Its length at most; never more than what was said.
    pub(super) tokens_max: Tokens,
    /// Who is to make it.
    pub(super) by: SummaryBy,
}

#[derive(Debug)]
struct Asked {
    part: Vec<Message>,
    tokens_max: Tokens,
    tries: u32,
}

/// How far it has come.
#[derive(Debug)]
pub(super) enum Progress<T> {
    Ask(Step),
    /// An error: there is none, and nothing may be stored as one (I12).
    Ready(Result<T, String>),
}

impl Summing {
    /// Starts. What was said must be spoken: instructions and empty messages are left out here.
    pub(super) fn of(counter: &dyn TokenCounter, policy: &Policy, mut wish: Wish) -> (Self, Progress<Made>) {
        wish.said = spoken(wish.said);
        let source: Tokens = wish.said.iter().map(|message| counter.count(&message.content)).sum();
        wish.tokens_max = wish.tokens_max.min(source);
        let parts = chunks(counter, Tokens(policy.summary_input_tokens_max), &wish.said).into();
        let mut summing = Self { wish, parts, done: Vec::new(), asked: None, failed: None };
        let progress = summing.next(counter, policy);
        (summing, progress)
    }

    /// Goes on with what the summariser answered.
    ///
    /// # Panics
    /// If the input is not the answer to a summary that was asked for: that is a fault of the driver.
    pub(super) fn step(&mut self, counter: &dyn TokenCounter, policy: &Policy, input: Input) -> Progress<Made> {
        match (self.asked.take(), input) {
            (Some(asked), Input::Summarized(Ok(text))) => {
                self.look_at(counter, policy, asked, intake::limit(text, policy))
            }
            (Some(asked), Input::Summarized(Err(error))) => self.fall_back(asked, intake::shorten(&error)),
            (asked, input) => panic!("the driver answered a summary (asked: {asked:?}) with {input:?}"),
        }
    }

    /// Asks for the next part, or for the summary of the summaries, or is done.
    fn next(&mut self, counter: &dyn TokenCounter, policy: &Policy) -> Progress<Made> {
        if self.parts.is_empty() && !self.done.is_empty() {
            let level = std::mem::take(&mut self.done);
            self.parts = chunks(counter, Tokens(policy.summary_input_tokens_max), &level).into();
        }
        let is_last = self.is_last();
        let Some(part) = self.parts.pop_front() else {
            return Progress::Ready(Err("there is nothing to summarize".to_owned()));
        };
        let tokens: Tokens = part.iter().map(|message| message_tokens(counter, message)).sum();
        // Parts shrink to a quarter at most, so that levels come to an end.
        let for_part =
            Tokens(policy.summary_tokens_max).max(self.wish.tokens_max).min(Tokens(tokens.0.div_ceil(4)));
        let tokens_max = if is_last { self.wish.tokens_max } else { for_part };
        self.ask(Asked { part, tokens_max, tries: 0 }, tokens_max)
    }

    /// Whether what is asked for next, or was just answered, is the summary itself.
    fn is_last(&self) -> bool {
        self.parts.len() <= 1 && self.done.is_empty()
    }

    fn ask(&mut self, asked: Asked, tokens_max: Tokens) -> Progress<Made> {
        let by = if self.failed.is_some() { SummaryBy::BuiltIn } else { self.wish.by };
        let (about, messages) = (self.wish.about.clone(), asked.part.clone());
        self.asked = Some(asked);
        Progress::Ask(Step::Summarize(SummaryRequest { about, by, messages, tokens_max }))
    }

    fn look_at(
        &mut self,
        counter: &dyn TokenCounter,
        policy: &Policy,
        mut asked: Asked,
        text: String,
    ) -> Progress<Made> {
        asked.tries += 1;
        if counter.count(&text) > asked.tokens_max && asked.tries < TRIES_MAX {
            let less = (0..asked.tries).fold(asked.tokens_max, |tokens, _| tokens.percent(AGAIN_PERCENT));
            return self.ask(asked, less.max(Tokens(1)));
        }
        let is_last = self.parts.is_empty() && self.done.is_empty();
        let against = if is_last { &self.wish.said } else { &asked.part };
        let original = Original::new(against).knowing(&self.wish.about);
        match accept(counter, &original, asked.tokens_max, &text) {
            Err(why) => self.fall_back(asked, why),
            Ok((text, repaired)) if is_last => {
                let mut receipt = Box::new(original.receipt(&text, self.wish.handle.as_deref()));
                receipt.repaired = repaired;
                Progress::Ready(Ok(Made { tokens: counter.count(&text), text, receipt }))
            }
            Ok((text, _)) => {
                self.done.push(Message::user(text));
                self.next(counter, policy)
            }
        }
    }

    /// Asks the built-in summariser for the same, once; if that, too, is of no use, there is no summary.
    fn fall_back(&mut self, asked: Asked, why: String) -> Progress<Made> {
        if self.wish.by == SummaryBy::BuiltIn || self.failed.is_some() {
            return Progress::Ready(Err(self.failed.take().unwrap_or(why)));
        }
        self.failed = Some(why);
        let tokens_max = asked.tokens_max;
        self.ask(Asked { tries: 0, ..asked }, tokens_max)
    }
}

#[cfg(test)]
mod tests;
