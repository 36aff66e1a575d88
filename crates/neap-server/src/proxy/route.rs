//! Classifies a request's path: endpoint and protocol.

use axum::http::HeaderMap;
use neap_core::client::{Endpoint, WireApi};
use neap_model::wire::request::parse_endpoint;

use super::path::is_own_path;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RouteKind {
    Answer,
    Count,
    Compact,
    /// Anything else, forwarded unchanged.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Route<'a> {
    pub(crate) kind: RouteKind,
    /// Selects the format of errors and the upstream; of [`RouteKind::Other`] only the provider is known.
    pub(crate) api: WireApi,
    /// Without the session prefix.
    pub(crate) path: &'a str,
    pub(crate) full_path: &'a str,
}

impl<'a> Route<'a> {
    pub(crate) fn of(full_path: &'a str, headers: &HeaderMap) -> Self {
        let path = strip_session(full_path);
        let is_anthropic = headers.contains_key("anthropic-version") || headers.contains_key("x-api-key");
        let (api, kind) = match parse_endpoint(path) {
            Some((api, Endpoint::Generate)) => (api, RouteKind::Answer),
            Some((api, Endpoint::CountTokens)) => (api, RouteKind::Count),
            Some((api, Endpoint::Compact)) => (api, RouteKind::Compact),
            None if is_anthropic => (WireApi::Messages, RouteKind::Other),
            None => (WireApi::Chat, RouteKind::Other),
        };
        Self { kind, api, path, full_path }
    }

    /// Whether the path is Neap's own; neither it nor its credentials ever reach a provider.
    pub(crate) fn is_own(&self) -> bool {
        is_own_path(self.full_path)
    }

    pub(crate) fn metric_name(&self) -> &'static str {
        match self.kind {
            RouteKind::Answer => self.api.as_str(),
            RouteKind::Count => "count",
            RouteKind::Compact => "compact",
            RouteKind::Other => "other",
        }
    }
}

/// Removes the session prefix of `/s/<name>/v1/…`.
fn strip_session(path: &str) -> &str {
    let rest = path.strip_prefix("/s/").and_then(|rest| rest.find('/').map(|at| &rest[at..]));
    rest.unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_understood() {
        let table = [
            ("/v1/chat/completions", WireApi::Chat, RouteKind::Answer, "/v1/chat/completions"),
            ("/chat/completions", WireApi::Chat, RouteKind::Answer, "/chat/completions"),
            ("/v1/responses", WireApi::Responses, RouteKind::Answer, "/v1/responses"),
            ("/s/mine/v1/responses", WireApi::Responses, RouteKind::Answer, "/v1/responses"),
            ("/v1/responses/compact", WireApi::Responses, RouteKind::Compact, "/v1/responses/compact"),
            ("/v1/responses/input_tokens", WireApi::Responses, RouteKind::Count, "/v1/responses/input_tokens"),
            ("/v1/responses/resp_1", WireApi::Chat, RouteKind::Other, "/v1/responses/resp_1"),
            ("/v1/messages", WireApi::Messages, RouteKind::Answer, "/v1/messages"),
            ("/v1/messages/", WireApi::Messages, RouteKind::Answer, "/v1/messages/"),
            ("/v1/messages/count_tokens", WireApi::Messages, RouteKind::Count, "/v1/messages/count_tokens"),
            ("/v1/models", WireApi::Chat, RouteKind::Other, "/v1/models"),
            (
                "/v1/p/publishers/anthropic/models/m:rawPredict",
                WireApi::Messages,
                RouteKind::Answer,
                "/v1/p/publishers/anthropic/models/m:rawPredict",
            ),
            ("/model/m/invoke", WireApi::Chat, RouteKind::Other, "/model/m/invoke"),
            ("/s/mine", WireApi::Chat, RouteKind::Other, "/s/mine"),
            ("/", WireApi::Chat, RouteKind::Other, "/"),
        ];
        for (path, api, asks, rest) in table {
            let route = Route::of(path, &HeaderMap::new());
            assert_eq!((route.api, route.kind, route.path), (api, asks, rest), "{path}");
        }
    }

    #[test]
    fn our_own_paths_are_told_from_others() {
        let is_ours = |path| Route::of(path, &HeaderMap::new()).is_own();
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
        assert_eq!(Route::of("/v1/models", &headers).api, WireApi::Chat);
        headers.insert("anthropic-version", "2023-06-01".parse().expect("a value"));
        assert_eq!(Route::of("/v1/models", &headers).api, WireApi::Messages);
    }
}
