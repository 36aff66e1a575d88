//! A search that lists texts, rather than filling a budget with them.

use std::sync::Arc;

use super::{Filter, ParsedQuestion, RankWeights, Ranked};
use crate::base::message::Scope;

#[derive(Debug, Clone, PartialEq)]
pub struct TextSearch {
    pub question: ParsedQuestion,
    pub filter: Filter,
    pub weights: RankWeights,
    pub max: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FoundText {
    pub ranked: Ranked,
    /// The log it is in; `None` while its turn is in flight, or if it is not a message.
    pub scope: Option<Scope>,
    pub text: Arc<str>,
}
