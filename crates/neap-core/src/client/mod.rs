//! Plans how to forward a client's request.
//!
//! A client resends its whole history with every request ([`ClientRequest`]). Its session is found by the
//! identifiers it sends ([`Signals`]) or by digests of its history ([`Chain`]); [`classify`] separates turns from
//! auxiliary requests, and [`judge_history`] compares the history with the recorded one. A request that fits is
//! forwarded unchanged. One that does not is cut once ([`decide_forward`]), and later requests reuse that cut, so
//! that the prompt only grows at its end.

mod append;
mod blocks;
mod canonical;
mod chain;
mod checkpoint;
mod compaction;
mod cut;
mod effort_rules;
pub mod hook_reply;
mod mask_item;
mod overflow;
mod own_tools;
mod recall_need;
mod recording;
mod repeated_tokens;
mod request;
mod request_class;
mod signals;
mod tool_use;
mod topics;
pub mod transcript;
mod trim;
mod verdict;

pub use crate::base::digest::Digest;
pub use crate::base::tenant::Tenant;
pub use crate::session::coverage::SummaryCoverage;
pub use crate::session::request_account::{
    HistoryHead, HistoryLink, HistoryVerdict, RequestAccount, RequestClass, RequestTotals, TokenUsage,
};
pub use crate::session::request_cost::{RequestCost, TokenPrices};
pub use append::{append_routed_message, enter_effort, item_messages};
pub use blocks::ContentBlocks;
pub use canonical::canonical_bytes;
pub use chain::Chain;
pub use checkpoint::render_checkpoint;
pub use compaction::{compact_history, compaction_budget};
pub use cut::{
    Bounds, Changes, CutInputs, CutPlan, ForwardDecision, HistoryCut, HistoryPart, JsonTokenCounter, Prices,
    RenderedHistory, decide_forward, recall_budget,
};
pub use effort_rules::{EffortRules, RuleAction};
pub use mask_item::mask_item;
pub use overflow::Overflow;
pub use own_tools::{HiddenToolTurns, is_steering_tool, offered_tools};
pub use recall_need::{RecallBudget, RecallNeed, query_text};
pub use recording::{EffortTracker, ItemRecording, LinkedItem, PreparedItem, Resumed, TurnAccount};
pub use repeated_tokens::RepeatedTokens;
pub use request::{
    ClientRequest, ContentBlock, Endpoint, HistoryItem, ProviderReply, Speaker, WireApi, items_to_first_message,
    items_to_first_reply,
};
pub use request_class::classify;
pub use signals::{Identity, IdentitySource, SessionName, Signals};
pub use topics::{TopicChange, TopicTracker, is_completion_claim};
pub use trim::{LongText, TRIM_TOKENS_MIN, TrimmedText, trim_results, trim_text};
pub use verdict::judge_history;

#[cfg(test)]
mod tests;
