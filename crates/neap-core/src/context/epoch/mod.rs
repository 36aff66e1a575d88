//! Epochs: decay is decided every turn, but the prompt is rewritten only now and then (docs/decisions/0002-windows.md).
//!
//! A provider reads the prefix that a call shares with the previous one from its cache, for a tenth of the price.
//! So between rewrites the prompt only grows at its end: within an epoch, each turn's prompt is a prefix of the
//! next one's. It is assembled anew, with room to grow, when it no longer fits, when the cache has expired, or
//! when a shorter prompt pays for itself.

mod additions;
mod draft;
mod repeat;

use std::collections::BTreeSet;

pub(crate) use draft::PromptDraft;

use crate::base::cost::Cost;
use crate::base::ids::{EffortId, Stamp, TurnNo};
use crate::base::ledger::{Layer, Ledger};
use crate::base::message::{CountedMessage, Scope, total_tokens};
use crate::base::policy::Policy;
use crate::base::tokens::Tokens;
use crate::context::{LayeredMessage, WorkingContext};

/// The growing prompt, and the last request, which tells what the provider's cache holds.
///
/// In memory only: a process without it begins a new epoch.
#[derive(Debug, Clone, Default)]
pub struct SentPrompt {
    epoch: Option<Epoch>,
    last_request: Option<LastRequest>,
}

#[derive(Debug, Clone)]
pub(crate) struct Epoch {
    /// The turn that rewrote it.
    since: TurnNo,
    system: Vec<(Layer, String)>,
    records: Vec<(Layer, String)>,
    /// Messages before that turn.
    head: Vec<LayeredMessage>,
    /// Messages since, up to the turn in progress.
    tail: Vec<CountedMessage>,
    /// The turn in progress, as far as it was sent.
    turn: Vec<CountedMessage>,
    /// How many of its tool rounds `turn` includes.
    rounds: usize,
    /// The tokens of the last request, which the provider has counted.
    sent: Tokens,
    /// Logs in the prompt, in whatever form.
    logs: BTreeSet<Scope>,
    /// Summaries in the prompt, or that had no room in it.
    summaries: BTreeSet<EffortId>,
    /// Lines of memories in the prompt, or that had no room in it.
    memory_lines: BTreeSet<String>,
    /// The latest line about the efforts in play.
    efforts_line: String,
    /// What the head cost.
    ledger: Ledger,
}

#[derive(Debug, Clone)]
struct LastRequest {
    at: Stamp,
    system: Vec<(Layer, String)>,
    records: Vec<(Layer, String)>,
    messages: Vec<CountedMessage>,
}

impl SentPrompt {
    pub fn is_growing(&self) -> bool {
        self.epoch.is_some()
    }

    pub fn tokens(&self) -> Tokens {
        self.epoch.as_ref().map_or(Tokens::ZERO, Epoch::tokens)
    }

    /// Messages held in memory: those of the growing prompt and of the last request.
    pub fn message_count(&self) -> usize {
        let growing =
            self.epoch.as_ref().map_or(0, |epoch| epoch.head.len() + epoch.tail.len() + epoch.turn.len());
        growing + self.last_request.as_ref().map_or(0, |last| last.messages.len())
    }

    /// Drops the prompt, so that the next one is rewritten.
    pub fn invalidate(&mut self) {
        self.epoch = None;
    }

    /// Records what is about to be sent; returns the context and its input cost.
    pub(crate) fn commit_draft(
        &mut self,
        draft: PromptDraft,
        policy: &Policy,
        now: Stamp,
    ) -> (WorkingContext, Cost) {
        let context = draft.install_epoch(&mut self.epoch);
        let is_cached =
            |last: &&LastRequest| now.0.saturating_sub(last.at.0) / 1_000 <= policy.cache_seconds as i64;
        let cached = self
            .last_request
            .as_ref()
            .filter(is_cached)
            .map_or(Tokens::ZERO, |last| last.shared_prefix_tokens(&context));
        self.last_request = Some(LastRequest {
            at: now,
            system: context.system.clone(),
            records: context.records.clone(),
            messages: context.messages.iter().map(|placed| placed.counted.clone()).collect(),
        });
        let cost = Cost::of_call(policy, context.tokens(), cached);
        (context, cost)
    }

    /// Ends a turn: its messages, and the reply as it is shown, stay in the prompt.
    pub(crate) fn end_turn(&mut self, reply: Vec<CountedMessage>) {
        if let Some(epoch) = &mut self.epoch {
            epoch.tail.append(&mut epoch.turn);
            epoch.tail.extend(reply);
            epoch.rounds = 0;
        }
    }

    fn is_cache_expired(&self, policy: &Policy, now: Stamp) -> bool {
        let since = |last: &LastRequest| now.0.saturating_sub(last.at.0) / 1_000;
        self.last_request.as_ref().is_none_or(|last| since(last) > policy.cache_seconds as i64)
    }
}

impl Epoch {
    fn tokens(&self) -> Tokens {
        self.ledger.tokens.total() + total_tokens(&self.tail) + total_tokens(&self.turn)
    }
}

impl LastRequest {
    /// The tokens that a request shares with this one as a prefix. Tools come first.
    fn shared_prefix_tokens(&self, context: &WorkingContext) -> Tokens {
        let tokens = &context.ledger.tokens;
        let mut shared = tokens.get(Layer::Tools);
        // Both parts have a note section; count it only if both parts are unchanged.
        for (before, now) in [(&self.system, &context.system), (&self.records, &context.records)] {
            let same = before.iter().zip(now).take_while(|(a, b)| a == b).count();
            let is_whole = same == now.len() && same == before.len();
            let sections = now[..same].iter().filter(|(layer, _)| *layer != Layer::Note || is_whole);
            let mut layers: Vec<Layer> = sections.map(|(layer, _)| *layer).collect();
            layers.dedup();
            shared +=
                layers.into_iter().filter(|layer| *layer != Layer::Note).map(|layer| tokens.get(layer)).sum();
            if !is_whole {
                return shared;
            }
        }
        shared += tokens.get(Layer::Note);
        let messages = self.messages.iter().zip(&context.messages).take_while(|(a, b)| **a == b.counted);
        shared + messages.map(|(counted, _)| counted.tokens).sum()
    }
}
