//! What is known of a text without reading it.

use super::{TextId, TextKind};
use crate::ids::{Stamp, TurnNo};
use crate::tokens::Tokens;

/// A text as the store proposes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    /// Which.
    pub id: TextId,
    /// What kind.
    pub kind: TextKind,
    /// Its turn.
    pub turn: TurnNo,
    /// Its place among the texts of its stream that were said, from 1; 0 of what was not said. Neighbours differ by one.
    pub nth: u64,
    /// When it was said or written.
    pub at: Stamp,
    /// Who said it, where there is a name.
    pub who: Option<String>,
    /// What showing it costs.
    pub tokens: Tokens,
    /// How many terms it has, repetitions included.
    pub length: u32,
    /// How often it has each term of the query, in the query's order.
    pub hits: Vec<u32>,
    /// How near its embedding is to the query's, -1 to 1; none where either has none.
    pub near: Option<f64>,
}

/// What the store proposes, and what it says of all that was searched.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Proposed {
    /// Candidates, in the order of their ids.
    pub cards: Vec<Card>,
    /// How many texts there are.
    pub texts: u64,
    /// How many terms all of them have, repetitions included.
    pub length: u64,
    /// How many of them have each term of the query.
    pub texts_with: Vec<u64>,
    /// How near their embeddings are to the query's on the whole; 0 without any.
    pub mean_near: f64,
    /// How many of them have no embedding yet.
    pub waiting: u64,
}
