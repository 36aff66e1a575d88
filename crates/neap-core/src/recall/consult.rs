//! A question to a store, from what is proposed to the words that are read.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::pack::shortlist;
use super::{Proposed, Query, Ranked, Ranking, TextId, Wanted, Weights};
use crate::ids::SessionId;
use crate::tokens::Tokens;

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Consult {
    /// The question.
    pub wanted: Wanted,
    /// As a store reads it.
    pub query: Query,
    /// What counts how much.
    pub weights: Weights,
    /// The conversation that goes on, if it is asked in one, and how many of its latest texts are in sight.
    pub here: Option<(SessionId, u64)>,
    /// What the recalled may cost.
    pub budget: Tokens,
}

impl Consult {
    /// The first step: what was proposed, on its way to an order. What is [around](Ranking::around) it is wanted next.
    pub fn ranking(&self, proposed: Proposed) -> Ranking {
        let ranking = Ranking::new(&self.wanted, &self.weights, proposed);
        match &self.here {
            Some((session, in_sight)) => ranking.goes_on(session, *in_sight),
            None => ranking,
        }
    }

    /// The last step: the texts whose words are wanted, of all that are in order.
    pub fn shortlist(&self, ranked: &[Ranked]) -> Vec<TextId> {
        shortlist(ranked, self.budget)
    }
}

/// What a store says to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Consulted {
    /// What was found, best first.
    pub ranked: Vec<Ranked>,
    /// The words of the best, as far as they are there.
    pub texts: BTreeMap<TextId, Arc<str>>,
}

impl Consulted {
    /// With the words in the order in which they were asked for.
    pub fn new(ranked: Vec<Ranked>, ids: Vec<TextId>, words: Vec<Option<Arc<str>>>) -> Self {
        let texts = ids.into_iter().zip(words).filter_map(|(id, words)| Some((id, words?))).collect();
        Self { ranked, texts }
    }
}
