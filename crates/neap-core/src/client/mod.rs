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
mod cut_plan;
mod cut_points;
mod forward;
pub mod hook_reply;
mod mask_item;
mod overflow;
mod own_tools;
mod prices;
mod recall_need;
mod recording;
mod request;
mod request_class;
mod shorten;
mod shrink;
mod signals;
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
pub use crate::session::request_cost::{PromptSize, RequestCost, TokenPrices};
pub use append::{append_routed_message, enter_effort, item_messages};
pub use blocks::ContentBlocks;
pub use canonical::canonical_bytes;
pub use chain::Chain;
pub use checkpoint::render_checkpoint;
pub use compaction::{compact_history, compaction_budget};
pub use cut::HistoryCut;
pub use cut_plan::{Changes, CutInputs, CutPlan, HistoryPart, JsonTokenCounter, RenderedHistory};
pub use forward::{Bounds, ForwardDecision, decide_forward};
pub use mask_item::mask_item;
pub use overflow::Overflow;
pub use own_tools::{HiddenToolTurns, is_steering_tool, offered_tools};
pub use prices::Prices;
pub use recall_need::RecallNeed;
pub use recording::{EffortTracker, ItemRecording, LinkedItem, PreparedItem, Resumed, TurnAccount};
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
