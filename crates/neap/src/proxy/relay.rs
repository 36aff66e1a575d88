//! Passes a request on, and its answer back.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use neap_engine::Recorded;
use neap_model::client::Overhearing;
use neap_model::compute::off_worker;
use neap_model::wire::heard::OwnAnswer;

use super::decide::{Asked, Decided};
use super::ear::{Ear, Listened};
use super::fault::Fault;
use super::hops::{Asking, Hops, Whole};
use super::route::{Asks, Route};
use super::{Proxy, body, path, upstream};

/// The tool that Anthropic's models know, and how a provider is told that it is used.
const MEMORY: &str = "memory";
const BETA: &str = "anthropic-beta";
const MEMORY_BETA: &str = "context-management-2025-06-27";

pub(super) async fn relay(State(proxy): State<Arc<Proxy>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let path = path::normal(parts.uri.path());
    let route = Route::of(&path, &parts.headers);
    let passed = {
        let _waiting = proxy.meter.begin();
        proxy.pass(&route, &parts, body).await
    };
    let (response, is_changed) = match passed {
        Ok((response, is_changed)) => (response, is_changed),
        Err(fault) => {
            tracing::warn!(target: "neap::proxy", asks = route.name(), ?fault, "not passed on");
            (fault.response(route.family), false)
        }
    };
    proxy.meter.answered(route.name(), response.status().as_u16(), is_changed);
    response
}

/// An answer's head and body, as a provider gave them.
struct Came {
    status: StatusCode,
    headers: HeaderMap,
    /// Its length, where it is passed on as it came and that is known.
    length: Option<HeaderValue>,
    body: Body,
}

impl Proxy {
    /// Gives the answer, and whether what was asked differs from what came.
    async fn pass(
        self: &Arc<Self>,
        route: &Route<'_>,
        parts: &Parts,
        body: Body,
    ) -> Result<(Response, bool), Fault> {
        let began = Instant::now();
        if let Some(why) = self.gate.refuses(&parts.headers) {
            return Err(Fault::Forbidden(why));
        }
        if route.is_ours() || path::is_ours(parts.uri.path()) {
            return Err(Fault::NotHere);
        }
        if self.guard.is_in_head(parts) {
            return Err(Fault::OwnToken);
        }
        if parts.headers.contains_key(header::UPGRADE) {
            return Err(Fault::Upgrade);
        }
        let is_history = route.asks != Asks::Other && parts.method == Method::POST;
        let headers = self.upstreams.headers(&parts.headers, is_history)?;
        let came = body::read(body, &parts.headers).await?;
        let plain = body::plain(came.clone(), &parts.headers).await;
        if self.brings_our_token(&came, plain.as_ref().ok()).await {
            return Err(Fault::OwnToken);
        }
        let (bytes, mut decided) = match is_history {
            true => self.decided(route, parts, plain?).await?,
            false => (came, self.measured(route, plain?).await?),
        };
        if decided.over.is_some() {
            self.meter.over_budget();
        }
        if let Some(answer) = decided.answer.take() {
            return Ok((answered_here(answer, &decided), false));
        }
        let url = self.upstreams.url(route, parts.uri.query());
        let mut asking = Asking { method: parts.method.clone(), url, headers, body: bytes };
        let is_changed = decided.body.is_some();
        let has_memory = decided.plan.as_ref().is_some_and(|plan| plan.ours.contains(MEMORY));
        if has_memory {
            tell_of_memory(&mut asking.headers);
        }
        let answer = self.send(&asking).await?;
        let hops = Hops::new(self.clone(), &decided, route.api, asking);
        let came = match hops.filter(|_| answer.status().is_success()) {
            Some(hops) => hopped(answer, hops).await?,
            None => as_it_came(answer),
        };
        Ok((self.handed_on(route, came, decided, began), is_changed))
    }

    /// Whether a body holds the token for `/mcp`. What cannot be unpacked is looked at as it is.
    async fn brings_our_token(self: &Arc<Self>, came: &Bytes, plain: Option<&Bytes>) -> bool {
        if self.guard.is_off() {
            return false;
        }
        let mut all = vec![came.clone()];
        all.extend(plain.filter(|plain| plain.as_ptr() != came.as_ptr()).cloned());
        let (proxy, bytes) = (self.clone(), all.iter().map(Bytes::len).sum());
        off_worker(bytes, move || all.iter().any(|body| proxy.guard.is_in(body))).await
    }

    /// Asks a provider.
    pub(super) async fn send(&self, asking: &Asking) -> Result<reqwest::Response, Fault> {
        let Asking { method, url, headers, body } = asking;
        let mut request = self.askers.to(url).request(method.clone(), url.clone()).headers(headers.clone());
        if !body.is_empty() || method == Method::POST {
            request = request.body(body.clone());
        }
        request.send().await.map_err(|error| Fault::Unreachable(told(&error)))
    }

    /// Looks at a body that is no history that we read: nothing goes on unlooked at where a budget was set.
    async fn measured(&self, route: &Route<'_>, unpacked: Bytes) -> Result<Decided, Fault> {
        if unpacked.is_empty() || self.decider.budget.is_none() {
            return Ok(Decided::default());
        }
        let (decider, path) = (self.decider.clone(), route.path.to_owned());
        let over = off_worker(unpacked.len(), move || decider.measured(&path, &unpacked)).await;
        match over.and_then(|overflow| self.decider.refused(route.family, &overflow, false)) {
            Some(fault) => Err(fault),
            None => Ok(Decided { over, ..Decided::default() }),
        }
    }

    /// What goes on of a request about a history. What cannot be read goes on as it came if it is short enough: the provider says
    /// what is wrong.
    async fn decided(&self, route: &Route<'_>, parts: &Parts, bytes: Bytes) -> Result<(Bytes, Decided), Fault> {
        let Ok(text) = std::str::from_utf8(&bytes) else {
            let decided = self.measured(route, bytes.clone()).await?;
            return Ok((bytes, decided));
        };
        let headers: Vec<(String, String)> =
            parts.headers.iter().map(|(name, value)| (name.as_str().to_owned(), as_text(value))).collect();
        let path = target(route.whole, parts);
        let asked = Asked { path: &path, headers: &headers, body: text, family: route.family };
        let mut decided = self.decider.decide(&asked).await;
        if let Some(fault) = decided.refused.take() {
            return Err(fault);
        }
        match decided.plan.as_ref().map(|plan| &plan.recorded) {
            Some(Recorded::No(reason)) => self.unrecorded.request(reason),
            Some(Recorded::Yes) => self.unrecorded.recorded(),
            Some(Recorded::NotKept | Recorded::NotNeeded) | None => {}
        }
        tracing::debug!(target: "neap::proxy", asks = route.name(), is_changed = decided.body.is_some(), "decided");
        let sent = decided.body.as_ref().map_or(bytes, |body| body.clone().into());
        Ok((sent, decided))
    }

    /// The answer as it comes, with what we have to say in headers of our own.
    fn handed_on(self: &Arc<Self>, route: &Route<'_>, came: Came, decided: Decided, began: Instant) -> Response {
        let Came { status, headers, length, body } = came;
        let is_heard = route.asks == Asks::Answer && status.is_success();
        let is_stream = is_stream(&headers);
        let mut headers = upstream::passed_on(&headers);
        if let Some(length) = length {
            headers.insert(header::CONTENT_LENGTH, length);
        }
        tell(&mut headers, &decided);
        let body = match route.api.filter(|_| is_heard) {
            Some(api) => {
                let hearing = if is_stream { Overhearing::stream(api) } else { Overhearing::whole(api) };
                let (name, proxy) = (route.name(), self.clone());
                Body::new(Listened::new(body, Ear { hearing, decided, name, began, proxy }))
            }
            None => body,
        };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        response
    }
}

/// An answer as a provider gives it.
fn as_it_came(answer: reqwest::Response) -> Came {
    let (head, body) = axum::http::Response::<reqwest::Body>::from(answer).into_parts();
    let length = head.headers.get(header::CONTENT_LENGTH).cloned();
    Came { status: head.status, headers: head.headers, length, body: Body::new(body) }
}

/// An answer over as many requests as it takes.
async fn hopped(first: reqwest::Response, hops: Hops) -> Result<Came, Fault> {
    let (status, headers) = (first.status(), first.headers().clone());
    if is_stream(&headers) {
        return Ok(Came { status, headers, length: None, body: hops.stream(first) });
    }
    let Whole { status, headers, body } = hops.whole(first).await?;
    Ok(Came { status, headers, length: None, body: Body::from(body) })
}

/// Tells a provider that the memory tool is used, if nobody has.
fn tell_of_memory(headers: &mut HeaderMap) {
    let named = headers.get_all(BETA).iter().filter_map(|value| value.to_str().ok());
    let mut named: Vec<String> = named.map(str::to_owned).collect();
    if named.iter().any(|value| value.contains(MEMORY_BETA)) {
        return;
    }
    named.push(MEMORY_BETA.to_owned());
    if let Ok(value) = HeaderValue::from_str(&named.join(",")) {
        headers.insert(BETA, value);
    }
}

/// Puts what we have to say into headers of our own.
fn tell(headers: &mut HeaderMap, decided: &Decided) {
    let over = decided.over.map(|over| ("x-neap-over-budget", format!("{} of {}", over.needed, over.budget)));
    for (name, value) in decided.told.iter().chain(over.as_ref()) {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
}

/// An answer that nobody else was asked for.
fn answered_here(answer: OwnAnswer, decided: &Decided) -> Response {
    let mut response = Response::new(Body::from(answer.body));
    let kind = if answer.is_stream { "text/event-stream" } else { "application/json" };
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    tell(response.headers_mut(), decided);
    response
}

/// A header as text, byte by byte where it is none: two that differ never become one.
fn as_text(value: &HeaderValue) -> String {
    value.to_str().map_or_else(|_| value.as_bytes().iter().map(|byte| *byte as char).collect(), str::to_owned)
}

/// The path with all else of a target that may show who asks.
fn target(path: &str, parts: &Parts) -> String {
    let query = parts.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let user = parts.uri.authority().filter(|authority| authority.as_str().contains('@'));
    let address = user.map(|authority| format!("http://{authority}")).unwrap_or_default();
    format!("{address}{path}{query}")
}

fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream")
}

/// The innermost reason; the outer ones name the address, which may hold what is nobody's business.
pub(crate) fn told(error: &reqwest::Error) -> String {
    let mut reason: &dyn Error = error;
    while let Some(inner) = reason.source() {
        reason = inner;
    }
    reason.to_string()
}
