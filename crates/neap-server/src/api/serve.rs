//! From a request to an answer: the gate, the table, the handler, and the headers of every answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{RawPathParams, Request};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use neap_core::base::access::Level;
use neap_core::client::Digest;

use super::problem::Problem;
use super::route::{Answer, Route};
use super::routes::{PREFIX, routes};
use super::{ApiGate, system};
use crate::access::{Need, Refused};
use crate::proxy::is_body_timeout;
use crate::tenants::{NotServed, keep_while_sent};

const BODY_BYTES_MAX: usize = 4 << 20;

/// A router over the table. What is not in it below the prefix is for the caller's fallback.
pub(super) fn router(gate: Arc<ApiGate>) -> Router {
    let mut by_path: BTreeMap<&'static str, Vec<Route>> = BTreeMap::new();
    for route in routes() {
        by_path.entry(route.path).or_default().push(route);
    }
    let mut router = Router::new();
    for (path, routes) in by_path {
        let (gate, routes) = (gate.clone(), Arc::new(routes));
        let handler = move |params: Result<RawPathParams, _>, request: Request| {
            let (gate, routes) = (gate.clone(), routes.clone());
            async move {
                let path = params.map(|params: RawPathParams| {
                    params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
                });
                match path {
                    Ok(path) => finish(answer(&gate, &routes, path, request).await),
                    Err::<_, axum::extract::rejection::RawPathParamsRejection>(_) => {
                        finish(Err(Problem::bad_request("the path is not UTF-8 text")))
                    }
                }
            }
        };
        router = router.route(&format!("{PREFIX}{path}"), any(handler));
    }
    let rest = move |request: Request| {
        let gate = gate.clone();
        async move { no_route(&gate, request).await }
    };
    [PREFIX, &format!("{PREFIX}/"), &format!("{PREFIX}/{{*rest}}")]
        .into_iter()
        .fold(router, |router, path| router.route(path, any(rest.clone())))
}

/// A path below the prefix that is not in the table: a provider's, or nobody's.
async fn no_route(gate: &ApiGate, request: Request) -> Response {
    if let Some(proxy) = gate.proxy.as_ref().filter(|proxy| proxy.relays(request.uri().path())) {
        return proxy.clone().relay(request).await;
    }
    let need = Need::Api(Level::Read, None);
    let problem = match gate.access.check(request.method(), request.headers(), need).await {
        Ok(_) => Problem::not_found("no_route", "there is no such route").hint("/api/v1/openapi.json lists them"),
        Err(refused) => refused.into(),
    };
    finish(Err(problem))
}

async fn answer(
    gate: &ApiGate,
    routes: &[Route],
    path: Vec<(String, String)>,
    request: Request,
) -> Result<Response, Problem> {
    let (head, body) = request.into_parts();
    let method = if head.method == Method::HEAD { Method::GET } else { head.method.clone() };
    let route = routes.iter().find(|route| route.method == method);
    let need = route.map_or(Need::Api(Level::Read, None), |route| route.need);
    let grant = gate.access.check(&head.method, &head.headers, need).await?;
    let Some(route) = route else { return Ok(not_allowed(routes)) };
    let body = read_body(route, &head.headers, body).await?;
    let header =
        |name: &str| head.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let call = route.call(path, head.uri.query().unwrap_or_default(), header, body)?;
    let Some(grant) = grant else {
        let outcome = match gate.tenants.only_one().and_then(|services| services.api.clone()) {
            Some(api) => (route.handler)(api, call).await,
            // The one route that anybody may ask tells nothing of any tenant.
            None => system::health_of(gate.access.check_store().await),
        };
        return outcome.map(|answer| response(route, &head.headers, answer));
    };
    let services = gate.tenants.of(&grant).await.map_err(|NotServed| Refused::Unavailable)?;
    let api = services.api.clone().ok_or(Refused::Unavailable)?;
    if let Some(most) = grant.stored_bytes_max().filter(|_| route.writes())
        && services.has_stored(most).await
    {
        return Err(Refused::StoreFull(most).into());
    }
    let ids = call.ids();
    let outcome = (route.handler)(api, call).await;
    if route.writes() || grant.scope.level == Level::Admin {
        let status = match &outcome {
            Ok(_) => "ok".to_owned(),
            Err(problem) => problem.status.as_u16().to_string(),
        };
        gate.access.note(&grant, format!("{} {}", route.method, route.path), ids, status);
    }
    outcome.map(|answer| keep_while_sent(response(route, &head.headers, answer), (grant, services)))
}

fn response(route: &Route, asked: &HeaderMap, answer: Answer) -> Response {
    match answer {
        Answer::Stream(response) => response,
        Answer::Json(value) => {
            let text = value.to_string();
            debug_assert!(text.len() <= super::page::ANSWER_BYTES_MAX, "an answer is bounded: {}", route.id);
            json_response(route, asked, text)
        }
    }
}

async fn read_body(route: &Route, headers: &HeaderMap, body: Body) -> Result<Bytes, Problem> {
    if route.body.is_none() {
        return Ok(Bytes::new());
    }
    let kind = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let kind = kind.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if !kind.eq_ignore_ascii_case(b"application/json") {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "not_json",
            "the body must be application/json",
        ));
    }
    axum::body::to_bytes(body, BODY_BYTES_MAX).await.map_err(|error| {
        if is_body_timeout(&error) {
            return Problem::new(StatusCode::REQUEST_TIMEOUT, "too_slow", "the body did not arrive in time");
        }
        let detail = format!("the body has more than {BODY_BYTES_MAX} bytes, or is incomplete");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail)
    })
}

fn not_allowed(routes: &[Route]) -> Response {
    let allowed: Vec<&str> = routes.iter().map(|route| route.method.as_str()).collect();
    let allowed = allowed.join(", ");
    let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, "no_method", format!("this route has {allowed}"));
    let mut response = problem.into_response();
    if let Ok(value) = HeaderValue::from_str(&allowed) {
        response.headers_mut().insert(header::ALLOW, value);
    }
    response
}

fn json_response(route: &Route, asked: &HeaderMap, text: String) -> Response {
    let is_tagged = route.method == Method::GET && !route.is_live;
    let tag = is_tagged.then(|| format!("\"{}\"", Digest::of("neap answer", &[text.as_bytes()])));
    let is_known = |tag: &String| {
        let known = asked.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
        known.is_some_and(|known| known.split(',').any(|one| one.trim().trim_start_matches("W/") == tag))
    };
    let mut response = match &tag {
        Some(tag) if is_known(tag) => StatusCode::NOT_MODIFIED.into_response(),
        Some(_) | None => {
            let mut response = text.into_response();
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        }
    };
    if let Some(tag) = tag.and_then(|tag| HeaderValue::from_str(&tag).ok()) {
        response.headers_mut().insert(header::ETAG, tag);
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    }
    response
}

/// Headers that every answer has.
pub(crate) fn finish(outcome: Result<Response, Problem>) -> Response {
    let mut response = outcome.unwrap_or_else(Problem::into_response);
    let headers = response.headers_mut();
    let all = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in all {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}
