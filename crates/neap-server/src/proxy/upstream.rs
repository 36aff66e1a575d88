//! Upstream URLs and request headers.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use neap_core::client::WireApi;
use neap_model::client::{BaseUrl, default_base_url};
use reqwest::Url;

use super::error::ProxyError;
use super::path::is_bare_endpoint;
use super::route::Route;
use crate::ServerError;

/// Hop-by-hop headers, and those that the HTTP client sets itself.
const HOP_HEADERS: [&str; 11] = [
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade", "host", "content-length",
];

/// Where Codex sends its requests when a person signed in with ChatGPT, without `/v1`: such a sign-in has no access to
/// the API. It names the account in a header.
const CHATGPT_URL: &str = "https://chatgpt.com/backend-api/codex";
const CHATGPT_HEADER: &str = "chatgpt-account-id";

pub struct Upstreams {
    openai: Url,
    /// `None` where the provider of OpenAI's protocols was named.
    chatgpt: Option<Url>,
    anthropic: Url,
    /// Our `Via` entry, by which a loop is recognised.
    via_mark: String,
}

impl Upstreams {
    /// Base URLs of the providers, by default their public ones.
    pub fn new(openai: Option<&str>, anthropic: Option<&str>) -> Result<Self, ServerError> {
        let base_url = |given: Option<&str>, api: WireApi| {
            let base = BaseUrl::parse(given.unwrap_or(default_base_url(api))).map_err(|error| {
                ServerError::new(error).hint("write it as https://host/v1 or http://localhost:8080/v1")
            })?;
            Url::parse(&base.to_string()).map_err(|error| ServerError::new(error.to_string()))
        };
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| ServerError::new(error.to_string()))?;
        let chatgpt = if openai.is_none() { Url::parse(CHATGPT_URL).ok() } else { None };
        Ok(Self {
            openai: base_url(openai, WireApi::Chat)?,
            chatgpt,
            anthropic: base_url(anthropic, WireApi::Messages)?,
            via_mark: format!("1.1 neap-{:016x}", u64::from_le_bytes(random)),
        })
    }

    pub(crate) fn check_not_self(&self, own: SocketAddr) -> Result<(), ServerError> {
        let is_own = |url: &Url| {
            let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
            let is_local = match host.parse::<IpAddr>() {
                Ok(address) => address.is_loopback() || address.is_unspecified() || address == own.ip(),
                Err(_) => host == "localhost",
            };
            is_local && url.port_or_known_default() == Some(own.port())
        };
        match [&self.openai, &self.anthropic].into_iter().find(|url| is_own(url)) {
            Some(url) => Err(ServerError::new(format!("{url} is this proxy itself"))
                .hint("name the provider with --upstream, or unset the variable that names this proxy")),
            None => Ok(()),
        }
    }

    pub(crate) fn base(&self, api: WireApi) -> &Url {
        match api {
            WireApi::Chat | WireApi::Responses => &self.openai,
            WireApi::Messages => &self.anthropic,
        }
    }

    /// The URL for a route; `/v1` in both the base and the path is not doubled.
    pub(crate) fn url(&self, route: &Route<'_>, query: Option<&str>, headers: &HeaderMap) -> Url {
        let chatgpt = self.chatgpt.as_ref().filter(|_| headers.contains_key(CHATGPT_HEADER));
        let mut url = chatgpt.unwrap_or(self.base(route.api)).clone();
        let base = url.path().trim_end_matches('/').to_owned();
        let rest = route.path.strip_prefix("/v1").filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let path = match (base.strip_suffix("/v1"), rest) {
            (_, rest) if chatgpt.is_some() => format!("{base}{}", rest.unwrap_or(route.path)),
            // Both have /v1, or the endpoint has no prefix.
            (Some(_), Some(rest)) => format!("{base}{rest}"),
            (Some(_), None) if is_bare_endpoint(route.path) => format!("{base}{}", route.path),
            (Some(before), None) => format!("{before}{}", route.path),
            (None, None) if is_bare_endpoint(route.path) => format!("{base}/v1{}", route.path),
            (None, Some(_) | None) => format!("{base}{}", route.path),
        };
        url.set_path(&path);
        if let Some(query) = query {
            url.set_query(Some(query));
        }
        url
    }

    /// The headers to forward: the caller's, its key included, without hop-by-hop headers.
    pub(crate) fn request_headers(&self, given: &HeaderMap, is_decoded: bool) -> Result<HeaderMap, ProxyError> {
        let vias: Vec<&str> = given.get_all(header::VIA).iter().filter_map(|via| via.to_str().ok()).collect();
        if vias.iter().any(|via| via.contains(self.via_mark.as_str())) {
            return Err(ProxyError::Loop);
        }
        let mut headers = forwarded_headers(given);
        if is_decoded {
            headers.remove(header::CONTENT_ENCODING);
            // Compressed responses could not be tapped.
            headers.remove(header::ACCEPT_ENCODING);
        }
        if let Ok(mark) = HeaderValue::from_str(&self.via_mark) {
            headers.append(header::VIA, mark);
        }
        Ok(headers)
    }
}

/// Headers without hop-by-hop headers and `x-neap-*`.
pub(crate) fn forwarded_headers(given: &HeaderMap) -> HeaderMap {
    let named: Vec<String> = given
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let is_forwarded = |name: &HeaderName| {
        let name = name.as_str();
        !HOP_HEADERS.contains(&name) && !name.starts_with("x-neap-") && !named.iter().any(|other| other == name)
    };
    given
        .iter()
        .filter(|(name, _)| is_forwarded(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(base: &str) -> Upstreams {
        Upstreams::new(Some(base), Some(base)).expect("an address")
    }

    #[test]
    fn paths_are_joined() {
        let table = [
            ("https://api.openai.com/v1", "/v1/chat/completions", "https://api.openai.com/v1/chat/completions"),
            ("https://api.openai.com/v1", "/chat/completions", "https://api.openai.com/v1/chat/completions"),
            ("https://api.openai.com/v1", "/v1/models", "https://api.openai.com/v1/models"),
            ("https://api.openai.com/v1", "/s/mine/v1/responses", "https://api.openai.com/v1/responses"),
            ("http://localhost:11434/v1", "/api/tags", "http://localhost:11434/api/tags"),
            ("http://localhost:11434", "/v1/chat/completions", "http://localhost:11434/v1/chat/completions"),
            ("http://localhost:11434", "/responses", "http://localhost:11434/v1/responses"),
            ("http://localhost:11434", "/api/tags", "http://localhost:11434/api/tags"),
            (
                "https://mine.openai.azure.com",
                "/openai/deployments/My-GPT/chat/completions",
                "https://mine.openai.azure.com/openai/deployments/My-GPT/chat/completions",
            ),
            (
                "https://gate.example/v1",
                "/openai/deployments/My-GPT/chat/completions",
                "https://gate.example/openai/deployments/My-GPT/chat/completions",
            ),
            (
                "https://openrouter.ai/api/v1",
                "/v1/chat/completions",
                "https://openrouter.ai/api/v1/chat/completions",
            ),
            ("https://gate.example/anthropic", "/v1/messages", "https://gate.example/anthropic/v1/messages"),
            ("https://gate.example/x?key=1", "/v1/messages", "https://gate.example/x/v1/messages?key=1"),
        ];
        for (base, path, want) in table {
            let route = Route::of(path, &HeaderMap::new());
            assert_eq!(at(base).url(&route, None, &HeaderMap::new()).as_str(), want, "{base} {path}");
        }
        let none = HeaderMap::new();
        let route = Route::of("/v1/messages", &none);
        assert_eq!(
            at("http://x").url(&route, Some("beta=true"), &none).as_str(),
            "http://x/v1/messages?beta=true"
        );
    }

    /// A sign-in with ChatGPT has no access to the API, so that its requests go where Codex would send them.
    #[test]
    fn requests_of_a_chatgpt_sign_in_go_to_chatgpt_unless_a_provider_is_named() {
        let mut headers = HeaderMap::new();
        let route = Route::of("/v1/responses", &headers);
        let public = Upstreams::new(None, None).expect("the public providers");
        assert_eq!(public.url(&route, None, &headers).as_str(), "https://api.openai.com/v1/responses");
        headers.insert(CHATGPT_HEADER, "acc_1".parse().expect("a value"));
        assert_eq!(public.url(&route, None, &headers).as_str(), "https://chatgpt.com/backend-api/codex/responses");
        let models = Route::of("/v1/models", &headers);
        let url = public.url(&models, Some("client_version=1"), &headers);
        assert_eq!(url.as_str(), "https://chatgpt.com/backend-api/codex/models?client_version=1");
        assert_eq!(at("http://x/v1").url(&route, None, &headers).as_str(), "http://x/v1/responses");
    }

    #[test]
    fn nobody_is_their_own_upstream() {
        let own: SocketAddr = "127.0.0.1:6327".parse().expect("an address");
        let table = [
            ("http://127.0.0.1:6327/v1", true),
            ("http://localhost:6327", true),
            ("http://[::1]:6327", true),
            ("http://0.0.0.0:6327", true),
            ("http://127.0.0.1:6328/v1", false),
            ("https://api.openai.com/v1", false),
        ];
        for (base, want) in table {
            assert_eq!(at(base).check_not_self(own).is_err(), want, "{base}");
        }
        let mut headers = HeaderMap::new();
        let upstreams = at("http://x");
        headers.insert(header::VIA, "1.1 neap-0000000000000000".parse().expect("a value"));
        assert!(upstreams.request_headers(&headers, true).is_ok(), "another proxy may be before this one");
        headers.insert(header::VIA, format!("1.0 other, {}", upstreams.via_mark).parse().expect("a value"));
        assert_eq!(upstreams.request_headers(&headers, true), Err(ProxyError::Loop));
    }

    #[test]
    fn headers_of_the_connection_and_our_own_stay_here() {
        let given = [
            ("authorization", "Bearer k", true),
            ("x-api-key", "k", true),
            ("anthropic-beta", "a,b", true),
            ("x-claude-code-session-id", "s", true),
            ("user-agent", "claude", true),
            ("host", "localhost", false),
            ("content-length", "5", false),
            ("transfer-encoding", "chunked", false),
            ("connection", "keep-alive, x-hop", false),
            ("x-hop", "1", false),
            ("x-neap-session", "mine", false),
            ("content-encoding", "zstd", false),
            ("accept-encoding", "gzip", false),
        ];
        let headers: HeaderMap = given
            .iter()
            .map(|(name, value, _)| (name.parse().expect("a name"), value.parse().expect("a value")))
            .collect::<Vec<(HeaderName, HeaderValue)>>()
            .into_iter()
            .collect();
        let passed = at("http://x").request_headers(&headers, true).expect("no loop");
        for (name, _, want) in given {
            assert_eq!(passed.contains_key(name), want, "{name}");
        }
        assert!(passed.contains_key("via"));
    }
}
