//! What the demonstration measures, and what it would have cost to send everything.

use neap_core::base::cost::Cost;
use neap_core::session::report::saved_dollars;
use neap_core::session::state::SessionState;
use neap_core::turn::tools::Banner;
use neap_engine::TurnReply;
use neap_model::profile::ModelProfile;
use serde::Serialize;

/// A turn's tokens: sent by Neap, and what sending everything would have sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    pub(super) sent: u64,
    pub(super) everything: u64,
}

#[derive(Debug, Default)]
pub(super) struct Figures {
    pub(super) points: Vec<Point>,
    pub(super) budget: u64,
    pub(super) opened: u64,
    pub(super) closed: u64,
    pub(super) expanded: u64,
    cost: Cost,
    everything_sent: u64,
}

/// The sum of it, as `--json` prints it.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    pub(super) turns: usize,
    pub(super) budget: u64,
    pub(super) tokens_last: u64,
    pub(super) tokens_max: u64,
    pub(super) everything_last: u64,
    pub(super) tokens_sent: u64,
    pub(super) cached_percent: u64,
    pub(super) everything_sent: u64,
    pub(super) efforts_opened: u64,
    pub(super) efforts_closed: u64,
    pub(super) efforts_expanded: u64,
    pub(super) fact: FactFound,
    /// `None` if the model's prices are unknown.
    pub(super) price: Option<Price>,
}

#[derive(Debug, Serialize)]
pub(super) struct FactFound {
    pub(super) said_in_turn: usize,
    pub(super) asked_in_turn: usize,
    pub(super) said: &'static str,
    pub(super) answer: String,
    pub(super) word_for_word: bool,
}

/// In dollars, both with the provider's cache.
#[derive(Debug, Serialize)]
pub(super) struct Price {
    pub(super) model: String,
    pub(super) input: f64,
    pub(super) cache_read: f64,
    pub(super) dollars: f64,
    pub(super) everything_dollars: f64,
    pub(super) saved_dollars: f64,
}

impl Figures {
    pub(super) fn add(&mut self, reply: &TurnReply) {
        let ledger = &reply.ledger;
        let (sent, everything) = (ledger.tokens.total().0, ledger.naive_tokens.0);
        self.everything_sent += everything;
        self.points.push(Point { sent, everything });
        self.budget = ledger.budget.0;
        self.cost += ledger.cost;
        for banner in &reply.banners {
            match banner {
                Banner::Started { .. } => self.opened += 1,
                Banner::Concluded { .. } => self.closed += 1,
                Banner::Expanded { .. } => self.expanded += 1,
                Banner::Collapsed { .. }
                | Banner::Switched { .. }
                | Banner::Reopened { .. }
                | Banner::AutoCollapsed { .. }
                | Banner::KeptByRule
                | Banner::Learnt { .. }
                | Banner::Censored { .. } => {}
            }
        }
    }

    pub(super) fn summary(&self, fact: FactFound, state: &SessionState, profile: &ModelProfile) -> Summary {
        let last = self.points.last().copied().unwrap_or(Point { sent: 0, everything: 0 });
        Summary {
            turns: self.points.len(),
            budget: self.budget,
            tokens_last: last.sent,
            tokens_max: self.points.iter().map(|point| point.sent).max().unwrap_or(0),
            everything_last: last.everything,
            tokens_sent: self.cost.sent.0,
            cached_percent: self.cost.cached_percent(),
            everything_sent: self.everything_sent,
            efforts_opened: self.opened,
            efforts_closed: self.closed,
            efforts_expanded: self.expanded,
            fact,
            price: self.price(state, profile),
        }
    }

    /// By the rule that a chat's status line goes by.
    fn price(&self, state: &SessionState, profile: &ModelProfile) -> Option<Price> {
        let input = profile.price_input?;
        let cache_read = profile.price_cache_read.unwrap_or(input);
        let (dollars, saved_dollars) = (self.cost.dollars(), saved_dollars(state));
        let everything_dollars = dollars + saved_dollars;
        Some(Price { model: profile.name.clone(), input, cache_read, dollars, everything_dollars, saved_dollars })
    }
}
