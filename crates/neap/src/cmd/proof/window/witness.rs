//! A model that says what it was told to, and counts for itself everything it is sent.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use neap_core::message::{Message, Role};
use neap_core::tokens::TokenCounter;
use neap_core::turn::{ModelReply, ModelRequest};
use neap_model::{ChatModel, ModelError, OnText};
use serde_json::json;

/// Around each message, around each call, and to prime the reply: the provider's arithmetic, done anew here.
const PER_MESSAGE: u64 = 4;
const PER_CALL: u64 = 12;
const PER_REPLY: u64 = 3;

/// What the witness saw.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    /// Tokens of every request, tool schemas included.
    pub(super) sent: Vec<u64>,
    /// Requests over the budget.
    pub(super) over: u64,
    /// Requests in which a call is without its result, or a result without its call.
    pub(super) broken: u64,
}

impl Seen {
    pub(super) fn most(&self) -> u64 {
        self.sent.iter().copied().max().unwrap_or(0)
    }
}

/// The model.
pub(super) struct Witness {
    counter: Arc<dyn TokenCounter>,
    budget: u64,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    script: VecDeque<ModelReply>,
    seen: Seen,
    spent: Duration,
    /// Texts that were counted before: a prompt repeats most of them.
    counts: HashMap<Arc<str>, u64>,
    /// What the schemas cost; they are the same in every request.
    schemas: Option<u64>,
}

impl Witness {
    pub(super) fn new(counter: Arc<dyn TokenCounter>, budget: u64) -> Self {
        Self { counter, budget, inner: Mutex::default() }
    }

    /// What it will say next, one for each time it is asked.
    pub(super) fn will_say(&self, replies: impl IntoIterator<Item = ModelReply>) {
        self.lock().script.extend(replies);
    }

    /// Everything seen so far.
    pub(super) fn seen(&self) -> Seen {
        self.lock().seen.clone()
    }

    /// How often it was asked.
    pub(super) fn seen_calls(&self) -> usize {
        self.lock().seen.sent.len()
    }

    /// Time spent in here, which is not the engine's.
    pub(super) fn spent(&self) -> Duration {
        self.lock().spent
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self, inner: &mut Inner, request: &ModelRequest) {
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
        inner.seen.sent.push(tokens);
        inner.seen.over += u64::from(tokens > self.budget);
        inner.seen.broken += u64::from(!pairs_are_whole(&request.messages));
    }
}

/// Each call is followed by its result, each result follows its call.
fn pairs_are_whole(messages: &[Message]) -> bool {
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
impl ChatModel for Witness {
    fn name(&self) -> &str {
        "witness"
    }

    async fn reply(&self, request: &ModelRequest, on_text: OnText<'_>) -> Result<ModelReply, ModelError> {
        let began = Instant::now();
        let mut inner = self.lock();
        self.look(&mut inner, request);
        let mut reply = inner.script.pop_front().ok_or(ModelError::ScriptEnded)?;
        if !request.reply_may_call {
            // Calls would not be carried out: on to the words that end the turn.
            while !reply.calls.is_empty() {
                reply = inner.script.pop_front().ok_or(ModelError::ScriptEnded)?;
            }
        }
        on_text(&reply.text);
        inner.spent += began.elapsed();
        Ok(reply)
    }
}

#[cfg(test)]
mod tests {
    use neap_core::message::ToolCall;

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
            assert_eq!(pairs_are_whole(&messages), whole, "{messages:?}");
        }
    }

    #[tokio::test]
    async fn a_request_over_the_budget_is_seen() {
        let witness = Witness::new(neap_model::bpe::counter_for("o200k_base"), 10);
        for text in ["hi", "a text that is certainly longer than ten tokens, by any encoding that there is"] {
            witness.will_say([ModelReply { text: "yes".into(), calls: Vec::new(), is_cut: false }]);
            let (messages, tools) = (vec![Message::user(text)], Vec::new().into());
            let request = ModelRequest { messages, tools, reply_may_call: true, hold: false };
            witness.reply(&request, &mut |_| {}).await.unwrap();
        }
        let seen = witness.seen();
        assert_eq!((seen.sent.len(), seen.over, seen.broken), (2, 1, 0));
    }
}
