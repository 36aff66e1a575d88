//! Scripted models for tests, proofs and replay.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use neap_core::base::message::ToolCall;
use neap_core::session::summary::SummaryRequest;
use neap_core::turn::{ModelReply, ModelRequest};

use crate::stream::stream_words;
use crate::{ChatModel, ModelError, OnText, Summarizer};

type Replies = Box<dyn FnMut(&ModelRequest) -> Result<ModelReply, ModelError> + Send>;
type Summaries = Box<dyn FnMut(&SummaryRequest) -> Result<String, ModelError> + Send>;

/// Keeps only the latest requests, so that a long script costs no more memory than a short one.
const REQUESTS_MAX: usize = 64;

enum ScriptSource<Line, Made> {
    Queue(VecDeque<Line>),
    Computed(Made),
}

struct Script<Line, Made, Request> {
    source: ScriptSource<Line, Made>,
    requests: VecDeque<Request>,
    calls_made: u64,
}

impl<Line, Made, Request: Clone> Script<Line, Made, Request> {
    fn record_request(&mut self, request: &Request) {
        if self.requests.len() == REQUESTS_MAX {
            self.requests.pop_front();
        }
        self.requests.push_back(request.clone());
    }
}

type ReplyScript = Script<Result<ModelReply, ModelError>, Replies, ModelRequest>;
type SummaryScript = Script<Result<String, ModelError>, Summaries, SummaryRequest>;

pub struct ScriptedModel {
    script: Mutex<ReplyScript>,
}

impl ScriptedModel {
    /// An empty script; fill it with [`push_turn`](Self::push_turn) or [`push`](Self::push).
    pub fn new() -> Self {
        Self::with_source(ScriptSource::Queue(VecDeque::new()))
    }

    pub fn from_replies(replies: impl IntoIterator<Item = ModelReply>) -> Self {
        Self::with_source(ScriptSource::Queue(replies.into_iter().map(Ok).collect()))
    }

    pub fn from_fn(reply: impl FnMut(&ModelRequest) -> Result<ModelReply, ModelError> + Send + 'static) -> Self {
        Self::with_source(ScriptSource::Computed(Box::new(reply)))
    }

    fn with_source(source: ScriptSource<Result<ModelReply, ModelError>, Replies>) -> Self {
        Self { script: Mutex::new(Script { source, requests: VecDeque::new(), calls_made: 0 }) }
    }

    /// Adds one reply with all tool calls, if any, then one with the text.
    pub fn push_turn<Name: Into<String>, Arguments: Into<String>>(
        &self,
        calls: Vec<(Name, Arguments)>,
        assistant: &str,
    ) {
        if !calls.is_empty() {
            let calls = calls.into_iter().map(|(name, arguments)| {
                let id = self.next_call_id();
                ToolCall { id, name: name.into(), arguments: arguments.into() }
            });
            self.push(ModelReply { text: String::new(), calls: calls.collect(), is_truncated: false });
        }
        self.push(ModelReply { text: assistant.to_owned(), calls: Vec::new(), is_truncated: false });
    }

    pub fn push(&self, reply: ModelReply) {
        self.push_result(Ok(reply));
    }

    pub fn push_error(&self, error: ModelError) {
        self.push_result(Err(error));
    }

    /// The latest requests, at most 64, oldest first.
    pub fn requests(&self) -> Vec<ModelRequest> {
        lock(&self.script).requests.iter().cloned().collect()
    }

    fn next_call_id(&self) -> String {
        let mut script = lock(&self.script);
        script.calls_made += 1;
        format!("call-{}", script.calls_made)
    }

    fn push_result(&self, result: Result<ModelReply, ModelError>) {
        match &mut lock(&self.script).source {
            ScriptSource::Queue(queue) => queue.push_back(result),
            ScriptSource::Computed(_) => panic!("a model that computes its replies has no queue"),
        }
    }

    fn next(&self, request: &ModelRequest) -> Result<ModelReply, ModelError> {
        let mut script = lock(&self.script);
        script.record_request(request);
        let queue = match &mut script.source {
            ScriptSource::Queue(queue) => queue,
            ScriptSource::Computed(make) => return make(request),
        };
        loop {
            let mut reply = queue.pop_front().ok_or(ModelError::ScriptEnded)??;
            if request.may_call_tools || reply.calls.is_empty() {
                return Ok(reply);
            }
            // Tool calls are not allowed here: skip to the text.
            if !reply.text.is_empty() {
                reply.calls.clear();
                return Ok(reply);
            }
        }
    }
}

impl Default for ScriptedModel {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted").finish_non_exhaustive()
    }
}

#[async_trait]
impl ChatModel for ScriptedModel {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn reply(&self, request: &ModelRequest, on_text: OnText<'_>) -> Result<ModelReply, ModelError> {
        let reply = self.next(request)?;
        stream_words(&reply.text, on_text).await;
        Ok(reply)
    }
}

pub struct ScriptedSummarizer {
    script: Mutex<SummaryScript>,
}

impl ScriptedSummarizer {
    pub fn from_fn(summarize: impl FnMut(&SummaryRequest) -> Result<String, ModelError> + Send + 'static) -> Self {
        Self::with_source(ScriptSource::Computed(Box::new(summarize)))
    }

    pub fn always(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::from_fn(move |_| Ok(text.clone()))
    }

    pub fn failing(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::from_fn(move |_| Err(ModelError::Refused(reason.clone())))
    }

    pub fn empty() -> Self {
        Self::always("")
    }

    /// About four times the requested length.
    pub fn over_long() -> Self {
        Self::from_fn(|request| {
            let words = usize::try_from(request.tokens_max.0.saturating_mul(4)).unwrap_or(usize::MAX).max(4);
            Ok(format!("{}too long.", "far ".repeat(words)))
        })
    }

    fn with_source(source: ScriptSource<Result<String, ModelError>, Summaries>) -> Self {
        Self { script: Mutex::new(Script { source, requests: VecDeque::new(), calls_made: 0 }) }
    }

    /// The latest requests, at most 64, oldest first.
    pub fn requests(&self) -> Vec<SummaryRequest> {
        lock(&self.script).requests.iter().cloned().collect()
    }
}

impl fmt::Debug for ScriptedSummarizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedSummarizer").finish_non_exhaustive()
    }
}

#[async_trait]
impl Summarizer for ScriptedSummarizer {
    async fn summarize(&self, request: &SummaryRequest) -> Result<String, ModelError> {
        let mut script = lock(&self.script);
        script.record_request(request);
        match &mut script.source {
            ScriptSource::Queue(queue) => queue.pop_front().unwrap_or(Err(ModelError::ScriptEnded)),
            ScriptSource::Computed(make) => make(request),
        }
    }
}

/// A script is consistent after every step, so a poisoned lock is safe to use.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use neap_core::base::message::Message;

    use super::*;

    fn request(reply_may_call: bool) -> ModelRequest {
        ModelRequest {
            messages: vec![Message::user("hi")],
            tools: Arc::new([]),
            may_call_tools: reply_may_call,
            offers_tools: reply_may_call,
            buffer_output: false,
        }
    }

    async fn ask(model: &ScriptedModel, reply_may_call: bool) -> Result<ModelReply, ModelError> {
        let mut streamed = String::new();
        let reply = model.reply(&request(reply_may_call), &mut |piece| streamed.push_str(piece)).await?;
        assert_eq!(streamed, reply.text, "what was heard is what was said");
        Ok(reply)
    }

    #[tokio::test]
    async fn a_turn_is_its_calls_and_then_its_words() {
        let model = ScriptedModel::new();
        model.push_turn(vec![("open_effort", r#"{"name":"a"}"#), ("effort_status", "{}")], "Two  words\nhere");
        let first = ask(&model, true).await.expect("calls");
        assert_eq!(first.text, "");
        let names: Vec<_> = first.calls.iter().map(|call| (call.id.as_str(), call.name.as_str())).collect();
        assert_eq!(names, [("call-1", "open_effort"), ("call-2", "effort_status")]);
        let second = ask(&model, true).await.expect("words");
        assert_eq!(second, ModelReply { text: "Two  words\nhere".into(), calls: Vec::new(), is_truncated: false });
        assert_eq!(ask(&model, true).await, Err(ModelError::ScriptEnded));
        assert_eq!(model.requests().len(), 3);
    }

    #[tokio::test]
    async fn where_no_call_is_carried_out_it_answers_in_words() {
        let model = ScriptedModel::new();
        model.push_turn(vec![("open_effort", "{}")], "done");
        assert_eq!(ask(&model, false).await.expect("words").text, "done");
        let both = ModelReply {
            text: "both".into(),
            calls: vec![ToolCall { id: "c".into(), name: "n".into(), arguments: String::new() }],
            is_truncated: false,
        };
        model.push(both);
        let reply = ask(&model, false).await.expect("words");
        assert_eq!((reply.text.as_str(), reply.calls.len()), ("both", 0));
    }

    #[tokio::test]
    async fn a_failure_is_a_line_like_any_other() {
        let model = ScriptedModel::from_replies([ModelReply {
            text: "one".into(),
            calls: Vec::new(),
            is_truncated: false,
        }]);
        model.push_error(ModelError::Refused("busy".into()));
        assert_eq!(ask(&model, true).await.expect("words").text, "one");
        assert_eq!(ask(&model, true).await, Err(ModelError::Refused("busy".into())));
    }
}
