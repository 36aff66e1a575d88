//! Remote models, over one of three provider protocols.
//!
//! The pure parts are separate from I/O: `decoder` turns bytes into a reply, `retry` decides when to try again,
//! `provider_error` classifies errors; this file and `http` perform the calls. A stream without its end is never a
//! reply, and nothing is retried once a piece of the reply was handed over.

mod anthropic;
mod api;
mod decoder;
mod http;
mod key;
mod openai;
mod outgoing;
mod provider_error;
mod reasoning_cache;
mod response_tap;
mod responses;
mod retry;
mod sse;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use neap_core::client::WireApi;
use neap_core::turn::{ModelReply, ModelRequest};

use api::request_body;
pub use api::{BaseUrl, api_name, default_base_url, parse_api};
use decoder::DecodedReply;
pub(crate) use http::Http;
pub use http::{http_client, root_cause};
pub use key::ApiKey;
use outgoing::{OutgoingRequest, RequestOptions};
use reasoning_cache::ReasoningCache;
pub use response_tap::{ResponseTap, TappedResponse};
pub use retry::RetryPolicy;

use crate::usage::UsageMeter;
use crate::{ChatModel, ModelError, OnText};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    /// From the request to the first byte: a local model reads the whole prompt first, others reason.
    pub first_byte: Duration,
    pub idle: Duration,
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(300),
            idle: Duration::from_secs(120),
            total: Duration::from_secs(3_600),
        }
    }
}

#[derive(Debug, Clone)]
pub struct ClientOptions {
    pub api: WireApi,
    pub base_url: BaseUrl,
    pub model: String,
    pub key: Option<ApiKey>,
    /// Longest reply, in tokens; the provider's default if `None`.
    pub reply_tokens_max: Option<u64>,
    /// Thinking budget (Anthropic). Unrequested thinking is kept as well.
    pub thinking_tokens: Option<u64>,
    /// Whether the model reasons: its reasoning is then requested and sent back with tool results (Responses).
    pub reasons: bool,
    pub timeouts: Timeouts,
    pub retry: RetryPolicy,
}

impl ClientOptions {
    pub fn new(api: WireApi, base_url: BaseUrl, model: impl Into<String>) -> Self {
        Self {
            api,
            base_url,
            model: model.into(),
            key: None,
            reply_tokens_max: None,
            thinking_tokens: None,
            reasons: false,
            timeouts: Timeouts::default(),
            retry: RetryPolicy::default(),
        }
    }
}

#[derive(Debug)]
pub struct Client {
    api: WireApi,
    options: RequestOptions,
    http: Http,
    retry: RetryPolicy,
    key: Option<ApiKey>,
    meter: Arc<UsageMeter>,
    reasoning: Mutex<ReasoningCache>,
}

impl Client {
    /// Makes no connection yet.
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
            timeouts: _,
            retry,
        } = options;
        let is_openai = base_url.host() == "api.openai.com";
        let options = RequestOptions { model, reply_tokens_max, thinking_tokens, reasons, is_openai };
        Ok(Self { api, options, http, retry, key, meter: Arc::default(), reasoning: Mutex::default() })
    }

    pub fn meter(&self) -> &Arc<UsageMeter> {
        &self.meter
    }

    fn body(&self, request: &ModelRequest) -> String {
        let reasoning = self.reasoning.lock().unwrap_or_else(PoisonError::into_inner);
        let outgoing = OutgoingRequest { request, reasoning: &reasoning };
        request_body(self.api, &self.options, outgoing).text().to_owned()
    }

    /// Retries until there is a reply, a permanent error, or streamed text.
    async fn ask_with_retry(&self, body: &str, on_text: OnText<'_>) -> Result<DecodedReply, ModelError> {
        let mut failures = 0;
        loop {
            let mut has_streamed = false;
            let mut forward = |text: &str| {
                has_streamed = true;
                on_text(text);
            };
            let error = match self.http.stream_reply(self.api, body, &mut forward).await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            failures += 1;
            let wait = self.retry.backoff(failures, &error, jitter()).filter(|_| !has_streamed);
            let Some(wait) = wait else { return Err(self.redact_error(error)) };
            tokio::time::sleep(wait).await;
        }
    }

    /// Removes the key from an error, so that it can be shown.
    fn redact_error(&self, error: ModelError) -> ModelError {
        match &self.key {
            Some(key) => key.redact_error(error),
            None => error,
        }
    }
}

#[async_trait]
impl ChatModel for Client {
    fn name(&self) -> &str {
        &self.options.model
    }

    async fn reply(&self, request: &ModelRequest, on_text: OnText<'_>) -> Result<ModelReply, ModelError> {
        let body = self.body(request);
        let DecodedReply { text, calls, usage, replay_items, id: _, is_cut } =
            self.ask_with_retry(&body, on_text).await?;
        if let Some(usage) = usage {
            self.meter.add(usage);
        }
        if !replay_items.is_empty() {
            let prompt_digest = ReasoningCache::digest(&request.tools, &request.messages);
            self.reasoning
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .store(&text, &calls, prompt_digest, replay_items);
        }
        Ok(ModelReply { text, calls, is_truncated: is_cut })
    }
}

/// Between 0 and 1; 0.5 where the system gives no randomness.
pub(crate) fn jitter() -> f64 {
    let mut bytes = [0; 4];
    match getrandom::fill(&mut bytes) {
        Ok(()) => f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX),
        Err(_) => 0.5,
    }
}
