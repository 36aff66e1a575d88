//! Provider protocols and their addresses.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use reqwest::Url;

use super::anthropic::MessagesDecoder;
use super::decoder::StreamDecoder;
use super::openai::ChatDecoder;
use super::outgoing::{OutgoingRequest, RequestOptions};
use super::responses::ResponsesDecoder;
use super::{anthropic, openai, responses};
use crate::wire::json::Json;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// OpenAI Chat Completions and compatible servers.
    OpenAi,
    Responses,
    Anthropic,
}

impl Api {
    pub const ALL: [Api; 3] = [Api::OpenAi, Api::Responses, Api::Anthropic];

    /// The name used in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Api::OpenAi => "openai",
            Api::Responses => "responses",
            Api::Anthropic => "anthropic",
        }
    }

    pub fn default_base_url(self) -> &'static str {
        match self {
            Api::OpenAi | Api::Responses => "https://api.openai.com/v1",
            Api::Anthropic => "https://api.anthropic.com",
        }
    }

    pub(super) fn body(self, options: &RequestOptions, outgoing: OutgoingRequest<'_>) -> Json {
        match self {
            Api::OpenAi => openai::body(options, outgoing),
            Api::Responses => responses::body(options, outgoing),
            Api::Anthropic => anthropic::body(options, outgoing),
        }
    }

    pub(super) fn decoder(self) -> Box<dyn StreamDecoder> {
        match self {
            Api::OpenAi => Box::<ChatDecoder>::default(),
            Api::Responses => Box::<ResponsesDecoder>::default(),
            Api::Anthropic => Box::<MessagesDecoder>::default(),
        }
    }

    /// The request URL. A base without a path gets the usual one.
    pub(super) fn url(self, base: &Url) -> Url {
        let path = base.path().trim_end_matches('/');
        let path = match self {
            Api::OpenAi | Api::Responses if path.is_empty() => "/v1",
            Api::OpenAi | Api::Responses => path,
            Api::Anthropic => path.strip_suffix("/v1").unwrap_or(path),
        };
        let rest = match self {
            Api::OpenAi => "/chat/completions",
            Api::Responses => "/responses",
            Api::Anthropic => "/v1/messages",
        };
        let mut url = base.clone();
        url.set_path(&format!("{path}{rest}"));
        url
    }
}

impl fmt::Display for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Api {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Api::ALL.into_iter().find(|api| api.as_str() == text);
        found.ok_or_else(|| format!("'{text}' is not a protocol: use openai, responses or anthropic"))
    }
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
        url.set_path(&format!("{}/embeddings", if path.is_empty() { "/v1" } else { path }));
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
            (Api::OpenAi, "https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
            (Api::OpenAi, "http://localhost:11434", "http://localhost:11434/v1/chat/completions"),
            (Api::OpenAi, "http://localhost:8080/v1/", "http://localhost:8080/v1/chat/completions"),
            (Api::OpenAi, "https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1/chat/completions"),
            (
                Api::OpenAi,
                "https://x.example/v1?api-version=7",
                "https://x.example/v1/chat/completions?api-version=7",
            ),
            (Api::Responses, "https://api.openai.com/v1", "https://api.openai.com/v1/responses"),
            (Api::Anthropic, "https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
            (Api::Anthropic, "https://api.anthropic.com/v1", "https://api.anthropic.com/v1/messages"),
            (Api::Anthropic, "http://[::1]:9/gate/", "http://[::1]:9/gate/v1/messages"),
        ];
        for (api, base, want) in table {
            assert_eq!(api.url(&BaseUrl::parse(base).expect(base).0).as_str(), want, "{api} {base}");
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
        for api in Api::ALL {
            assert_eq!(api.as_str().parse(), Ok(api));
        }
        assert!("chat".parse::<Api>().is_err());
    }
}
