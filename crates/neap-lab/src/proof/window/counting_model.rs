//! A scripted model that counts the tokens of every request itself.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use neap_core::base::message::{Message, Role};
use neap_core::base::tokens::TokenCounter;
use neap_core::turn::{ModelReply, ModelRequest};
use neap_model::{ChatModel, ModelError, OnText};
use serde_json::json;

/// Overhead per message, call and reply: the provider's arithmetic, implemented independently of the engine.
const PER_MESSAGE: u64 = 4;
const PER_CALL: u64 = 12;
const PER_REPLY: u64 = 3;

#[derive(Debug, Clone, Default)]
pub(super) struct RequestStats {
    /// Tokens of each request, tool schemas included.
    pub(super) sent: Vec<u64>,
    pub(super) budget: u64,
    /// Requests with a call without its result, or the reverse.
    pub(super) broken_pairs: u64,
}

impl RequestStats {
    pub(super) fn max_tokens(&self) -> u64 {
        self.sent.iter().copied().max().unwrap_or(0)
    }

    pub(super) fn over_budget(&self) -> u64 {
        self.sent.iter().filter(|tokens| **tokens > self.budget).count() as u64
    }
}

pub(super) struct CountingModel {
    counter: Arc<dyn TokenCounter>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    script: VecDeque<ModelReply>,
    stats: RequestStats,
    spent: Duration,
    /// Cache: prompts repeat most texts.
    counts: HashMap<Arc<str>, u64>,
    schemas: Option<u64>,
}

impl CountingModel {
    pub(super) fn new(counter: Arc<dyn TokenCounter>, budget: u64) -> Self {
        let stats = RequestStats { budget, ..RequestStats::default() };
        Self { counter, inner: Mutex::new(Inner { stats, ..Inner::default() }) }
    }

    /// One reply per request.
    pub(super) fn queue_replies(&self, replies: impl IntoIterator<Item = ModelReply>) {
        self.lock().script.extend(replies);
    }

    pub(super) fn stats(&self) -> RequestStats {
        self.lock().stats.clone()
    }

    pub(super) fn call_count(&self) -> usize {
        self.lock().stats.sent.len()
    }

    /// Time spent in this model, to be subtracted from the engine's.
    pub(super) fn time_spent(&self) -> Duration {
        self.lock().spent
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count_request(&self, inner: &mut Inner, request: &ModelRequest) {
        let schemas = *inner.schemas.get_or_insert_with(|| {
            let wire = request.tools.iter().map(|tool| json!({"type": "function", "function": tool}).to_string());
            wire.map(|text| self.counter.count(&text).0).sum()
        });
        let mut tokens = PER_REPLY + schemas;
        for message in &request.messages {
            let content = inner.counts.get(&message.content).copied();
            let content = content.unwrap_or_else(|| {
                let count = self.counter.count(&message.content).0;
                inner.counts.insert(message.content.clone(), count);
                count
            });
            let count = |text: &str| self.counter.count(text).0;
            let calls = message.tool_calls.iter();
            let calls = calls.map(|call| PER_CALL + count(&call.id) + count(&call.name) + count(&call.arguments));
            tokens += PER_MESSAGE + content + calls.sum::<u64>();
            tokens += message.tool_call_id.as_deref().map_or(0, count);
        }
        inner.stats.sent.push(tokens);
        inner.stats.broken_pairs += u64::from(!has_whole_pairs(&request.messages));
    }
}

/// Each call is followed by its result, and each result follows its call.
fn has_whole_pairs(messages: &[Message]) -> bool {
    let mut awaited: VecDeque<&str> = VecDeque::new();
    for message in messages {
        if message.role == Role::Tool {
            if awaited.pop_front() != message.tool_call_id.as_deref() {
                return false;
            }
            continue;
        }
        if !awaited.is_empty() {
            return false;
        }
        awaited = message.tool_calls.iter().map(|call| call.id.as_str()).collect();
    }
    awaited.is_empty()
}

#[async_trait]
impl ChatModel for CountingModel {
    fn name(&self) -> &str {
        "witness"
    }

    async fn reply(&self, request: &ModelRequest, on_text: OnText<'_>) -> Result<ModelReply, ModelError> {
        let began = Instant::now();
        let mut inner = self.lock();
        self.count_request(&mut inner, request);
        let mut reply = inner.script.pop_front().ok_or(ModelError::ScriptEnded)?;
        // Where calls would not be executed, skip to the text that ends the turn.
        while !request.may_call_tools && !reply.calls.is_empty() {
            reply = inner.script.pop_front().ok_or(ModelError::ScriptEnded)?;
        }
        on_text(&reply.text);
        inner.spent += began.elapsed();
        Ok(reply)
    }
}

#[cfg(test)]
mod tests {
    use neap_core::base::message::ToolCall;

    use super::*;

    #[test]
    fn a_call_without_its_result_is_seen() {
        let call = ToolCall { id: "c1".into(), name: "read".into(), arguments: "{}".into() };
        let calls = Message { tool_calls: vec![call], ..Message::assistant("") };
        let result = Message::tool("c1", "text");
        let rows: [(Vec<Message>, bool); 5] = [
            (vec![Message::user("hi"), calls.clone(), result.clone(), Message::assistant("done")], true),
            (vec![Message::user("hi"), calls.clone(), Message::assistant("done")], false),
            (vec![Message::user("hi"), calls.clone()], false),
            (vec![Message::user("hi"), result.clone()], false),
            (vec![calls, Message::tool("c2", "text")], false),
        ];
        for (messages, whole) in rows {
            assert_eq!(has_whole_pairs(&messages), whole, "{messages:?}");
        }
    }

    #[tokio::test]
    async fn a_request_over_the_budget_is_seen() {
        let witness = CountingModel::new(neap_model::bpe::counter_for("o200k_base"), 10);
        for text in ["hi", "a text that is certainly longer than ten tokens, by any encoding that there is"] {
            witness.queue_replies([ModelReply { text: "yes".into(), calls: Vec::new(), is_truncated: false }]);
            let (messages, tools) = (vec![Message::user(text)], Vec::new().into());
            let request =
                ModelRequest { messages, tools, may_call_tools: true, offers_tools: true, buffer_output: false };
            witness.reply(&request, &mut |_| {}).await.unwrap();
        }
        let seen = witness.stats();
        assert_eq!((seen.sent.len(), seen.over_budget(), seen.broken_pairs), (2, 1, 0));
    }
}
