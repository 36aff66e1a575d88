//! The connection: sends a request, waits no longer than allowed, hands on bytes.

use std::error::Error;
use std::future::Future;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Response, Url};
use tokio::time::{Instant, timeout, timeout_at};

use super::api::{Api, BaseUrl};
use super::fault;
use super::hearing::{Answer, Reading};
use super::key::ApiKey;
use super::retry::asked_wait;
use super::{ClientOptions, Limits};
use crate::{ModelError, OnText};

/// Longest part of an error that is read, in bytes.
const ERROR_BYTES_MAX: usize = 64 << 10;
/// Longest answer that comes whole, in bytes.
const OBJECT_BYTES_MAX: usize = 64 << 20;

/// Asks over HTTP.
#[derive(Debug)]
pub(crate) struct Http {
    client: reqwest::Client,
    url: Url,
    host: String,
    limits: Limits,
}

impl Http {
    /// For a conversation.
    pub(crate) fn new(options: &ClientOptions) -> Result<Self, ModelError> {
        let ClientOptions { api, base_url, key, limits, .. } = options;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if *api == Api::Anthropic {
            let version = HeaderName::from_static("anthropic-version");
            headers.insert(version, HeaderValue::from_static("2023-06-01"));
        }
        Self::to(api.url(&base_url.0), *api, base_url, key.as_ref(), *limits, headers)
    }

    /// For embeddings.
    pub(crate) fn for_embeddings(
        base_url: &BaseUrl,
        key: Option<&ApiKey>,
        limits: Limits,
    ) -> Result<Self, ModelError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        Self::to(base_url.embeddings(), Api::OpenAi, base_url, key, limits, headers)
    }

    fn to(
        url: Url,
        api: Api,
        base_url: &BaseUrl,
        key: Option<&ApiKey>,
        limits: Limits,
        mut headers: HeaderMap,
    ) -> Result<Self, ModelError> {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = key {
            let (name, value) = key
                .header(api)
                .ok_or_else(|| ModelError::Refused("the key holds characters that no key has".to_owned()))?;
            headers.insert(name, value);
        }
        let mut client = reqwest::Client::builder()
            .default_headers(headers)
            .user_agent(concat!("neap/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(limits.connect)
            // A key goes to the address it was given for, and nowhere else.
            .redirect(Policy::none());
        if base_url.is_loopback() {
            client = client.no_proxy();
        }
        let client = client.build().map_err(|error| ModelError::Transport(told(&error)))?;
        Ok(Self { client, url, host: base_url.host().to_owned(), limits })
    }

    /// Asks once.
    pub(crate) async fn ask(&self, api: Api, body: &str, on_text: OnText<'_>) -> Result<Answer, ModelError> {
        within(self.limits.whole, self.stream(api, body, on_text)).await?
    }

    async fn stream(&self, api: Api, body: &str, on_text: OnText<'_>) -> Result<Answer, ModelError> {
        let first = self.limits.first_byte;
        let first_by = Instant::now() + first;
        let sent = self.client.post(self.url.clone()).body(body.to_owned()).send();
        let sent = timeout_at(first_by, sent).await.map_err(|_| ModelError::TimedOut(first))?;
        let mut response = sent.map_err(|error| self.broken(&error))?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        if is_json(response.headers()) {
            let body = self.error_body(&mut response).await;
            return Err(ModelError::Protocol(format!("no stream of events, but {}", fault::in_short(&body))));
        }
        let mut reading = Reading::new(api.hearing());
        let mut piece = timeout_at(first_by, response.chunk()).await.map_err(|_| ModelError::TimedOut(first))?;
        while let Some(bytes) = piece.map_err(|error| self.broken(&error))? {
            if reading.feed(&bytes, on_text)? {
                break;
            }
            piece = within(self.limits.idle, response.chunk()).await?;
        }
        reading.end()
    }

    /// Asks once for an answer that comes whole: its bytes.
    pub(crate) async fn object(&self, body: String) -> Result<Vec<u8>, ModelError> {
        let asked = async {
            let sent = self.client.post(self.url.clone()).body(body).send().await;
            let mut response = sent.map_err(|error| self.broken(&error))?;
            if !response.status().is_success() {
                return Err(self.refusal(response).await);
            }
            let mut whole = Vec::new();
            while let Some(bytes) = response.chunk().await.map_err(|error| self.broken(&error))? {
                whole.extend_from_slice(&bytes);
                if whole.len() > OBJECT_BYTES_MAX {
                    return Err(ModelError::Protocol(format!("an answer of more than {OBJECT_BYTES_MAX} bytes")));
                }
            }
            Ok(whole)
        };
        within(self.limits.whole, asked).await?
    }

    /// What an answer means that is none.
    async fn refusal(&self, mut response: Response) -> ModelError {
        let (status, wait) = (response.status().as_u16(), waits(response.headers()));
        let body = self.error_body(&mut response).await;
        fault::of_status(status, wait, &body)
    }

    /// What stands in an error's body, as far as it comes.
    async fn error_body(&self, response: &mut Response) -> String {
        let mut body = Vec::new();
        let reading = async {
            while body.len() < ERROR_BYTES_MAX {
                match response.chunk().await {
                    Ok(Some(bytes)) => body.extend_from_slice(&bytes),
                    Ok(None) | Err(_) => break,
                }
            }
        };
        // What has come until then is what is told.
        let _ = timeout(self.limits.connect, reading).await;
        body.truncate(ERROR_BYTES_MAX);
        String::from_utf8_lossy(&body).into_owned()
    }

    fn broken(&self, error: &reqwest::Error) -> ModelError {
        if error.is_timeout() && error.is_connect() {
            return ModelError::Transport(format!(
                "{} does not answer within {:?}",
                self.host, self.limits.connect
            ));
        }
        ModelError::Transport(format!("{}: {}", self.host, told(error)))
    }
}

async fn within<T>(limit: Duration, what: impl Future<Output = T>) -> Result<T, ModelError> {
    timeout(limit, what).await.map_err(|_| ModelError::TimedOut(limit))
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.trim_start().to_ascii_lowercase().starts_with("application/json")
}

fn waits(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let millis = HeaderName::from_static("retry-after-ms");
    asked_wait(text(&millis), text(&RETRY_AFTER), jiff::Timestamp::now())
}

/// The innermost reason: the outer ones only say that something failed.
fn told(error: &reqwest::Error) -> String {
    let mut reason: &dyn Error = error;
    while let Some(inner) = reason.source() {
        reason = inner;
    }
    reason.to_string()
}
