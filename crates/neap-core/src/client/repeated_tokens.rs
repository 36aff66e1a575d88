//! How much of a prompt the provider has in its cache, and so what a request cost.

use super::request::{ClientRequest, ProviderReply};
use crate::base::tokens::Tokens;
use crate::session::request_account::HistoryVerdict;
use crate::session::request_cost::{PromptSize, RequestCost, TokenPrices};

/// How much of a prompt the request before had at the same place.
#[derive(Debug, Clone, Copy)]
pub struct RepeatedTokens {
    /// Of the client's request.
    received: Tokens,
    /// Of a request that is cut anew: the part before the cut. Any other only grows, like the client's.
    pub before_cut: Option<Tokens>,
}

impl RepeatedTokens {
    pub fn new(request: &ClientRequest, known_items: usize, verdict: HistoryVerdict) -> Self {
        let is_new = verdict == HistoryVerdict::NewSession;
        let received = if is_new { Tokens::ZERO } else { request.tokens_asked_before(known_items) };
        Self { received, before_cut: None }
    }

    /// What a request cost as it was sent, and as it was received: the same if `is_as_received`. `None` if what the
    /// client's own request would have cost is not known, since its history was not compared.
    pub fn request_cost(
        repeated: Option<Self>,
        prices: &TokenPrices,
        (received, sent): (Tokens, Tokens),
        is_as_received: bool,
        reply: &ProviderReply,
    ) -> Option<RequestCost> {
        let known = repeated.unwrap_or(Self { received: Tokens::ZERO, before_cut: None });
        let added = received.saturating_sub(known.received);
        let resent = known.before_cut.unwrap_or(sent.saturating_sub(added));
        let sent = PromptSize { tokens: sent, repeated: resent };
        let received = PromptSize { tokens: received, repeated: known.received };
        let other = (!is_as_received).then_some(received);
        (is_as_received || repeated.is_some())
            .then(|| prices.request_cost(sent, other, reply.usage, reply.model_calls()))
    }
}
