//! HTTP transport: sends a request, enforces timeouts, hands bytes to the decoder.

use std::error::Error;
use std::future::Future;
use std::sync::LazyLock;
use std::time::Duration;

use neap_core::client::WireApi;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Response, Url};
use rustls::ClientConfig;
use rustls_platform_verifier::ConfigVerifierExt;
use tokio::time::{Instant, timeout, timeout_at};

use super::api::{BaseUrl, request_url, stream_decoder};
use super::decoder::{DecodedReply, StreamReader};
use super::key::ApiKey;
use super::provider_error;
use super::retry::parse_retry_after;
use super::{ClientOptions, Timeouts};
use crate::{ModelError, OnText};

const ERROR_BYTES_MAX: usize = 64 << 10;
const OBJECT_BYTES_MAX: usize = 64 << 20;

/// Of all clients: trusted certificates are loaded once, and a new connection resumes the TLS session of an earlier one.
static TLS: LazyLock<Option<ClientConfig>> = LazyLock::new(|| {
    drop(rustls::crypto::ring::default_provider().install_default());
    let mut config = ClientConfig::with_platform_verifier().ok()?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Some(config)
});

/// Builds HTTP clients, which speak HTTP/2 with servers that choose it in the TLS handshake. The first call chooses how
/// the program encrypts. On Linux, TCP notices a dead connection: by keep-alive, and 30 seconds without acknowledgement.
#[allow(clippy::disallowed_methods, reason = "the one place that makes clients")]
pub fn http_client() -> reqwest::ClientBuilder {
    let builder = reqwest::Client::builder();
    match &*TLS {
        Some(config) => builder.tls_backend_preconfigured(config.clone()),
        // To build a client says what is wrong.
        None => builder,
    }
}

#[derive(Debug)]
pub(crate) struct Http {
    client: reqwest::Client,
    url: Url,
    host: String,
    timeouts: Timeouts,
}

impl Http {
    pub(crate) fn new(options: &ClientOptions) -> Result<Self, ModelError> {
        let ClientOptions { api, base_url, key, timeouts, .. } = options;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if *api == WireApi::Messages {
            let version = HeaderName::from_static("anthropic-version");
            headers.insert(version, HeaderValue::from_static("2023-06-01"));
        }
        Self::build(request_url(*api, &base_url.0), *api, base_url, key.as_ref(), *timeouts, headers)
    }

    pub(crate) fn for_embeddings(
        base_url: &BaseUrl,
        key: Option<&ApiKey>,
        timeouts: Timeouts,
    ) -> Result<Self, ModelError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        Self::build(base_url.embeddings_url(), WireApi::Chat, base_url, key, timeouts, headers)
    }

    fn build(
        url: Url,
        api: WireApi,
        base_url: &BaseUrl,
        key: Option<&ApiKey>,
        timeouts: Timeouts,
        mut headers: HeaderMap,
    ) -> Result<Self, ModelError> {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = key {
            let (name, value) = key.header(api).ok_or_else(|| {
                ModelError::Refused("the key contains characters that no key can have".to_owned())
            })?;
            headers.insert(name, value);
        }
        let mut client = http_client()
            .default_headers(headers)
            .user_agent(concat!("neap/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(timeouts.connect)
            // A redirect would send the key to another address.
            .redirect(Policy::none());
        if base_url.is_loopback() {
            client = client.no_proxy();
        }
        let client = client.build().map_err(|error| ModelError::Transport(root_cause(&error)))?;
        Ok(Self { client, url, host: base_url.host().to_owned(), timeouts })
    }

    /// One attempt.
    pub(crate) async fn stream_reply(
        &self,
        api: WireApi,
        body: &str,
        on_text: OnText<'_>,
    ) -> Result<DecodedReply, ModelError> {
        with_timeout(self.timeouts.total, self.read_stream(api, body, on_text)).await?
    }

    async fn read_stream(
        &self,
        api: WireApi,
        body: &str,
        on_text: OnText<'_>,
    ) -> Result<DecodedReply, ModelError> {
        let first = self.timeouts.first_byte;
        let first_by = Instant::now() + first;
        let sent = self.client.post(self.url.clone()).body(body.to_owned()).send();
        let sent = timeout_at(first_by, sent).await.map_err(|_| ModelError::TimedOut(first))?;
        let mut response = sent.map_err(|error| self.transport_error(&error))?;
        if !response.status().is_success() {
            return Err(self.status_error(response).await);
        }
        if is_json(response.headers()) {
            let body = self.error_body(&mut response).await;
            return Err(ModelError::Protocol(format!(
                "expected a stream of events, got {}",
                provider_error::error_summary(&body)
            )));
        }
        let mut reader = StreamReader::new(stream_decoder(api));
        let mut piece = timeout_at(first_by, response.chunk()).await.map_err(|_| ModelError::TimedOut(first))?;
        while let Some(bytes) = piece.map_err(|error| self.transport_error(&error))? {
            if reader.feed(&bytes, on_text)? {
                break;
            }
            piece = with_timeout(self.timeouts.idle, response.chunk()).await?;
        }
        reader.finish()
    }

    /// One attempt at an unstreamed response; returns its body.
    pub(crate) async fn post_whole(&self, body: String) -> Result<Vec<u8>, ModelError> {
        let exchange = async {
            let sent = self.client.post(self.url.clone()).body(body).send().await;
            let mut response = sent.map_err(|error| self.transport_error(&error))?;
            if !response.status().is_success() {
                return Err(self.status_error(response).await);
            }
            let mut whole = Vec::new();
            while let Some(bytes) = response.chunk().await.map_err(|error| self.transport_error(&error))? {
                whole.extend_from_slice(&bytes);
                if whole.len() > OBJECT_BYTES_MAX {
                    return Err(ModelError::Protocol(format!("an answer of more than {OBJECT_BYTES_MAX} bytes")));
                }
            }
            Ok(whole)
        };
        with_timeout(self.timeouts.total, exchange).await?
    }

    async fn status_error(&self, mut response: Response) -> ModelError {
        let (status, wait) = (response.status().as_u16(), retry_after(response.headers()));
        let body = self.error_body(&mut response).await;
        provider_error::from_status(status, wait, &body)
    }

    /// Reads an error body, or as much of it as arrives in time.
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
        // On a timeout, the part read so far is used.
        let _ = timeout(self.timeouts.connect, reading).await;
        body.truncate(ERROR_BYTES_MAX);
        String::from_utf8_lossy(&body).into_owned()
    }

    fn transport_error(&self, error: &reqwest::Error) -> ModelError {
        if error.is_timeout() && error.is_connect() {
            return ModelError::Transport(format!(
                "{} does not answer within {:?}",
                self.host, self.timeouts.connect
            ));
        }
        ModelError::Transport(format!("{}: {}", self.host, root_cause(error)))
    }
}

async fn with_timeout<T>(limit: Duration, future: impl Future<Output = T>) -> Result<T, ModelError> {
    timeout(limit, future).await.map_err(|_| ModelError::TimedOut(limit))
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.trim_start().to_ascii_lowercase().starts_with("application/json")
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let millis = HeaderName::from_static("retry-after-ms");
    parse_retry_after(text(&millis), text(&RETRY_AFTER), jiff::Timestamp::now())
}

/// The innermost cause: the outer ones only say that something failed, and name the URL, which may have secrets.
pub fn root_cause(error: &reqwest::Error) -> String {
    let mut reason: &dyn Error = error;
    while let Some(inner) = reason.source() {
        reason = inner;
    }
    reason.to_string()
}
