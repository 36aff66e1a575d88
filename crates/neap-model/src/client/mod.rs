//! Models behind an address: any provider that speaks one of three protocols.
//!
//! What is pure is apart from what waits: `hearing` makes an answer of bytes, `retry` decides when to ask again, `fault` what
//! an error means; this file and `http` perform it. A stream without its end is never an answer, and nothing is asked again once
//! a word of the reply has been handed over.

mod anthropic;
mod api;
mod asking;
mod fault;
mod hearing;
mod http;
mod key;
mod openai;
mod overhear;
mod responses;
mod retry;
mod sse;
mod thoughts;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use neap_core::turn::{ModelReply, ModelRequest};

pub use api::{Api, BaseUrl};
use asking::{Asked, Asking};
use hearing::Answer;
pub(crate) use http::Http;
pub use key::ApiKey;
pub use overhear::{Overheard, Overhearing};
pub use retry::Retry;
use thoughts::Thoughts;

use crate::usage::Meter;
use crate::{ChatModel, ModelError, OnText};

/// How long to wait for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Until there is a connection.
    pub connect: Duration,
    /// From the request to the first byte of the answer: a local model reads the whole prompt first, others think.
    pub first_byte: Duration,
    /// Between two pieces of it.
    pub idle: Duration,
    /// For the whole answer.
    pub whole: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(300),
            idle: Duration::from_secs(120),
            whole: Duration::from_secs(3_600),
        }
    }
}

/// Who is asked, and how.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// The protocol.
    pub api: Api,
    /// Where.
    pub base_url: BaseUrl,
    /// The model's name there.
    pub model: String,
    /// The key, if one is needed.
    pub key: Option<ApiKey>,
    /// Longest reply, in tokens; the provider's own limit if none is said.
    pub reply_tokens_max: Option<u64>,
    /// Tokens a model may think before it answers (Anthropic); thinking that comes unasked is kept all the same.
    pub thinking_tokens: Option<u64>,
    /// Whether the model reasons, so that its reasoning is asked for, to be sent back with a tool's answer (Responses).
    pub reasons: bool,
    /// How long to wait for what.
    pub limits: Limits,
    /// When to ask again.
    pub retry: Retry,
}

impl ClientOptions {
    /// A model at an address, with usual limits.
    pub fn new(api: Api, base_url: BaseUrl, model: impl Into<String>) -> Self {
        Self {
            api,
            base_url,
            model: model.into(),
            key: None,
            reply_tokens_max: None,
            thinking_tokens: None,
            reasons: false,
            limits: Limits::default(),
            retry: Retry::default(),
        }
    }
}

/// A model behind an address.
#[derive(Debug)]
pub struct Client {
    api: Api,
    asking: Asking,
    http: Http,
    retry: Retry,
    key: Option<ApiKey>,
    meter: Arc<Meter>,
    thoughts: Mutex<Thoughts>,
}

impl Client {
    /// Prepares to ask; no connection is made yet.
    pub fn new(options: ClientOptions) -> Result<Self, ModelError> {
        let http = Http::new(&options)?;
        let ClientOptions {
            api,
            base_url,
            model,
            key,
            reply_tokens_max,
            thinking_tokens,
            reasons,
            limits: _,
            retry,
        } = options;
        let is_openai = base_url.host() == "api.openai.com";
        let asking = Asking { model, reply_tokens_max, thinking_tokens, reasons, is_openai };
        Ok(Self { api, asking, http, retry, key, meter: Arc::default(), thoughts: Mutex::default() })
    }

    /// Adds up what calls use, as the provider counts it.
    pub fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }

    fn body(&self, request: &ModelRequest) -> String {
        let thoughts = self.thoughts.lock().unwrap_or_else(PoisonError::into_inner);
        self.api.body(&self.asking, Asked { request, thoughts: &thoughts }).text().to_owned()
    }

    /// Asks until there is an answer, or no sense in asking again.
    async fn ask(&self, body: &str, on_text: OnText<'_>) -> Result<Answer, ModelError> {
        let mut failures = 0;
        loop {
            let mut was_heard = false;
            let mut hand_over = |words: &str| {
                was_heard = true;
                on_text(words);
            };
            let error = match self.http.ask(self.api, body, &mut hand_over).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            failures += 1;
            let wait = self.retry.wait(failures, &error, jitter()).filter(|_| !was_heard);
            let Some(wait) = wait else { return Err(self.told(error)) };
            tokio::time::sleep(wait).await;
        }
    }

    /// An error as it can be shown: without the key.
    fn told(&self, error: ModelError) -> ModelError {
        match &self.key {
            Some(key) => key.hidden(error),
            None => error,
        }
    }
}

#[async_trait]
impl ChatModel for Client {
    fn name(&self) -> &str {
        &self.asking.model
    }

    async fn reply(&self, request: &ModelRequest, on_text: OnText<'_>) -> Result<ModelReply, ModelError> {
        let body = self.body(request);
        let Answer { text, calls, usage, kept, id: _, is_cut } = self.ask(&body, on_text).await?;
        if let Some(usage) = usage {
            self.meter.add(usage);
        }
        if !kept.is_empty() {
            let after = Thoughts::digest(&request.tools, &request.messages);
            self.thoughts.lock().unwrap_or_else(PoisonError::into_inner).keep(&text, &calls, after, kept);
        }
        Ok(ModelReply { text, calls, is_cut })
    }
}

/// Between 0 and 1; in the middle where there is no chance to be had.
pub(crate) fn jitter() -> f64 {
    let mut bytes = [0; 4];
    match getrandom::fill(&mut bytes) {
        Ok(()) => f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX),
        Err(_) => 0.5,
    }
}
