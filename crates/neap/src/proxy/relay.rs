//! Passes a request on, and its answer back.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use neap_engine::Plan;
use neap_model::client::Overhearing;
use neap_model::wire::heard::OwnAnswer;

use super::decide::{Asked, Decided};
use super::ear::{Ear, Listened};
use super::fault::Fault;
use super::held::Held;
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
        if route.is_ours() {
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
        if !self.guard.is_off() {
            // What cannot be unpacked is looked at as it is.
            let plain = body::unpacked(came.clone(), &parts.headers);
            if self.guard.is_in(&came) || plain.is_ok_and(|plain| self.guard.is_in(&plain)) {
                return Err(Fault::OwnToken);
            }
        }
        let (bytes, mut decided) = match is_history {
            true => self.decided(route, parts, came).await?,
            false => (came, Decided::default()),
        };
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
        let answer = self.ask(&asking, decided.plan.as_deref().filter(|plan| plan.is_recording())).await?;
        let hops = Hops::new(self.clone(), &decided, route.api, asking);
        let came = match hops.filter(|_| answer.status().is_success()) {
            Some(hops) => hopped(answer, hops).await?,
            None => as_it_came(answer),
        };
        Ok((self.handed_on(route, came, decided, began), is_changed))
    }

    /// Asks a provider.
    pub(super) async fn send(&self, asking: &Asking) -> Result<reqwest::Response, Fault> {
        self.ask(asking, None).await
    }

    /// Asks a provider; the request is whole only when what is new in it is durable (I2).
    async fn ask(&self, asking: &Asking, recording: Option<&Plan>) -> Result<reqwest::Response, Fault> {
        let Asking { method, url, headers, body } = asking;
        let mut request = self.askers.to(url).request(method.clone(), url.clone()).headers(headers.clone());
        if !body.is_empty() || method == Method::POST {
            request = request.body(match recording {
                Some(plan) => reqwest::Body::wrap(Held::new(body.clone(), plan.recorded())),
                None => body.clone().into(),
            });
        }
        request.send().await.map_err(|error| Fault::Unreachable(told(&error)))
    }

    /// What goes on of a request about a history. What cannot be read goes on as it came: the provider says what is wrong.
    async fn decided(&self, route: &Route<'_>, parts: &Parts, came: Bytes) -> Result<(Bytes, Decided), Fault> {
        let bytes = body::unpacked(came, &parts.headers)?;
        let Ok(text) = std::str::from_utf8(&bytes) else { return Ok((bytes, Decided::default())) };
        let headers: Vec<(String, String)> = parts
            .headers
            .iter()
            .map(|(name, value)| (name.as_str().to_owned(), as_text(value)))
            .collect();
        let (path, wants_answer) = (target(route.whole, parts), route.asks == Asks::Answer);
        let asked = Asked { path: &path, headers: &headers, body: text, family: route.family, wants_answer };
        let mut decided = self.decider.decide(&asked).await;
        if let Some(fault) = decided.refused.take() {
            return Err(fault);
        }
        tracing::debug!(target: "neap::proxy", asks = route.name(), is_changed = decided.body.is_some(), "decided");
        let sent = decided.body.as_ref().map_or(bytes, |body| body.clone().into());
        Ok((sent, decided))
    }

    /// The answer as it comes, with what we have to say in headers of our own.
    fn handed_on(&self, route: &Route<'_>, came: Came, decided: Decided, began: Instant) -> Response {
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
                let (name, answers) = (route.name(), self.answers.clone());
                Body::new(Listened::new(body, Ear { hearing, decided, name, began, answers }))
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
    for (name, value) in &decided.told {
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
