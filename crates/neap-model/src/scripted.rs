//! Models that say what they were told to: for tests, proofs and replay.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use neap_core::message::ToolCall;
use neap_core::summary::SummaryRequest;
use neap_core::turn::{ModelReply, ModelRequest};

use crate::stream::say;
use crate::{ChatModel, ModelError, OnText, Summarizer};

type Replies = Box<dyn FnMut(&ModelRequest) -> Result<ModelReply, ModelError> + Send>;
type Summaries = Box<dyn FnMut(&SummaryRequest) -> Result<String, ModelError> + Send>;

/// Requests that are remembered: the latest ones, so that a long script costs no more than a short one.
const SEEN_MAX: usize = 64;

/// Where the next line comes from.
enum Source<Line, Made> {
    Queue(VecDeque<Line>),
    Made(Made),
}

struct Script<Line, Made, Request> {
    source: Source<Line, Made>,
    seen: VecDeque<Request>,
    calls_made: u64,
}

impl<Line, Made, Request: Clone> Script<Line, Made, Request> {
    fn see(&mut self, request: &Request) {
        if self.seen.len() == SEEN_MAX {
            self.seen.pop_front();
        }
        self.seen.push_back(request.clone());
    }
}

type ReplyScript = Script<Result<ModelReply, ModelError>, Replies, ModelRequest>;
type SummaryScript = Script<Result<String, ModelError>, Summaries, SummaryRequest>;

/// A chat model that answers from a script and remembers what it was asked.
pub struct Scripted {
    script: Mutex<ReplyScript>,
}

impl Scripted {
    /// An empty script; fill it with [`push_turn`](Self::push_turn) or [`push`](Self::push).
    pub fn new() -> Self {
        Self::of(Source::Queue(VecDeque::new()))
    }

    /// A script of whole replies, one for each call of the model.
    pub fn from_replies(replies: impl IntoIterator<Item = ModelReply>) -> Self {
        Self::of(Source::Queue(replies.into_iter().map(Ok).collect()))
    }

    /// A model that computes its replies.
    pub fn from_fn(reply: impl FnMut(&ModelRequest) -> Result<ModelReply, ModelError> + Send + 'static) -> Self {
        Self::of(Source::Made(Box::new(reply)))
    }

    fn of(source: Source<Result<ModelReply, ModelError>, Replies>) -> Self {
        Self { script: Mutex::new(Script { source, seen: VecDeque::new(), calls_made: 0 }) }
    }

    /// Adds a turn: all calls in one reply, if there are any, then the words.
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
            self.push(ModelReply { text: String::new(), calls: calls.collect(), is_cut: false });
        }
        self.push(ModelReply { text: assistant.to_owned(), calls: Vec::new(), is_cut: false });
    }

    /// Adds one reply.
    pub fn push(&self, reply: ModelReply) {
        self.push_result(Ok(reply));
    }

    /// Adds a failure.
    pub fn push_error(&self, error: ModelError) {
        self.push_result(Err(error));
    }

    /// The latest requests, at most 64, oldest first.
    pub fn requests(&self) -> Vec<ModelRequest> {
        lock(&self.script).seen.iter().cloned().collect()
    }

    fn next_call_id(&self) -> String {
        let mut script = lock(&self.script);
        script.calls_made += 1;
        format!("call-{}", script.calls_made)
    }

    fn push_result(&self, line: Result<ModelReply, ModelError>) {
        match &mut lock(&self.script).source {
            Source::Queue(queue) => queue.push_back(line),
            Source::Made(_) => panic!("a model that computes its replies has no queue"),
        }
    }

    fn next(&self, request: &ModelRequest) -> Result<ModelReply, ModelError> {
        let mut script = lock(&self.script);
        script.see(request);
        let queue = match &mut script.source {
            Source::Queue(queue) => queue,
            Source::Made(make) => return make(request),
        };
        loop {
            let mut reply = queue.pop_front().ok_or(ModelError::ScriptEnded)??;
            if request.reply_may_call || reply.calls.is_empty() {
                return Ok(reply);
            }
            // Calls would not be carried out: go on to the words.
            if !reply.text.is_empty() {
                reply.calls.clear();
                return Ok(reply);
            }
        }
    }
}

impl Default for Scripted {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted").finish_non_exhaustive()
    }
}

#[async_trait]
impl ChatModel for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn reply(&self, request: &ModelRequest, on_text: OnText<'_>) -> Result<ModelReply, ModelError> {
        let reply = self.next(request)?;
        say(&reply.text, on_text).await;
        Ok(reply)
    }
}

/// A summariser that gives what it was told to, faults included.
pub struct ScriptedSummarizer {
    script: Mutex<SummaryScript>,
}

impl ScriptedSummarizer {
    /// A script of answers, one for each summary asked for.
    pub fn from_results(results: impl IntoIterator<Item = Result<String, ModelError>>) -> Self {
        Self::of(Source::Queue(results.into_iter().collect()))
    }

    /// A summariser that computes its answers.
    pub fn from_fn(summarize: impl FnMut(&SummaryRequest) -> Result<String, ModelError> + Send + 'static) -> Self {
        Self::of(Source::Made(Box::new(summarize)))
    }

    /// Always the same text.
    pub fn always(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::from_fn(move |_| Ok(text.clone()))
    }

    /// Always an error.
    pub fn failing(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::from_fn(move |_| Err(ModelError::Refused(reason.clone())))
    }

    /// Always nothing.
    pub fn empty() -> Self {
        Self::always("")
    }

    /// Always about four times as long as asked for.
    pub fn over_long() -> Self {
        Self::from_fn(|request| {
            let words = usize::try_from(request.tokens_max.0.saturating_mul(4)).unwrap_or(usize::MAX).max(4);
            Ok(format!("{}too long.", "far ".repeat(words)))
        })
    }

    fn of(source: Source<Result<String, ModelError>, Summaries>) -> Self {
        Self { script: Mutex::new(Script { source, seen: VecDeque::new(), calls_made: 0 }) }
    }

    /// The latest requests, at most 64, oldest first.
    pub fn requests(&self) -> Vec<SummaryRequest> {
        lock(&self.script).seen.iter().cloned().collect()
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
        script.see(request);
        match &mut script.source {
            Source::Queue(queue) => queue.pop_front().unwrap_or(Err(ModelError::ScriptEnded)),
            Source::Made(make) => make(request),
        }
    }
}

/// A script is whole after every step, so a panic elsewhere does not spoil it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use neap_core::message::Message;

    use super::*;

    fn request(reply_may_call: bool) -> ModelRequest {
        ModelRequest { messages: vec![Message::user("hi")], tools: Arc::new([]), reply_may_call, hold: false }
    }

    async fn ask(model: &Scripted, reply_may_call: bool) -> Result<ModelReply, ModelError> {
        let mut heard = String::new();
        let reply = model.reply(&request(reply_may_call), &mut |piece| heard.push_str(piece)).await?;
        assert_eq!(heard, reply.text, "what was heard is what was said");
        Ok(reply)
    }

    #[tokio::test]
    async fn a_turn_is_its_calls_and_then_its_words() {
        let model = Scripted::new();
        model.push_turn(vec![("open_effort", r#"{"name":"a"}"#), ("effort_status", "{}")], "Two  words\nhere");
        let first = ask(&model, true).await.expect("calls");
        assert_eq!(first.text, "");
        let names: Vec<_> = first.calls.iter().map(|call| (call.id.as_str(), call.name.as_str())).collect();
        assert_eq!(names, [("call-1", "open_effort"), ("call-2", "effort_status")]);
        let second = ask(&model, true).await.expect("words");
        assert_eq!(second, ModelReply { text: "Two  words\nhere".into(), calls: Vec::new(), is_cut: false });
        assert_eq!(ask(&model, true).await, Err(ModelError::ScriptEnded));
        assert_eq!(model.requests().len(), 3);
    }

    #[tokio::test]
    async fn where_no_call_is_carried_out_it_answers_in_words() {
        let model = Scripted::new();
        model.push_turn(vec![("open_effort", "{}")], "done");
        assert_eq!(ask(&model, false).await.expect("words").text, "done");
        let both = ModelReply {
            text: "both".into(),
            calls: vec![ToolCall { id: "c".into(), name: "n".into(), arguments: String::new() }],
            is_cut: false,
        };
        model.push(both);
        let reply = ask(&model, false).await.expect("words");
        assert_eq!((reply.text.as_str(), reply.calls.len()), ("both", 0));
    }

    #[tokio::test]
    async fn a_failure_is_a_line_like_any_other() {
        let model = Scripted::from_replies([ModelReply { text: "one".into(), calls: Vec::new(), is_cut: false }]);
        model.push_error(ModelError::Refused("busy".into()));
        assert_eq!(ask(&model, true).await.expect("words").text, "one");
        assert_eq!(ask(&model, true).await, Err(ModelError::Refused("busy".into())));
    }
}
