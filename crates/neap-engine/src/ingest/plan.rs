//! A client's request, and the plan of what to forward.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use neap_core::base::digest::Digest;
use neap_core::base::ids::{SessionId, TurnNo};
use neap_core::base::model_name::ModelName;
use neap_core::base::token_ratio::{RequestBudget, TokenEstimate, TokenRatio, TokenRatios, TokenScale};
use neap_core::base::tokens::Tokens;
use neap_core::client::{
    Chain, Changes, HistoryVerdict, Overflow, ProviderReply, RepeatedTokens, RequestAccount, RequestClass,
    RequestTotals, TokenPrices, WireApi, classify,
};
use neap_model::caller::Caller;
use neap_model::wire::request::{LocalAnswer, ToolOffer, WireRequest};

use super::backlog::BacklogEntry;

/// A client's request.
#[derive(Debug, Clone, Copy)]
pub struct IncomingRequest<'a> {
    /// Path or whole target; its query and user information may identify the caller. `/s/<name>/v1/…` names a
    /// session.
    pub path: &'a str,
    /// The request's headers.
    pub headers: &'a [(String, String)],
    /// The request's body.
    pub body: &'a str,
    /// Most tokens to send, all included, as the provider counts: the model's window less the reply's share, or less.
    pub budget: Tokens,
    /// Encoding in which tokens are counted.
    pub encoding: &'a str,
    /// The model, whose ratio of tokens is learnt; empty if unknown.
    pub model: &'a str,
    /// What is known of that ratio before.
    pub estimate: TokenEstimate,
    /// Prices of the model that is asked, if known.
    pub prices: Option<TokenPrices>,
    /// Whether it is sent unmodified, whatever is decided.
    pub shadow_mode: bool,
    /// Whether long tool results are shown in short, whatever the budget.
    pub trims_tools: bool,
    /// Whether it may be cut before its budget is full, as soon as that pays.
    pub economy: bool,
    /// Our tools that the model is offered, if any.
    pub offer: Option<&'a ToolOffer>,
    /// Time after which it is planned without the store; `None` waits for as long as it takes. A limit needs a
    /// runtime with time enabled.
    pub timeout: Option<Duration>,
}

impl<'a> IncomingRequest<'a> {
    /// A request counted in `o200k_base`, as its provider does, without prices, our tools and a time limit.
    pub fn new(path: &'a str, headers: &'a [(String, String)], body: &'a str, budget: Tokens) -> Self {
        Self {
            path,
            headers,
            body,
            budget,
            encoding: "o200k_base",
            model: "",
            estimate: TokenEstimate::EXACT,
            prices: None,
            shadow_mode: false,
            trims_tools: false,
            economy: false,
            offer: None,
            timeout: None,
        }
    }

    fn model_key(&self) -> Option<Digest> {
        (!self.model.trim().is_empty()).then(|| TokenRatios::key(self.model))
    }
}

/// What to forward, and what is known about the request.
#[derive(Debug, Clone)]
pub struct RequestPlan {
    /// The request's session, if it has one.
    pub session: Option<SessionId>,
    /// The request's turn, if it is recorded by now.
    pub turn: Option<TurnNo>,
    /// Wire format; `None` if the path is not about a history.
    pub api: Option<WireApi>,
    /// The kind of request.
    pub class: RequestClass,
    /// How it relates to the recorded history; `None` outside a conversation.
    pub verdict: Option<HistoryVerdict>,
    /// The body to send; `None` sends the original byte for byte.
    pub body: Option<String>,
    /// How the body to send differs from the original.
    pub changes: Changes,
    /// Tokens of the original.
    pub tokens_in: Tokens,
    /// Tokens that are sent.
    pub tokens_sent: Tokens,
    /// Tokens the rewritten request would cost; differs from `tokens_sent` only in shadow mode.
    pub tokens_planned: Tokens,
    /// How often this history was cut; 0 while it is forwarded unmodified.
    pub epoch: u64,
    /// What may be sent; the counts above are ours.
    pub budget: RequestBudget,
    /// Why what is sent is over the budget, if it is. In the provider's tokens.
    pub overflow: Option<Overflow>,
    /// Tools whose calls we answer ([`Engine::call_own_tool`](crate::Engine::call_own_tool)).
    pub own_tools: BTreeSet<String>,
    /// Totals of the session's earlier requests.
    pub session_totals: RequestTotals,
    /// Whether what is new is recorded.
    pub recorded: RecordingOutcome,
    /// What failed, if the plan therefore does without the store or without changes.
    pub fault: Option<String>,
    /// Our own answer; then nothing is sent.
    pub own_answer: Option<LocalAnswer>,
    /// Why it cannot be sent: it has a compaction with our prefix that does not verify as one made here for this
    /// caller.
    pub refusal: Option<String>,
    /// The body with our compactions opened and our tools offered, if there are any.
    pub(super) expanded_body: Option<String>,
    pub(super) model: Option<ModelName>,
    /// The model, if its count of this request tells how it counts.
    pub(super) counted_by: Option<Digest>,
    pub(super) prices: Option<TokenPrices>,
    /// `None` if the history was not compared with the store.
    pub(super) repeated: Option<RepeatedTokens>,
    /// Whether this and all earlier requests of this history were sent as they were received.
    pub(super) is_as_received: bool,
    pub(super) ticket: Option<ReplyTicket>,
    pub(super) deferred: Option<Arc<BacklogEntry>>,
}

/// Whether what is new in a request is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordingOutcome {
    /// It is durable.
    Durable,
    /// Not yet, and why. It waits in memory until the store works again.
    Deferred(String),
    /// Never: the request does not show who sent it.
    NotRetained,
    /// There is nothing to record: the request is not part of a conversation.
    NotNeeded,
}

#[derive(Debug, Clone)]
pub(super) struct ReplyTicket {
    pub(super) session: SessionId,
    pub(super) api: WireApi,
    pub(super) caller: Caller,
    pub(super) chain: Chain,
    pub(super) conversation_key: Digest,
}

impl RequestPlan {
    fn unplanned(fault: Option<String>, budget: RequestBudget) -> Self {
        Self {
            session: None,
            turn: None,
            api: None,
            class: RequestClass::Unsure,
            verdict: None,
            body: None,
            changes: Changes::default(),
            tokens_in: Tokens::ZERO,
            tokens_sent: Tokens::ZERO,
            tokens_planned: Tokens::ZERO,
            epoch: 0,
            budget,
            overflow: None,
            own_tools: BTreeSet::new(),
            session_totals: RequestTotals::default(),
            recorded: RecordingOutcome::NotNeeded,
            fault,
            own_answer: None,
            refusal: None,
            expanded_body: None,
            model: None,
            counted_by: None,
            prices: None,
            repeated: None,
            is_as_received: false,
            ticket: None,
            deferred: None,
        }
    }

    /// For a request that is not about a history, or cannot be parsed: it is only counted.
    pub(super) fn for_unread(
        fault: Option<String>,
        tokens: Tokens,
        incoming: &IncomingRequest<'_>,
        ratios: ModelRatios<'_>,
    ) -> Self {
        let budget = ratios.budget(incoming, None, tokens);
        let unplanned = Self::unplanned(fault, budget);
        Self { tokens_in: tokens, tokens_sent: tokens, tokens_planned: tokens, ..unplanned }.finalize(incoming)
    }

    pub(super) fn for_request(
        request: &WireRequest,
        incoming: &IncomingRequest<'_>,
        ratios: ModelRatios<'_>,
    ) -> Self {
        let parsed = request.parsed();
        let tokens = parsed.tokens();
        let budget = ratios.budget(incoming, None, parsed.new_tokens());
        let expanded_body = request.is_changed().then(|| request.render_all());
        let added = usize::from(parsed.compaction_at.is_some());
        Self {
            api: Some(parsed.api),
            class: classify(parsed),
            body: expanded_body.clone(),
            changes: Changes { added, ..Changes::default() },
            expanded_body,
            tokens_in: tokens,
            tokens_sent: tokens,
            tokens_planned: tokens,
            counted_by: incoming.model_key().filter(|_| parsed.is_text_only()),
            ..Self::unplanned(None, budget)
        }
    }

    /// Corrects the budget by what the provider reported for this conversation.
    pub(super) fn adjust_budget(
        &mut self,
        request: &WireRequest,
        incoming: &IncomingRequest<'_>,
        session: &TokenRatios,
        ratios: ModelRatios<'_>,
    ) {
        let known = incoming.model_key().and_then(|model| session.get(&model));
        self.budget = ratios.budget(incoming, known, request.parsed().new_tokens());
    }

    /// What the request cost as received and as sent, once it is answered.
    pub fn account(&self, reply: &ProviderReply) -> RequestAccount {
        RequestAccount {
            class: self.class,
            verdict: self.verdict,
            tokens_in: self.tokens_in,
            tokens_sent: self.tokens_sent,
            changes: self.changes.total() as u64,
            epoch: self.epoch,
            used: reply.usage,
            cost: self.prices.and_then(|prices| {
                let sizes = (self.tokens_in, self.tokens_sent);
                RepeatedTokens::request_cost(self.repeated, &prices, sizes, self.is_as_received, reply)
            }),
            is_whole: !reply.is_truncated,
            model: self.model.clone(),
            counted_by: self.counted_by.filter(|_| reply.usage.is_some() && reply.own_tool_rounds == 0),
        }
    }

    /// Whether nothing of this history was ever changed.
    fn is_untouched(&self) -> bool {
        let continues = self.verdict.is_some_and(HistoryVerdict::continues_history);
        self.changes.total() == 0 && (!continues || self.session_totals.changed == 0)
    }

    pub(super) fn finalize(mut self, incoming: &IncomingRequest<'_>) -> Self {
        self.prices = incoming.prices;
        self.model = ModelName::from_name(incoming.model);
        self.is_as_received = incoming.shadow_mode || self.is_untouched();
        if incoming.shadow_mode || self.body.is_none() {
            self.body = self.expanded_body.take();
            self.tokens_sent = self.tokens_in;
        } else {
            self.tokens_sent = self.tokens_planned;
        }
        if incoming.shadow_mode || self.own_answer.is_some() {
            self.overflow = None;
        } else if self.tokens_sent > self.budget.ours() && self.overflow.is_none() {
            self.overflow = Some(Overflow::of_whole(self.tokens_sent, self.budget.ours()));
        }
        self.overflow = self.overflow.map(|overflow| overflow.in_provider_tokens(&self.budget));
        self
    }
}

/// What providers reported for any conversation.
#[derive(Clone, Copy)]
pub(super) struct ModelRatios<'a>(pub(super) &'a Mutex<TokenRatios>);

impl ModelRatios<'_> {
    pub(super) fn budget(
        self,
        incoming: &IncomingRequest<'_>,
        session: Option<TokenRatio>,
        new: Tokens,
    ) -> RequestBudget {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let model = incoming.model_key().and_then(|model| known.get(&model));
        RequestBudget { limit: incoming.budget, scale: TokenScale::new(incoming.estimate, session, model), new }
    }
}
