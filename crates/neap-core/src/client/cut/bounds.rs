//! The limits of a forwarded request.

use super::prices::Prices;
use crate::base::tokens::Tokens;
use crate::client::request::ClientRequest;

/// Token limits of a forwarded request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub budget: Tokens,
    /// Fullness of the room for a history at which it is cut.
    pub high_percent: u64,
    pub prices: Prices,
    /// Whether to cut before the room is full, as soon as that pays.
    pub economy: bool,
}

impl Bounds {
    /// At the prices of the cache that the request asks for.
    pub fn of(request: &ClientRequest, budget: Tokens, economy: bool) -> Self {
        Self { economy, prices: Prices::of(request), ..Self::new(budget) }
    }

    /// Cuts at 90 %, at the usual prices.
    pub fn new(budget: Tokens) -> Self {
        Self { budget, high_percent: 90, prices: Prices::default(), economy: false }
    }
}
