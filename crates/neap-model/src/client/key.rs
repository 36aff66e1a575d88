//! A key: shown to the provider and to nobody else.

use std::fmt;

use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};

use super::api::Api;
use crate::ModelError;

/// What proves to a provider who asks.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    secret: String,
    is_bearer: bool,
}

impl ApiKey {
    /// A key as the protocol's maker hands it out.
    pub fn new(secret: impl Into<String>) -> Self {
        Self { secret: secret.into(), is_bearer: false }
    }

    /// A token of a gateway, sent as `Authorization: Bearer` whatever the protocol is.
    pub fn bearer(secret: impl Into<String>) -> Self {
        Self { secret: secret.into(), is_bearer: true }
    }

    /// The header that carries it; none if it holds what no header can.
    pub(super) fn header(&self, api: Api) -> Option<(HeaderName, HeaderValue)> {
        let secret = self.secret.trim();
        let (name, value) = match api {
            Api::Anthropic if !self.is_bearer => (HeaderName::from_static("x-api-key"), secret.to_owned()),
            Api::OpenAi | Api::Responses | Api::Anthropic => (AUTHORIZATION, format!("Bearer {secret}")),
        };
        let mut value = HeaderValue::from_str(&value).ok()?;
        value.set_sensitive(true);
        Some((name, value))
    }

    /// An error as it can be shown, without the key: providers quote keys in their errors.
    pub(crate) fn hidden(&self, error: ModelError) -> ModelError {
        match error {
            ModelError::Refused(text) => ModelError::Refused(self.hide(&text)),
            ModelError::ContextFull(text) => ModelError::ContextFull(self.hide(&text)),
            ModelError::Transport(text) => ModelError::Transport(self.hide(&text)),
            ModelError::Protocol(text) => ModelError::Protocol(self.hide(&text)),
            ModelError::Unusable(text) => ModelError::Unusable(self.hide(&text)),
            ModelError::RateLimited { retry_after, message } => {
                ModelError::RateLimited { retry_after, message: self.hide(&message) }
            }
            ModelError::TimedOut(_) | ModelError::ScriptEnded => error,
        }
    }

    fn hide(&self, text: &str) -> String {
        let secret = self.secret.trim();
        if secret.is_empty() { text.to_owned() } else { text.replace(secret, "…") }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}
