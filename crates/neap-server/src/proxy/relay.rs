//! Forwards requests to providers and their responses to clients.

use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use neap_engine::RecordingOutcome;
use neap_model::client::ResponseTap;
use neap_model::compute::run_blocking;
use neap_model::wire::request::LocalAnswer;

use super::body::ReceivedBody;
use super::decide::{HistoryRequest, RequestDecision};
use super::error::ProxyError;
use super::response_recorder::{RecordedBody, ResponseRecorder};
use super::route::{Route, RouteKind};
use super::tenant::Relay;
use super::tool_loop::{OwnToolLoop, UpstreamRequest, WholeResponse};
use super::{Proxy, body, path, upstream};
use crate::access::{KEY_HEADER, Refused};
use crate::tenants::keep_while_sent;

/// Anthropic's memory tool, and the beta that a request using it must name.
const MEMORY_TOOL: &str = "memory";
const BETA_HEADER: &str = "anthropic-beta";
const MEMORY_BETA: &str = "context-management-2025-06-27";

pub(super) async fn relay(State(proxy): State<Arc<Proxy>>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let path = path::normalized(parts.uri.path()).into_owned();
    let route = Route::of(&path, &parts.headers);
    // Programs also look whether somebody listens, which is no use of the proxy.
    if parts.method == Method::POST {
        proxy.request_metrics.count_received();
    }
    let result = {
        let _waiting = proxy.request_metrics.start_request();
        match proxy.clone().admit(&mut parts).await {
            Ok(relay) => {
                let _waiting = relay.tenant.start_request();
                let answered = relay.forward(&route, &parts, body).await;
                relay.note(&route, &parts, &answered);
                answered.map(|(response, is_changed)| (keep_while_sent(response, relay.clone()), is_changed))
            }
            Err(fault) => Err(fault),
        }
    };
    let (response, is_changed) = match result {
        Ok((response, is_changed)) => (response, is_changed),
        Err(fault) => {
            tracing::warn!(target: "neap::proxy", asks = route.metric_name(), ?fault, "not forwarded");
            (fault.response(route.api), false)
        }
    };
    proxy.request_metrics.count_response(route.metric_name(), response.status().as_u16(), is_changed);
    response
}

struct UpstreamResponse {
    status: StatusCode,
    headers: HeaderMap,
    /// Set only where the body is forwarded unchanged.
    length: Option<HeaderValue>,
    body: Body,
}

impl Proxy {
    /// Passes the gate. The key stays there: nothing behind sees it, least of all a provider.
    async fn admit(self: Arc<Self>, parts: &mut Parts) -> Result<Arc<Relay>, ProxyError> {
        let (grant, services, tenant) = self.tenant_of(&parts.method, &parts.headers).await?;
        parts.headers.remove(KEY_HEADER);
        if let Some(most) = grant.stored_bytes_max().filter(|_| parts.method == Method::POST)
            && services.has_stored(most).await
        {
            return Err(ProxyError::Refused(Refused::StoreFull(most)));
        }
        Ok(Arc::new(Relay { proxy: self, tenant, grant, _services: services }))
    }
}

impl Relay {
    /// Notes in the audit log who asked for what.
    fn note(&self, route: &Route<'_>, parts: &Parts, answered: &Result<(Response, bool), ProxyError>) {
        let what = format!("proxy {} {}", parts.method, route.metric_name());
        let session = answered.as_ref().ok().and_then(|(response, _)| response.headers().get("x-neap-session"));
        let ids = session.map(header_text).unwrap_or_default();
        let outcome = match answered {
            Ok((response, _)) => response.status().as_u16().to_string(),
            Err(_) => "not forwarded".to_owned(),
        };
        self.access.note(&self.grant, what, ids, outcome);
    }

    /// Returns the response and whether the forwarded request differs from the original.
    async fn forward(
        self: &Arc<Self>,
        route: &Route<'_>,
        parts: &Parts,
        body: Body,
    ) -> Result<(Response, bool), ProxyError> {
        let began = Instant::now();
        if route.is_own() || path::is_own_path(parts.uri.path()) {
            return Err(ProxyError::NotFound);
        }
        if self.token_guard.has_token_in_head(parts) {
            return Err(ProxyError::OwnToken);
        }
        if parts.headers.contains_key(header::UPGRADE) {
            return Err(ProxyError::Upgrade);
        }
        let is_history = route.kind != RouteKind::Other && parts.method == Method::POST;
        let headers = self.upstreams.request_headers(&parts.headers, is_history)?;
        let received = match self.receive(route, parts, body, is_history).await? {
            ReceivedBody::Whole(received) => received,
            ReceivedBody::Started(body) => {
                let response = self.send_upload(route, parts, headers, body).await?;
                let response =
                    self.client_response(route, passthrough(response), RequestDecision::default(), began);
                return Ok((response, false));
            }
        };
        let (bytes, mut decision) = self.decide_body(route, parts, received, is_history).await?;
        if decision.over_budget.is_some() {
            self.request_metrics.count_over_budget();
        }
        if let Some(response) = decision.answer.take() {
            return Ok((own_response(response, &decision), false));
        }
        let url = self.upstreams.url(route, parts.uri.query(), &parts.headers);
        let mut request = UpstreamRequest { method: parts.method.clone(), url, headers, body: bytes };
        let is_changed = decision.body.is_some();
        let has_memory = decision.plan.as_ref().is_some_and(|plan| plan.own_tools.contains(MEMORY_TOOL));
        if has_memory {
            add_memory_beta(&mut request.headers);
        }
        let response = self.send(&request).await?;
        let tool_loop = OwnToolLoop::new(self.clone(), &decision, request);
        let upstream_response = match tool_loop.filter(|_| response.status().is_success()) {
            Some(tool_loop) => run_tool_loop(response, tool_loop).await?,
            None => passthrough(response),
        };
        Ok((self.client_response(route, upstream_response, decision, began), is_changed))
    }

    /// Checks a body and decides what is sent in its place.
    async fn decide_body(
        self: &Arc<Self>,
        route: &Route<'_>,
        parts: &Parts,
        received: Bytes,
        is_history: bool,
    ) -> Result<(Bytes, RequestDecision), ProxyError> {
        let decoded = match is_history || self.is_read_whole(route, &parts.headers) {
            true => body::decoded(received.clone(), &parts.headers).await,
            false => Ok(received.clone()),
        };
        if self.has_own_token(&received, decoded.as_ref().ok()).await {
            return Err(ProxyError::OwnToken);
        }
        match is_history {
            true => self.decide_history(route, parts, decoded?).await,
            false => Ok((received, self.check_budget(route, content_type(&parts.headers), decoded?).await?)),
        }
    }

    /// Whether a body contains the token for `/mcp`, as received or decompressed.
    async fn has_own_token(self: &Arc<Self>, received: &Bytes, decoded: Option<&Bytes>) -> bool {
        if self.token_guard.is_disabled() {
            return false;
        }
        let mut all = vec![received.clone()];
        all.extend(decoded.filter(|decoded| decoded.as_ptr() != received.as_ptr()).cloned());
        let (relay, bytes) = (self.clone(), all.iter().map(Bytes::len).sum());
        run_blocking(bytes, move || all.iter().any(|body| relay.token_guard.has_token(body))).await
    }

    pub(super) async fn send(&self, request: &UpstreamRequest) -> Result<reqwest::Response, ProxyError> {
        let UpstreamRequest { method, url, headers, body } = request;
        let body = (!body.is_empty() || method == Method::POST).then(|| body.clone().into());
        self.clients.send((method.clone(), url.clone()), headers.clone(), body).await
    }

    /// Applies the user's budget to a body that is not a history Neap reads.
    async fn check_budget(
        &self,
        route: &Route<'_>,
        content_type: &str,
        body: Bytes,
    ) -> Result<RequestDecision, ProxyError> {
        if body.is_empty() || self.tenant.decider.budget.is_none() {
            return Ok(RequestDecision::default());
        }
        let (tenant, path, kind) = (self.tenant.clone(), route.path.to_owned(), content_type.to_owned());
        let over = run_blocking(body.len(), move || tenant.decider.budget_overflow(&path, &kind, &body)).await;
        match over.and_then(|overflow| self.tenant.decider.over_budget_error(route.api, &overflow, false)) {
            Some(fault) => Err(fault),
            None => Ok(RequestDecision { over_budget: over, ..RequestDecision::default() }),
        }
    }

    /// Plans a request with a history. One that cannot be parsed is forwarded unchanged if it fits the budget, and
    /// the provider reports what is wrong with it.
    async fn decide_history(
        &self,
        route: &Route<'_>,
        parts: &Parts,
        bytes: Bytes,
    ) -> Result<(Bytes, RequestDecision), ProxyError> {
        let Ok(text) = std::str::from_utf8(&bytes) else {
            let decision = self.check_budget(route, "", bytes.clone()).await?;
            return Ok((bytes, decision));
        };
        let headers: Vec<(String, String)> =
            parts.headers.iter().map(|(name, value)| (name.as_str().to_owned(), header_text(value))).collect();
        let path = request_target(route.full_path, parts);
        let request = HistoryRequest { path: &path, headers: &headers, body: text, api: route.api };
        let mut decision = self.tenant.decider.decide(&request).await;
        if let Some(fault) = decision.rejection.take() {
            return Err(fault);
        }
        match decision.plan.as_ref().map(|plan| &plan.recorded) {
            Some(RecordingOutcome::Deferred(reason)) => self.unrecorded.add_request(reason),
            Some(RecordingOutcome::Durable) => self.unrecorded.mark_recorded(),
            Some(RecordingOutcome::NotRetained | RecordingOutcome::NotNeeded) | None => {}
        }
        tracing::debug!(target: "neap::proxy", asks = route.metric_name(), is_changed = decision.body.is_some(), "decided");
        let sent = decision.body.as_ref().map_or(bytes, |body| body.clone().into());
        Ok((sent, decision))
    }

    fn client_response(
        self: &Arc<Self>,
        route: &Route<'_>,
        upstream_response: UpstreamResponse,
        decision: RequestDecision,
        began: Instant,
    ) -> Response {
        let UpstreamResponse { status, headers, length, body } = upstream_response;
        let is_recorded = route.kind == RouteKind::Answer && status.is_success();
        let is_stream = is_stream(&headers);
        let mut headers = upstream::forwarded_headers(&headers);
        if let Some(length) = length {
            headers.insert(header::CONTENT_LENGTH, length);
        }
        add_neap_headers(&mut headers, &decision);
        let body = if is_recorded {
            let tap = if is_stream { ResponseTap::stream(route.api) } else { ResponseTap::whole(route.api) };
            let (name, relay) = (route.metric_name(), self.clone());
            Body::new(RecordedBody::new(body, ResponseRecorder { tap, decision, name, began, relay }))
        } else {
            body
        };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        response
    }
}

fn passthrough(response: reqwest::Response) -> UpstreamResponse {
    let (head, body) = axum::http::Response::<reqwest::Body>::from(response).into_parts();
    let length = head.headers.get(header::CONTENT_LENGTH).cloned();
    UpstreamResponse { status: head.status, headers: head.headers, length, body: Body::new(body) }
}

async fn run_tool_loop(first: reqwest::Response, tool_loop: OwnToolLoop) -> Result<UpstreamResponse, ProxyError> {
    let (status, headers) = (first.status(), first.headers().clone());
    if is_stream(&headers) {
        return Ok(UpstreamResponse { status, headers, length: None, body: tool_loop.stream(first) });
    }
    let WholeResponse { status, headers, body } = tool_loop.collect(first).await?;
    Ok(UpstreamResponse { status, headers, length: None, body: Body::from(body) })
}

fn add_memory_beta(headers: &mut HeaderMap) {
    let betas = headers.get_all(BETA_HEADER).iter().filter_map(|value| value.to_str().ok());
    let mut betas: Vec<String> = betas.map(str::to_owned).collect();
    if betas.iter().any(|value| value.contains(MEMORY_BETA)) {
        return;
    }
    betas.push(MEMORY_BETA.to_owned());
    if let Ok(value) = HeaderValue::from_str(&betas.join(",")) {
        headers.insert(BETA_HEADER, value);
    }
}

fn add_neap_headers(headers: &mut HeaderMap, decision: &RequestDecision) {
    let over =
        decision.over_budget.map(|over| ("x-neap-over-budget", format!("{} of {}", over.needed, over.budget)));
    for (name, value) in decision.neap_headers.iter().chain(over.as_ref()) {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
}

fn own_response(answer: LocalAnswer, decision: &RequestDecision) -> Response {
    let mut response = Response::new(Body::from(answer.body));
    let kind = if answer.is_stream { "text/event-stream" } else { "application/json" };
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    add_neap_headers(response.headers_mut(), decision);
    response
}

/// A header as text. Non-ASCII bytes map one to one, so that different values stay different.
fn header_text(value: &HeaderValue) -> String {
    value.to_str().map_or_else(|_| value.as_bytes().iter().map(|byte| *byte as char).collect(), str::to_owned)
}

/// The path with the query and user info, which help to identify the caller.
fn request_target(path: &str, parts: &Parts) -> String {
    let query = parts.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let user = parts.uri.authority().filter(|authority| authority.as_str().contains('@'));
    let address = user.map(|authority| format!("http://{authority}")).unwrap_or_default();
    format!("{address}{path}{query}")
}

pub(super) fn content_type(headers: &HeaderMap) -> &str {
    headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn is_stream(headers: &HeaderMap) -> bool {
    content_type(headers).trim_start().to_ascii_lowercase().starts_with("text/event-stream")
}
