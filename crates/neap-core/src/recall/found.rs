//! Looking for texts, rather than filling a budget with them.

use std::sync::Arc;

use super::{Filter, Ranked, Wanted, Weights};
use crate::message::Scope;

/// What is looked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// The question.
    pub wanted: Wanted,
    /// Where.
    pub filter: Filter,
    /// What counts how much.
    pub weights: Weights,
    /// How many texts, at most.
    pub max: usize,
}

/// A text that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Where it is, and why it was found.
    pub ranked: Ranked,
    /// The log that it is in; none while its turn is in flight, or where it was not said.
    pub scope: Option<Scope>,
    /// Its words.
    pub text: Arc<str>,
}
