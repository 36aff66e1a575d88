//! A question to a store, from what is proposed to the words that are read.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::pack::shortlist;
use super::{Around, Card, Proposed, Query, Ranked, Ranking, TextId, Wanted, Weights};
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
    /// The answer of a store that proposes, tells what is around texts, and what they say.
    pub fn answer<E>(
        &self,
        propose: impl FnOnce() -> Result<Proposed, E>,
        around: impl FnOnce(&Around) -> Result<Vec<Card>, E>,
        words: impl FnOnce(&[TextId]) -> Result<Vec<Option<Arc<str>>>, E>,
    ) -> Result<Consulted, E> {
        let mut ranking = Ranking::new(&self.wanted, &self.weights, propose()?);
        if let Some((session, in_sight)) = &self.here {
            ranking = ranking.goes_on(session, *in_sight);
        }
        let around = around(&ranking.around())?;
        let ranked = ranking.order(around);
        let ids = shortlist(&ranked, self.budget);
        let words = words(&ids)?;
        let texts = ids.into_iter().zip(words).filter_map(|(id, words)| Some((id, words?))).collect();
        Ok(Consulted { ranked, texts })
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
