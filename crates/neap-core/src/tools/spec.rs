//! What a model is told about tools, and what telling it costs.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::call::Call;
use super::memory::MemoryCall;
use crate::memory::AgentHead;
use crate::prompt;
use crate::tokens::{TokenCounter, Tokens};

/// A tool as offered to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// What the model calls it.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// JSON schema of its arguments.
    pub parameters: Value,
}

impl ToolSpec {
    /// `summarize_text`, for hosts that offer it themselves.
    pub fn summarize_text() -> Self {
        serde_json::from_str(prompt::SUMMARIZE_TEXT).expect("prompts/summarize_text.json is tested to parse")
    }

    /// All that a host is offered that runs the model itself, in a fixed order: the tools for efforts, for memories, and those
    /// for hosts alone.
    pub fn for_hosts() -> Vec<Self> {
        let read =
            |text: &str| -> Vec<Self> { serde_json::from_str(text).expect("the prompts are tested to parse") };
        let mut all = read(prompt::TOOLS);
        all.extend(read(prompt::MEMORY_TOOLS));
        all.push(Self::summarize_text());
        all.extend(read(prompt::HOST_TOOLS));
        all
    }

    /// The tool as it stands in a request.
    fn wire(&self) -> Value {
        serde_json::json!({"type": "function", "function": self})
    }
}

/// All tools offered in a session, counted once.
#[derive(Debug, Clone)]
pub struct ToolSet {
    specs: Arc<[ToolSpec]>,
    tokens: Tokens,
    effort_tools: bool,
    memory_tools: bool,
}

impl ToolSet {
    /// The eight effort tools and those of the host.
    pub fn with_efforts(counter: &dyn TokenCounter, host: Vec<ToolSpec>) -> Self {
        let ours: Vec<ToolSpec> =
            serde_json::from_str(prompt::TOOLS).expect("prompts/tools.json is tested to parse");
        let host = host.into_iter().filter(|tool| !Call::is_ours(&tool.name));
        Self { effort_tools: true, ..Self::of(counter, ours.into_iter().chain(host).collect()) }
    }

    /// The effort tools, those of the memory tools that are of use to an agent that knows this much, and those of the
    /// host.
    pub fn with_memories(counter: &dyn TokenCounter, head: Option<&AgentHead>, host: Vec<ToolSpec>) -> Self {
        let efforts: Vec<ToolSpec> =
            serde_json::from_str(prompt::TOOLS).expect("prompts/tools.json is tested to parse");
        let memories: Vec<ToolSpec> =
            serde_json::from_str(prompt::MEMORY_TOOLS).expect("prompts/memory_tools.json is tested to parse");
        let memories = memories.into_iter().filter(|tool| MemoryCall::is_of_use(&tool.name, head));
        let host = host.into_iter().filter(|tool| !Call::is_ours(&tool.name));
        let all = efforts.into_iter().chain(memories).chain(host).collect();
        Self { effort_tools: true, memory_tools: true, ..Self::of(counter, all) }
    }

    /// The host's tools alone: efforts are not announced either.
    pub fn of_host(counter: &dyn TokenCounter, host: Vec<ToolSpec>) -> Self {
        Self::of(counter, host.into_iter().filter(|tool| !Call::is_ours(&tool.name)).collect())
    }

    /// No tool at all: efforts are not announced either (DESIGN, decision 10).
    pub fn none() -> Self {
        Self { specs: Arc::new([]), tokens: Tokens::ZERO, effort_tools: false, memory_tools: false }
    }

    fn of(counter: &dyn TokenCounter, specs: Vec<ToolSpec>) -> Self {
        let tokens = specs.iter().map(|tool| counter.count(&tool.wire().to_string())).sum();
        Self { specs: specs.into(), tokens, effort_tools: false, memory_tools: false }
    }

    /// The tools, in a fixed order.
    pub fn specs(&self) -> &Arc<[ToolSpec]> {
        &self.specs
    }

    /// What their schemas cost in every request.
    pub fn tokens(&self) -> Tokens {
        self.tokens
    }

    /// Whether the effort tools are among them.
    pub fn has_effort_tools(&self) -> bool {
        self.effort_tools
    }

    /// Whether memory tools are among them.
    pub fn has_memory_tools(&self) -> bool {
        self.memory_tools
    }

    /// Whether a tool of the host has this name.
    pub fn is_host_tool(&self, name: &str) -> bool {
        !Call::is_ours(name) && self.specs.iter().any(|tool| tool.name == name)
    }

    /// Names of all tools.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.specs.iter().map(|tool| tool.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::WordCounter;
    use crate::tools::HostCall;

    #[test]
    fn our_tools_are_offered_in_a_fixed_order() {
        let set = ToolSet::with_efforts(&WordCounter, Vec::new());
        let names: Vec<&str> = set.names().collect();
        assert_eq!(names, Call::TOOLS);
    }

    #[test]
    fn hosts_are_offered_everything_once() {
        let all = ToolSpec::for_hosts();
        let names: Vec<&str> = all.iter().map(|tool| tool.name.as_str()).collect();
        let ours = Call::TOOLS.into_iter().chain(MemoryCall::TOOLS);
        let want: Vec<&str> = ours.chain([Call::SUMMARIZE_TEXT, HostCall::RECORD, HostCall::CONTEXT]).collect();
        assert_eq!(names, want);
        assert!(all.iter().all(|tool| tool.parameters["type"] == "object"));
    }

    #[test]
    fn the_tool_for_hosts_is_known_and_not_offered() {
        let spec = ToolSpec::summarize_text();
        assert_eq!(spec.name, Call::SUMMARIZE_TEXT);
        assert!(!ToolSet::with_efforts(&WordCounter, Vec::new()).names().any(|name| name == spec.name));
    }
}
