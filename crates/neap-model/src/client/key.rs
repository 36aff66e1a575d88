//! Provider keys. A key is sent to its provider and never shown.

use std::fmt;

use neap_core::client::WireApi;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};

use crate::ModelError;

#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    secret: String,
    is_bearer: bool,
}

impl ApiKey {
    /// A key issued by the protocol's vendor.
    pub fn new(secret: impl Into<String>) -> Self {
        Self { secret: secret.into(), is_bearer: false }
    }

    /// A gateway token, sent as `Authorization: Bearer` in every protocol.
    pub fn bearer(secret: impl Into<String>) -> Self {
        Self { secret: secret.into(), is_bearer: true }
    }

    /// The header that carries the key; `None` if the key has characters that no header allows.
    pub(super) fn header(&self, api: WireApi) -> Option<(HeaderName, HeaderValue)> {
        let secret = self.secret.trim();
        let (name, value) = match api {
            WireApi::Messages if !self.is_bearer => (HeaderName::from_static("x-api-key"), secret.to_owned()),
            WireApi::Chat | WireApi::Responses | WireApi::Messages => (AUTHORIZATION, format!("Bearer {secret}")),
        };
        let mut value = HeaderValue::from_str(&value).ok()?;
        value.set_sensitive(true);
        Some((name, value))
    }

    /// Removes the key from an error: providers quote keys in their messages.
    pub(crate) fn redact_error(&self, error: ModelError) -> ModelError {
        match error {
            ModelError::Refused(text) => ModelError::Refused(self.redact(&text)),
            ModelError::ContextFull(text) => ModelError::ContextFull(self.redact(&text)),
            ModelError::Transport(text) => ModelError::Transport(self.redact(&text)),
            ModelError::Protocol(text) => ModelError::Protocol(self.redact(&text)),
            ModelError::RateLimited { retry_after, message } => {
                ModelError::RateLimited { retry_after, message: self.redact(&message) }
            }
            ModelError::TimedOut(_) | ModelError::ScriptEnded => error,
        }
    }

    fn redact(&self, text: &str) -> String {
        let secret = self.secret.trim();
        if secret.is_empty() { text.to_owned() } else { text.replace(secret, "…") }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}
