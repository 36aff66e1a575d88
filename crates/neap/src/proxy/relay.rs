//! Passes a request on, and its answer back.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::response::Response;
use neap_model::client::Overhearing;
use neap_model::wire::heard::OwnAnswer;

use super::decide::{Asked, Decided};
use super::ear::{Ear, Listened};
use super::fault::Fault;
use super::route::{Asks, Route};
use super::{Proxy, body, upstream};

pub(super) async fn relay(State(proxy): State<Arc<Proxy>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let route = Route::of(parts.uri.path(), &parts.headers);
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

impl Proxy {
    /// Gives the answer, and whether what was asked differs from what came.
    async fn pass(&self, route: &Route<'_>, parts: &Parts, body: Body) -> Result<(Response, bool), Fault> {
        let began = Instant::now();
        if let Some(why) = self.gate.refuses(&parts.headers) {
            return Err(Fault::Forbidden(why));
        }
        if route.is_ours() {
            return Err(Fault::NotHere);
        }
        if parts.headers.contains_key(header::UPGRADE) {
            return Err(Fault::Upgrade);
        }
        let is_history = route.asks != Asks::Other && parts.method == Method::POST;
        let headers = self.upstreams.headers(&parts.headers, is_history)?;
        let came = body::read(body, &parts.headers).await?;
        let (bytes, mut decided) = match is_history {
            true => self.decided(route, parts, came).await?,
            false => (came, Decided::default()),
        };
        if let Some(answer) = decided.answer.take() {
            return Ok((answered_here(answer, &decided), false));
        }
        let url = self.upstreams.url(route, parts.uri.query());
        let mut request = self.askers.to(&url).request(parts.method.clone(), url).headers(headers);
        if !bytes.is_empty() || parts.method == Method::POST {
            request = request.body(bytes);
        }
        let answer = request.send().await.map_err(|error| Fault::Unreachable(told(&error)))?;
        let is_changed = decided.body.is_some();
        Ok((self.handed_on(route, answer, decided, began), is_changed))
    }

    /// What goes on of a request about a history. What cannot be read goes on as it came: the provider says what is wrong.
    async fn decided(&self, route: &Route<'_>, parts: &Parts, came: Bytes) -> Result<(Bytes, Decided), Fault> {
        let bytes = body::unpacked(came, &parts.headers)?;
        let Ok(text) = std::str::from_utf8(&bytes) else { return Ok((bytes, Decided::default())) };
        let headers: Vec<(String, String)> = parts
            .headers
            .iter()
            .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
            .collect();
        let (path, wants_answer) = (parts.uri.path(), route.asks == Asks::Answer);
        let asked = Asked { path, headers: &headers, body: text, family: route.family, wants_answer };
        let mut decided = self.decider.decide(&asked).await;
        if let Some(fault) = decided.refused.take() {
            return Err(fault);
        }
        tracing::debug!(target: "neap::proxy", asks = route.name(), is_changed = decided.body.is_some(), "decided");
        let sent = decided.body.as_ref().map_or(bytes, |body| body.clone().into());
        Ok((sent, decided))
    }

    /// The answer as it comes, with what we have to say in headers of our own.
    fn handed_on(
        &self,
        route: &Route<'_>,
        answer: reqwest::Response,
        decided: Decided,
        began: Instant,
    ) -> Response {
        let (mut head, body) = axum::http::Response::<reqwest::Body>::from(answer).into_parts();
        let length = head.headers.get(header::CONTENT_LENGTH).cloned();
        head.headers = upstream::passed_on(&head.headers);
        if let Some(length) = length {
            head.headers.insert(header::CONTENT_LENGTH, length);
        }
        tell(&mut head.headers, &decided);
        head.extensions.clear();
        let body = match route.api.filter(|_| route.asks == Asks::Answer && head.status.is_success()) {
            Some(api) => {
                let hearing =
                    if is_stream(&head.headers) { Overhearing::stream(api) } else { Overhearing::whole(api) };
                let (name, answers) = (route.name(), self.answers.clone());
                Body::new(Listened::new(body, Ear { hearing, decided, name, began, answers }))
            }
            None => Body::new(body),
        };
        Response::from_parts(head, body)
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

fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream")
}

/// The innermost reason; the outer ones name the address, which may hold what is nobody's business.
fn told(error: &reqwest::Error) -> String {
    let mut reason: &dyn Error = error;
    while let Some(inner) = reason.source() {
        reason = inner;
    }
    reason.to_string()
}
