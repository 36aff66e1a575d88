//! What must hold of every request, counted and compared without the help of what made it.

use neap_core::base::message::{Message, Role};
use neap_core::base::testing::WordCounter;
use neap_core::base::tokens::TokenCounter;
use neap_core::context::tools::ToolSet;
use neap_core::session::event::{Event, RecordedEvent, WindowEvent};
use neap_core::session::state::SessionState;
use neap_core::turn::ModelRequest;

#[derive(Default)]
pub(crate) struct Checks {
    /// The last request, and how many prompts had been written anew by then.
    last: Option<(Vec<Message>, u64)>,
    pub(crate) requests: u64,
    pub(crate) grown: u64,
    pub(crate) compactions: u64,
    pub(crate) merges: u64,
    pub(crate) cuts: u64,
    /// Replies that were shown in part.
    pub(crate) cut_replies: u64,
}

impl Checks {
    pub(crate) fn request(&mut self, request: &ModelRequest, state: &SessionState, tools: &ToolSet) {
        self.requests += 1;
        let budget = state.policy().context_tokens_max;
        let tokens = count(request, tools);
        assert!(tokens <= budget, "I1: {tokens} tokens sent, {budget} allowed");
        pairs(&request.messages);
        for said in request.messages.iter().filter(|message| message.role == Role::Assistant) {
            let remarks = ["left out", "§[", "[interrupted]", "[broken off"];
            let has = remarks.iter().find(|remark| said.content.contains(**remark));
            assert!(has.is_none(), "{has:?} is in what the model said: {}", said.content);
        }
        let in_part = |message: &Message| message.content.starts_with("§[Shown in part above: ");
        self.cut_replies += u64::from(request.messages.iter().any(in_part));
        self.cuts += u64::from(request.messages.iter().any(|m| m.content.contains("left out here")));
        self.prefix(request, state);
    }

    /// Within an epoch, what was sent before is the beginning of what is sent now.
    fn prefix(&mut self, request: &ModelRequest, state: &SessionState) {
        let epochs = state.metrics().epochs;
        if let Some((last, before)) = self.last.take()
            && before == epochs
            && state.policy().epoch_turns_max > 1
        {
            assert!(request.messages.starts_with(&last), "a prompt was rewritten within its epoch");
            self.grown += 1;
        }
        self.last = Some((request.messages.clone(), epochs));
    }

    /// Another process begins, or goes on: what was sent is not known any more.
    pub(crate) fn forget(&mut self) {
        self.last = None;
    }

    pub(crate) fn events(&mut self, events: &[RecordedEvent]) {
        for recorded in events {
            if let Event::Window(WindowEvent::SpanCompacted { span, .. }) = &recorded.event {
                self.compactions += 1;
                self.merges += u64::from(span.depth > 0);
                assert!(span.tokens < span.size.tokens, "a summary is larger than what it stands for");
                assert!(!span.text.is_empty() && !span.text.contains('\n'), "I12: {:?}", span.text);
            }
        }
    }
}

/// What a request costs: each message, each call, each schema, and what primes the reply.
fn count(request: &ModelRequest, tools: &ToolSet) -> u64 {
    let of = |text: &str| WordCounter.count(text).0;
    let message = |m: &Message| {
        let calls = m.tool_calls.iter().map(|c| 12 + of(&c.id) + of(&c.name) + of(&c.arguments)).sum::<u64>();
        4 + of(&m.content) + calls + m.tool_call_id.as_deref().map_or(0, of)
    };
    let schema = |tool| of(&serde_json::json!({"type": "function", "function": tool}).to_string());
    3 + request.messages.iter().map(message).sum::<u64>() + tools.specs().iter().map(schema).sum::<u64>()
}

/// I7: every call is answered by its own result, at once and in order; no result stands alone.
fn pairs(messages: &[Message]) {
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        if message.role == Role::Tool {
            let id = message.tool_call_id.as_deref().expect("a result names its call");
            assert_eq!(Some(id), open.first().copied(), "I7: a result without its call");
            open.remove(0);
        } else {
            assert!(open.is_empty(), "I7: a call without its result");
            open = message.tool_calls.iter().map(|call| call.id.as_str()).collect();
        }
    }
    assert!(open.is_empty(), "I7: a call without its result");
    assert!(messages.first().is_some_and(|m| m.role == Role::System), "the system message comes first");
    assert!(messages.iter().skip(1).all(|m| m.role != Role::System), "and only there");
}
