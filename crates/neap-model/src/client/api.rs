//! Provider protocols and their addresses.

use std::fmt;
use std::net::IpAddr;

use neap_core::client::WireApi;
use reqwest::Url;

use super::anthropic::MessagesDecoder;
use super::decoder::StreamDecoder;
use super::openai::ChatDecoder;
use super::outgoing::{OutgoingRequest, RequestOptions};
use super::responses::ResponsesDecoder;
use super::{anthropic, openai, responses};
use crate::wire::json::Json;

/// The name used in settings and arguments.
pub fn api_name(api: WireApi) -> &'static str {
    match api {
        WireApi::Chat => "openai",
        WireApi::Responses => "responses",
        WireApi::Messages => "anthropic",
    }
}

pub fn parse_api(name: &str) -> Result<WireApi, String> {
    let found = WireApi::ALL.into_iter().find(|api| api_name(*api) == name);
    found.ok_or_else(|| format!("'{name}' is not a protocol: use openai, responses or anthropic"))
}

pub fn default_base_url(api: WireApi) -> &'static str {
    match api {
        WireApi::Chat | WireApi::Responses => "https://api.openai.com/v1",
        WireApi::Messages => "https://api.anthropic.com",
    }
}

pub(super) fn request_body(api: WireApi, options: &RequestOptions, outgoing: OutgoingRequest<'_>) -> Json {
    match api {
        WireApi::Chat => openai::body(options, outgoing),
        WireApi::Responses => responses::body(options, outgoing),
        WireApi::Messages => anthropic::body(options, outgoing),
    }
}

pub(super) fn stream_decoder(api: WireApi) -> Box<dyn StreamDecoder> {
    match api {
        WireApi::Chat => Box::<ChatDecoder>::default(),
        WireApi::Responses => Box::<ResponsesDecoder>::default(),
        WireApi::Messages => Box::<MessagesDecoder>::default(),
    }
}

/// A base without a path gets the usual one.
pub(super) fn request_url(api: WireApi, base: &Url) -> Url {
    let path = base.path().trim_end_matches('/');
    let (path, rest) = match api {
        WireApi::Chat => (openai_path(path), "/chat/completions"),
        WireApi::Responses => (openai_path(path), "/responses"),
        WireApi::Messages => (path.strip_suffix("/v1").unwrap_or(path), "/v1/messages"),
    };
    let mut url = base.clone();
    url.set_path(&format!("{path}{rest}"));
    url
}

fn openai_path(path: &str) -> &str {
    if path.is_empty() { "/v1" } else { path }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl(pub(super) Url);

impl BaseUrl {
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text.trim()).map_err(|error| format!("'{text}' is not an address: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(format!("'{text}' begins with neither http:// nor https://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("an address must not hold a password".to_owned());
        }
        Ok(Self(url))
    }

    /// The URL for embeddings. A base without a path gets the usual one.
    pub(crate) fn embeddings_url(&self) -> Url {
        let path = self.0.path().trim_end_matches('/').trim_end_matches("/embeddings");
        let mut url = self.0.clone();
        url.set_path(&format!("{}/embeddings", openai_path(path)));
        url
    }

    pub fn is_loopback(&self) -> bool {
        let host = self.host().trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// Whether a key can be sent there without others reading it on the way.
    pub fn is_private(&self) -> bool {
        self.0.scheme() == "https" || self.is_loopback()
    }

    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lead_to_the_right_place() {
        let table = [
            (WireApi::Chat, "https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
            (WireApi::Chat, "http://localhost:11434", "http://localhost:11434/v1/chat/completions"),
            (WireApi::Chat, "http://localhost:8080/v1/", "http://localhost:8080/v1/chat/completions"),
            (WireApi::Chat, "https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1/chat/completions"),
            (
                WireApi::Chat,
                "https://x.example/v1?api-version=7",
                "https://x.example/v1/chat/completions?api-version=7",
            ),
            (WireApi::Responses, "https://api.openai.com/v1", "https://api.openai.com/v1/responses"),
            (WireApi::Messages, "https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
            (WireApi::Messages, "https://api.anthropic.com/v1", "https://api.anthropic.com/v1/messages"),
            (WireApi::Messages, "http://[::1]:9/gate/", "http://[::1]:9/gate/v1/messages"),
        ];
        for (api, base, want) in table {
            assert_eq!(request_url(api, &BaseUrl::parse(base).expect(base).0).as_str(), want, "{api:?} {base}");
        }
    }

    #[test]
    fn keys_only_go_where_nobody_reads_along() {
        let table = [
            ("https://x.example/v1", true),
            ("http://127.0.0.1:8080", true),
            ("http://[::1]:8080", true),
            ("http://localhost", true),
            ("http://localhost.example", false),
            ("http://10.0.0.2:11434/v1", false),
        ];
        for (base, want) in table {
            assert_eq!(BaseUrl::parse(base).expect(base).is_private(), want, "{base}");
        }
        for bad in ["", "localhost:8080", "file:///etc/passwd", "ftp://x", "https://me:secret@x.example"] {
            let error = BaseUrl::parse(bad).expect_err(bad);
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn names_are_read_back() {
        for api in WireApi::ALL {
            assert_eq!(parse_api(api_name(api)), Ok(api));
        }
        assert!(parse_api("chat").is_err());
    }
}
