//! What a request's path asks for, and in whose words.

use axum::http::HeaderMap;
use neap_core::ingest::{self, Endpoint};
use neap_model::client::Api;
use neap_model::wire::heard::endpoint;

use super::path::is_ours;

/// What is asked of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asks {
    /// An answer to a history.
    Answer,
    /// What a history costs.
    Count,
    /// A history made shorter.
    Compact,
    /// Anything else: it is passed on unseen.
    Other,
}

/// Whose words an error is put in, and where a request goes if nobody says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    OpenAi,
    Anthropic,
}

/// A request's path, understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Route<'a> {
    pub(crate) asks: Asks,
    /// The protocol, if the path is one of a history's.
    pub(crate) api: Option<Api>,
    pub(crate) family: Family,
    /// The path without the name of a session before it.
    pub(crate) path: &'a str,
    /// The path with it.
    pub(crate) whole: &'a str,
}

impl<'a> Route<'a> {
    pub(crate) fn of(whole: &'a str, headers: &HeaderMap) -> Self {
        let path = without_session(whole);
        let known = endpoint(path);
        let api = known.map(|(api, _)| match api {
            ingest::Api::Chat => Api::OpenAi,
            ingest::Api::Responses => Api::Responses,
            ingest::Api::Messages => Api::Anthropic,
        });
        let asks = match known {
            Some((_, Endpoint::Answer)) => Asks::Answer,
            Some((_, Endpoint::Count)) => Asks::Count,
            Some((_, Endpoint::Compact)) => Asks::Compact,
            None => Asks::Other,
        };
        let family = match api {
            Some(Api::OpenAi | Api::Responses) => Family::OpenAi,
            Some(Api::Anthropic) => Family::Anthropic,
            None if headers.contains_key("anthropic-version") || headers.contains_key("x-api-key") => {
                Family::Anthropic
            }
            None => Family::OpenAi,
        };
        Self { asks, api, family, path, whole }
    }

    /// Whether it is of Neap's own making: a provider never sees it, nor what it brings to prove who asks.
    pub(crate) fn is_ours(&self) -> bool {
        is_ours(self.whole)
    }

    /// What to call it in figures.
    pub(crate) fn name(&self) -> &'static str {
        match (self.api, self.asks) {
            (Some(_), Asks::Count) => "count",
            (Some(_), Asks::Compact) => "compact",
            (Some(Api::OpenAi), _) => "chat",
            (Some(Api::Responses), _) => "responses",
            (Some(Api::Anthropic), _) => "messages",
            (None, _) => "other",
        }
    }
}

/// `/s/<name>/v1/…` names a session.
fn without_session(path: &str) -> &str {
    let rest = path.strip_prefix("/s/").and_then(|rest| rest.find('/').map(|at| &rest[at..]));
    rest.unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_understood() {
        let table = [
            ("/v1/chat/completions", Some(Api::OpenAi), Asks::Answer, "/v1/chat/completions"),
            ("/chat/completions", Some(Api::OpenAi), Asks::Answer, "/chat/completions"),
            ("/v1/responses", Some(Api::Responses), Asks::Answer, "/v1/responses"),
            ("/s/mine/v1/responses", Some(Api::Responses), Asks::Answer, "/v1/responses"),
            ("/v1/responses/compact", Some(Api::Responses), Asks::Compact, "/v1/responses/compact"),
            ("/v1/responses/input_tokens", Some(Api::Responses), Asks::Count, "/v1/responses/input_tokens"),
            ("/v1/responses/resp_1", None, Asks::Other, "/v1/responses/resp_1"),
            ("/v1/messages", Some(Api::Anthropic), Asks::Answer, "/v1/messages"),
            ("/v1/messages/", Some(Api::Anthropic), Asks::Answer, "/v1/messages/"),
            ("/v1/messages/count_tokens", Some(Api::Anthropic), Asks::Count, "/v1/messages/count_tokens"),
            ("/v1/models", None, Asks::Other, "/v1/models"),
            ("/s/mine", None, Asks::Other, "/s/mine"),
            ("/", None, Asks::Other, "/"),
        ];
        for (path, api, asks, rest) in table {
            let route = Route::of(path, &HeaderMap::new());
            assert_eq!((route.api, route.asks, route.path), (api, asks, rest), "{path}");
        }
    }

    #[test]
    fn our_own_paths_are_told_from_others() {
        let is_ours = |path| Route::of(path, &HeaderMap::new()).is_ours();
        for path in ["/mcp", "/mcp/", "/mcp/x", "/s/mine/mcp", "/.well-known/oauth-protected-resource/mcp"] {
            assert!(is_ours(path), "{path}");
        }
        for path in ["/v1/mcp", "/mcps", "/", "/.well-known/other"] {
            assert!(!is_ours(path), "{path}");
        }
    }

    #[test]
    fn what_has_no_protocol_goes_by_its_headers() {
        let mut headers = HeaderMap::new();
        assert_eq!(Route::of("/v1/models", &headers).family, Family::OpenAi);
        headers.insert("anthropic-version", "2023-06-01".parse().expect("a value"));
        assert_eq!(Route::of("/v1/models", &headers).family, Family::Anthropic);
    }
}
