//! Neap's own tools behind the proxy: the client's model calls them, and the client never sees it. The real
//! conversation, with these calls and results, is kept as [`HiddenToolTurns`] and replaces the reply that the
//! client received when it sends that back.

use std::ops::Range;

use super::chain::Chain;
use super::request::{ClientRequest, HistoryItem, Speaker, WireApi};
use crate::base::digest::Digest;
use crate::context::tools::ToolSpec;

/// A client's model fetches text: tools that expand a log act only on our own contexts.
const OFFERED_TOOLS: [&str; 9] = [
    "open_effort", "close_effort", "effort_status", "switch_effort", "search_efforts", "reopen_effort",
    "fetch_original", "remember", "recall",
];
/// With these a model manages its efforts itself.
const STEERING_TOOLS: [&str; 4] = ["open_effort", "close_effort", "switch_effort", "reopen_effort"];

/// Always the same list, so that the prompt prefix stays the same.
pub fn offered_tools() -> Vec<ToolSpec> {
    let all = ToolSpec::own();
    OFFERED_TOOLS.iter().filter_map(|name| all.iter().find(|tool| tool.name == *name)).cloned().collect()
}

/// Whether a call shows that the model manages its efforts itself: then no rule guesses them.
pub fn is_steering_tool(name: &str) -> bool {
    STEERING_TOOLS.contains(&name)
}

/// The real conversation behind a reply; the client received `text` and `calls` (ids).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenToolTurns {
    pub request_digest: Digest,
    pub text: String,
    pub calls: Vec<String>,
    /// The real items, as JSON in the wire format.
    pub items: Vec<String>,
    /// Results of our own calls in the last item: they are sent with the client's results.
    pub held_results: Vec<String>,
}

impl HiddenToolTurns {
    /// The items of a history that it replaces; none if they are missing or differ.
    pub fn find_range(&self, request: &ClientRequest, chain: &Chain) -> Option<Range<usize>> {
        let after = (0..=request.items.len()).find(|items| chain.prefix_digest(*items) == self.request_digest)?;
        let start = request.items[after..].iter().position(|item| item.speaker != Speaker::System)? + after;
        let is_reply = |item: &&HistoryItem| item.speaker == Speaker::Assistant;
        let len = request.items[start..].iter().take_while(is_reply).count();
        let len = match request.api {
            WireApi::Chat | WireApi::Messages => len.min(1),
            WireApi::Responses => len,
        };
        let items = &request.items[start..start + len];
        let text: String = items.iter().map(HistoryItem::text).collect();
        let calls = items.iter().flat_map(HistoryItem::calls).map(|call| &call.id);
        let is_same = strip_whitespace(&text) == strip_whitespace(&self.text) && calls.eq(self.calls.iter());
        (len > 0 && is_same).then_some(start..start + len)
    }

    pub fn bytes(&self) -> usize {
        let Self { request_digest: _, text, calls, items, held_results } = self;
        let total = |texts: &[String]| texts.iter().map(String::len).sum::<usize>();
        text.len() + total(calls) + total(items) + total(held_results)
    }
}

/// Clients split and join texts as they like.
fn strip_whitespace(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}
