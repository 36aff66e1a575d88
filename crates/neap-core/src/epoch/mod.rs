//! Epochs: what fades is decided every turn, but the prompt is rewritten only now and then (DESIGN, decision 16).
//!
//! A provider reads what begins as the call before began from its cache, for a tenth of the price. So between two
//! rewritings the prompt only grows at its end: within an epoch the prompt of one turn is, message by message, the
//! beginning of the next one's. When it no longer fits, when the cache has forgotten it anyway, or when a shorter
//! one pays for itself, it is assembled anew, with room to grow.

mod draft;
mod recall;

use std::collections::BTreeSet;

pub(crate) use draft::Draft;

use crate::assemble::{Placed, WorkingContext};
use crate::cost::Cost;
use crate::ids::{EffortId, Stamp, TurnNo};
use crate::ledger::{Layer, Ledger};
use crate::message::{Counted, Scope};
use crate::policy::Policy;
use crate::tokens::Tokens;

/// What was sent to the model: the prompt that grows, and the last request, to know what a cache holds.
///
/// Kept in memory only: whoever does not have it begins an epoch.
#[derive(Debug, Clone, Default)]
pub struct Sent {
    epoch: Option<Epoch>,
    last: Option<Last>,
}

/// A prompt that grows.
#[derive(Debug, Clone)]
pub(crate) struct Epoch {
    /// The turn for which it was written.
    since: TurnNo,
    system: Vec<(Layer, String)>,
    records: Vec<(Layer, String)>,
    /// What was said before that turn.
    head: Vec<Placed>,
    /// What was said since, up to the turn in progress.
    tail: Vec<Counted>,
    /// The turn in progress, as far as it was sent.
    turn: Vec<Counted>,
    /// How many of its tool rounds that includes.
    rounds: usize,
    /// Logs that are in it, in whatever form.
    logs: BTreeSet<Scope>,
    /// Summaries that are in it, or had no room in it.
    summaries: BTreeSet<EffortId>,
    /// What of the agent's memory is in it, line by line, or had no room in it.
    known: BTreeSet<String>,
    /// Which efforts are in play, as it says last.
    standing: String,
    /// What the head cost.
    ledger: Ledger,
}

#[derive(Debug, Clone)]
struct Last {
    at: Stamp,
    system: Vec<(Layer, String)>,
    records: Vec<(Layer, String)>,
    messages: Vec<Counted>,
}

impl Sent {
    /// Whether a prompt is growing.
    pub fn is_growing(&self) -> bool {
        self.epoch.is_some()
    }

    /// What the growing prompt costs now; nothing if there is none.
    pub fn tokens(&self) -> Tokens {
        self.epoch.as_ref().map_or(Tokens::ZERO, Epoch::tokens)
    }

    /// How many messages are held: of the growing prompt, and of the last request.
    pub fn messages(&self) -> usize {
        let growing =
            self.epoch.as_ref().map_or(0, |epoch| epoch.head.len() + epoch.tail.len() + epoch.turn.len());
        growing + self.last.as_ref().map_or(0, |last| last.messages.len())
    }

    /// Forgets the prompt: the next one is written anew.
    pub fn forget(&mut self) {
        self.epoch = None;
    }

    /// Takes up what is about to be sent, and says what that costs before the model says anything.
    pub(crate) fn send(&mut self, draft: Draft, policy: &Policy, now: Stamp) -> (WorkingContext, Cost) {
        let context = draft.take_up(&mut self.epoch);
        let is_cached = |last: &&Last| now.0.saturating_sub(last.at.0) / 1_000 <= policy.cache_seconds as i64;
        let cached = self.last.as_ref().filter(is_cached).map_or(Tokens::ZERO, |last| last.shared_with(&context));
        self.last = Some(Last {
            at: now,
            system: context.system.clone(),
            records: context.records.clone(),
            messages: context.messages.iter().map(|placed| placed.said.clone()).collect(),
        });
        let cost = Cost::of_call(policy, context.tokens(), cached);
        (context, cost)
    }

    /// A turn is over: what it said stays in the prompt, and so does the reply if there was one, as it is shown.
    pub(crate) fn end_turn(&mut self, reply: Vec<Counted>) {
        if let Some(epoch) = &mut self.epoch {
            epoch.tail.append(&mut epoch.turn);
            epoch.tail.extend(reply);
            epoch.rounds = 0;
        }
    }

    fn is_forgotten_by_cache(&self, policy: &Policy, now: Stamp) -> bool {
        let since = |last: &Last| now.0.saturating_sub(last.at.0) / 1_000;
        self.last.as_ref().is_none_or(|last| since(last) > policy.cache_seconds as i64)
    }
}

impl Epoch {
    fn tokens(&self) -> Tokens {
        self.ledger.tokens.total() + sum(&self.tail) + sum(&self.turn)
    }
}

impl Last {
    /// What of a request begins as this one did. Tools stand before everything else.
    fn shared_with(&self, context: &WorkingContext) -> Tokens {
        let tokens = &context.ledger.tokens;
        let mut shared = tokens.get(Layer::Tools);
        // The note has a section of its own in both; where only one of them is the same, that is reckoned as none.
        for (before, now) in [(&self.system, &context.system), (&self.records, &context.records)] {
            let same = before.iter().zip(now).take_while(|(a, b)| a == b).count();
            let is_whole = same == now.len() && same == before.len();
            let sections = now[..same].iter().filter(|(layer, _)| *layer != Layer::Note || is_whole);
            let mut layers: Vec<Layer> = sections.map(|(layer, _)| *layer).collect();
            layers.dedup();
            shared += layers.into_iter().filter(|of| *of != Layer::Note).map(|layer| tokens.get(layer)).sum();
            if !is_whole {
                return shared;
            }
        }
        shared += tokens.get(Layer::Note);
        let messages = self.messages.iter().zip(&context.messages).take_while(|(a, b)| **a == b.said);
        shared + messages.map(|(said, _)| said.tokens).sum()
    }
}

fn sum(said: &[Counted]) -> Tokens {
    said.iter().map(|counted| counted.tokens).sum()
}
