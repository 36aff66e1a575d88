//! Tools of ours behind a proxy: the client's model calls them, and the client knows nothing of it.
//!
//! What was really said, with calls and what they answered, is kept as a [`Shadow`] of what the client was given, and put
//! in its place when the client sends that back.

use std::ops::Range;

use super::chain::{Chain, Digest};
use super::heard::{Api, Heard, Item, Speaker};
use crate::prompt;
use crate::tools::ToolSpec;

/// The tools that are offered, in this order. What expands a log in a context of ours does nothing for a client's: there
/// the words are fetched.
const OFFERED: [&str; 9] = [
    "open_effort",
    "close_effort",
    "effort_status",
    "switch_effort",
    "search_efforts",
    "reopen_effort",
    "fetch_original",
    "remember",
    "recall",
];
/// Those by which a model takes its efforts into its own hands.
const STEERING: [&str; 4] = ["open_effort", "close_effort", "switch_effort", "reopen_effort"];

/// The tools that are offered to a client's model: always the same, so that what is sent begins the same.
pub fn offered_tools() -> Vec<ToolSpec> {
    let read = |text: &str| -> Vec<ToolSpec> { serde_json::from_str(text).expect("prompts are tested to parse") };
    let all = [read(prompt::TOOLS), read(prompt::MEMORY_TOOLS)].concat();
    OFFERED.iter().filter_map(|name| all.iter().find(|tool| tool.name == *name)).cloned().collect()
}

/// Whether a model that calls this steers its efforts itself: then no rule guesses them.
pub fn steers_efforts(name: &str) -> bool {
    STEERING.contains(&name)
}

/// What was really said in the place of an answer that a client was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shadow {
    /// The end of what was asked.
    pub asked: Digest,
    /// The words that the client was given.
    pub text: String,
    /// The calls that it was given, by their ids.
    pub calls: Vec<String>,
    /// What was said, as it goes to the model: items of the wire format.
    pub items: Vec<String>,
    /// What answers calls of ours in the last of them: it goes with what the client answers.
    pub held: Vec<String>,
}

impl Shadow {
    /// Which items of a history it stands for; none if they are not there, or say something else.
    pub fn place(&self, heard: &Heard, chain: &Chain) -> Option<Range<usize>> {
        let after = (0..=heard.items.len()).find(|items| chain.upto(*items) == self.asked)?;
        let start = heard.items[after..].iter().position(|item| item.speaker != Speaker::System)? + after;
        let is_said = |item: &&Item| item.speaker == Speaker::Assistant;
        let said = heard.items[start..].iter().take_while(is_said).count();
        let said = match heard.api {
            Api::Chat | Api::Messages => said.min(1),
            Api::Responses => said,
        };
        let items = &heard.items[start..start + said];
        let text: String = items.iter().map(Item::text).collect();
        let calls = items.iter().flat_map(Item::calls).map(|call| &call.id);
        let is_same = squeezed(&text) == squeezed(&self.text) && calls.eq(self.calls.iter());
        (said > 0 && is_same).then_some(start..start + said)
    }

    /// What it takes to keep.
    pub fn bytes(&self) -> usize {
        let Self { asked: _, text, calls, items, held } = self;
        let of = |texts: &[String]| texts.iter().map(String::len).sum::<usize>();
        text.len() + of(calls) + of(items) + of(held)
    }
}

/// Clients part and join texts as they like.
fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}
