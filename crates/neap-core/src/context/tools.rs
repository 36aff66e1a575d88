//! The tools that a context offers its model, and what they cost.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::prompt;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::memory::{AgentHead, MemoryKind};

/// Tools for efforts, and for originals.
pub const EFFORT_TOOLS: [&str; 9] = [
    "open_effort", "close_effort", "effort_status", "expand_effort", "collapse_effort", "switch_effort",
    "search_efforts", "reopen_effort", "fetch_original",
];

pub const MEMORY_TOOLS: [&str; 8] = [
    "remember", "recall", "expand_detail", "record_decision", "review_decision", "confirm_fact", "forget",
    "memory_status",
];

pub fn is_own_tool(name: &str) -> bool {
    EFFORT_TOOLS.contains(&name) || MEMORY_TOOLS.contains(&name)
}

/// What an agent knows, as far as the tools that it is offered depend on that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentKnowledge {
    anything: bool,
    facts: bool,
    /// Decisions that wait for a review.
    pending: bool,
}

impl AgentKnowledge {
    /// Every agent knows one of these.
    pub(crate) const ALL: [Self; 5] = {
        const fn known(anything: bool, facts: bool, pending: bool) -> AgentKnowledge {
            AgentKnowledge { anything, facts, pending }
        }
        [
            known(false, false, false),
            known(true, false, false),
            known(true, true, false),
            known(true, false, true),
            known(true, true, true),
        ]
    };

    pub(crate) fn of(head: &AgentHead) -> Self {
        let knows = |kind: MemoryKind| head.kind_count(kind).current > 0;
        Self {
            anything: MemoryKind::ALL.into_iter().any(knows),
            facts: knows(MemoryKind::Fact),
            pending: !head.pending.is_empty(),
        }
    }

    /// Whether a memory tool is worth its schema.
    fn needs(self, name: &str) -> bool {
        match name {
            "remember" | "record_decision" => true,
            "review_decision" => self.pending,
            "confirm_fact" => self.facts,
            _ => self.anything,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// A JSON schema.
    pub parameters: Value,
}

impl ToolSpec {
    /// `summarize_text`, for hosts that offer it themselves.
    pub fn summarize_text() -> Self {
        serde_json::from_str(prompt::SUMMARIZE_TEXT).expect("prompts/summarize_text.json is tested to parse")
    }

    /// All tools for a host that runs the model itself, in a fixed order: efforts, memories, hosts.
    pub fn for_hosts() -> Vec<Self> {
        let mut all = Self::own();
        all.push(Self::summarize_text());
        all.extend(Self::read(prompt::HOST_TOOLS));
        all
    }

    /// Those for efforts, then those for memories.
    pub(crate) fn own() -> Vec<Self> {
        [Self::read(prompt::TOOLS), Self::read(prompt::MEMORY_TOOLS)].concat()
    }

    fn read(text: &str) -> Vec<Self> {
        serde_json::from_str(text).expect("the prompts are tested to parse")
    }

    /// The tool as a request contains it.
    fn to_wire(&self) -> Value {
        serde_json::json!({"type": "function", "function": self})
    }
}

/// The tools of a session, counted once.
#[derive(Debug, Clone)]
pub struct ToolSet {
    specs: Arc<[ToolSpec]>,
    tokens: Tokens,
    effort_tools: bool,
    memory_tools: bool,
    is_small: bool,
}

impl ToolSet {
    /// The effort tools and the host's.
    pub fn with_efforts(counter: &dyn TokenCounter, host: Vec<ToolSpec>) -> Self {
        Self::full(counter, None, host)
    }

    /// The effort tools, the memory tools that are useful to an agent that knows this, if there is one, and the host's.
    pub fn full(counter: &dyn TokenCounter, known: Option<AgentKnowledge>, host: Vec<ToolSpec>) -> Self {
        Self::with_own(counter, ToolSpec::own(), known, host)
    }

    /// The most useful of them and the host's, in few words, for a budget of which the rest would take too much.
    pub fn small(counter: &dyn TokenCounter, known: Option<AgentKnowledge>, host: Vec<ToolSpec>) -> Self {
        let own = ToolSpec::read(prompt::SMALL_TOOLS);
        Self { is_small: true, ..Self::with_own(counter, own, known, host) }
    }

    fn with_own(
        counter: &dyn TokenCounter,
        mut own: Vec<ToolSpec>,
        known: Option<AgentKnowledge>,
        host: Vec<ToolSpec>,
    ) -> Self {
        own.retain(|ToolSpec { name, .. }| {
            EFFORT_TOOLS.contains(&name.as_str()) || known.is_some_and(|known| known.needs(name))
        });
        Self { effort_tools: true, memory_tools: known.is_some(), ..Self::of(counter, own, host) }
    }

    /// The host's tools alone; the prompt does not mention efforts.
    pub fn host_only(counter: &dyn TokenCounter, host: Vec<ToolSpec>) -> Self {
        Self::of(counter, Vec::new(), host)
    }

    /// No tools; the prompt does not mention efforts.
    pub fn none() -> Self {
        Self::of_specs(Vec::new(), Tokens::ZERO)
    }

    fn of(counter: &dyn TokenCounter, own: Vec<ToolSpec>, host: Vec<ToolSpec>) -> Self {
        let host = host.into_iter().filter(|tool| !is_own_tool(&tool.name));
        let specs: Vec<ToolSpec> = own.into_iter().chain(host).collect();
        let tokens = specs.iter().map(|tool| counter.count(&tool.to_wire().to_string())).sum();
        Self::of_specs(specs, tokens)
    }

    fn of_specs(specs: Vec<ToolSpec>, tokens: Tokens) -> Self {
        Self { specs: specs.into(), tokens, effort_tools: false, memory_tools: false, is_small: false }
    }

    /// In a fixed order.
    pub fn specs(&self) -> &Arc<[ToolSpec]> {
        &self.specs
    }

    /// The cost of their schemas in every request.
    pub fn tokens(&self) -> Tokens {
        self.tokens
    }

    pub fn has_effort_tools(&self) -> bool {
        self.effort_tools
    }

    pub fn has_memory_tools(&self) -> bool {
        self.memory_tools
    }

    /// Whether they, and the rules that go with them, are the short ones.
    pub fn is_small(&self) -> bool {
        self.is_small
    }

    pub fn is_host_tool(&self, name: &str) -> bool {
        !is_own_tool(name) && self.specs.iter().any(|tool| tool.name == name)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.specs.iter().map(|tool| tool.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::policy::Policy;
    use crate::base::testing::WordCounter;
    use crate::context::session_tools;
    use crate::turn::tools::{HostCall, OwnToolCall};

    #[test]
    fn our_tools_are_offered_in_a_fixed_order() {
        let set = ToolSet::with_efforts(&WordCounter, Vec::new());
        let names: Vec<&str> = set.names().collect();
        assert_eq!(names, EFFORT_TOOLS);
    }

    #[test]
    fn the_small_ones_are_some_of_the_full_ones() {
        let knowing = AgentHead::default();
        let [small, full] = [ToolSet::small, ToolSet::full]
            .map(|of| of(&WordCounter, Some(AgentKnowledge::of(&knowing)), Vec::new()));
        let names: Vec<&str> = full.names().collect();
        assert!(small.names().all(|name| names.contains(&name)) && small.has_memory_tools() && small.is_small());
        let efforts = ToolSet::small(&WordCounter, None, Vec::new());
        assert!(efforts.names().all(|name| EFFORT_TOOLS.contains(&name)) && !efforts.has_memory_tools());
    }

    /// A host with many tools does not lose ours for it.
    #[test]
    fn only_our_own_text_decides_which_are_offered() {
        let host = |count: usize| -> Vec<ToolSpec> {
            let tool = ToolSpec { description: "word ".repeat(50), ..ToolSpec::summarize_text() };
            (0..count).map(|nth| ToolSpec { name: format!("host_{nth}"), ..tool.clone() }).collect()
        };
        let policy = |budget| Policy { context_tokens_max: budget, ..Policy::default() };
        let offered = |budget, count| session_tools(&policy(budget), None, &host(count), &WordCounter);
        for count in [0, 40] {
            assert!(!offered(16_000, count).is_small(), "{count}");
            assert!(offered(1_000, count).is_small(), "{count}");
        }
    }

    #[test]
    fn hosts_are_offered_everything_once() {
        let all = ToolSpec::for_hosts();
        let names: Vec<&str> = all.iter().map(|tool| tool.name.as_str()).collect();
        let own = EFFORT_TOOLS.into_iter().chain(MEMORY_TOOLS);
        let want: Vec<&str> =
            own.chain([OwnToolCall::SUMMARIZE_TEXT, HostCall::RECORD, HostCall::CONTEXT]).collect();
        assert_eq!(names, want);
        assert!(all.iter().all(|tool| tool.parameters["type"] == "object"));
    }

    #[test]
    fn the_tool_for_hosts_is_known_and_not_offered() {
        let spec = ToolSpec::summarize_text();
        assert_eq!(spec.name, OwnToolCall::SUMMARIZE_TEXT);
        assert!(!ToolSet::with_efforts(&WordCounter, Vec::new()).names().any(|name| name == spec.name));
    }
}
