//! Classifies a request's path: endpoint, protocol and provider.

use axum::http::HeaderMap;
use neap_core::client::{self, Endpoint};
use neap_model::client::Api;
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

/// Selects the error format, and the default upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Provider {
    OpenAi,
    Anthropic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Route<'a> {
    pub(crate) kind: RouteKind,
    /// Set for endpoints with a history.
    pub(crate) api: Option<Api>,
    pub(crate) provider: Provider,
    /// Without the session prefix.
    pub(crate) path: &'a str,
    pub(crate) full_path: &'a str,
}

impl<'a> Route<'a> {
    pub(crate) fn of(full_path: &'a str, headers: &HeaderMap) -> Self {
        let path = strip_session(full_path);
        let endpoint = parse_endpoint(path);
        let api = endpoint.map(|(api, _)| match api {
            client::WireApi::Chat => Api::OpenAi,
            client::WireApi::Responses => Api::Responses,
            client::WireApi::Messages => Api::Anthropic,
        });
        let kind = match endpoint {
            Some((_, Endpoint::Generate)) => RouteKind::Answer,
            Some((_, Endpoint::CountTokens)) => RouteKind::Count,
            Some((_, Endpoint::Compact)) => RouteKind::Compact,
            None => RouteKind::Other,
        };
        let provider = match api {
            Some(Api::OpenAi | Api::Responses) => Provider::OpenAi,
            Some(Api::Anthropic) => Provider::Anthropic,
            None if headers.contains_key("anthropic-version") || headers.contains_key("x-api-key") => {
                Provider::Anthropic
            }
            None => Provider::OpenAi,
        };
        Self { kind, api, provider, path, full_path }
    }

    /// Whether the path is Neap's own; neither it nor its credentials ever reach a provider.
    pub(crate) fn is_own(&self) -> bool {
        is_own_path(self.full_path)
    }

    pub(crate) fn metric_name(&self) -> &'static str {
        match (self.api, self.kind) {
            (Some(_), RouteKind::Count) => "count",
            (Some(_), RouteKind::Compact) => "compact",
            (Some(Api::OpenAi), _) => "chat",
            (Some(Api::Responses), _) => "responses",
            (Some(Api::Anthropic), _) => "messages",
            (None, _) => "other",
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
            ("/v1/chat/completions", Some(Api::OpenAi), RouteKind::Answer, "/v1/chat/completions"),
            ("/chat/completions", Some(Api::OpenAi), RouteKind::Answer, "/chat/completions"),
            ("/v1/responses", Some(Api::Responses), RouteKind::Answer, "/v1/responses"),
            ("/s/mine/v1/responses", Some(Api::Responses), RouteKind::Answer, "/v1/responses"),
            ("/v1/responses/compact", Some(Api::Responses), RouteKind::Compact, "/v1/responses/compact"),
            ("/v1/responses/input_tokens", Some(Api::Responses), RouteKind::Count, "/v1/responses/input_tokens"),
            ("/v1/responses/resp_1", None, RouteKind::Other, "/v1/responses/resp_1"),
            ("/v1/messages", Some(Api::Anthropic), RouteKind::Answer, "/v1/messages"),
            ("/v1/messages/", Some(Api::Anthropic), RouteKind::Answer, "/v1/messages/"),
            ("/v1/messages/count_tokens", Some(Api::Anthropic), RouteKind::Count, "/v1/messages/count_tokens"),
            ("/v1/models", None, RouteKind::Other, "/v1/models"),
            ("/s/mine", None, RouteKind::Other, "/s/mine"),
            ("/", None, RouteKind::Other, "/"),
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
        assert_eq!(Route::of("/v1/models", &headers).provider, Provider::OpenAi);
        headers.insert("anthropic-version", "2023-06-01".parse().expect("a value"));
        assert_eq!(Route::of("/v1/models", &headers).provider, Provider::Anthropic);
    }
}
