//! The latest responses, served to programs on this machine only, with a token: figures and session names, never text.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{ConnectInfo, RawQuery, State};
use axum::http::{HeaderMap, Method, header};
use axum::response::{IntoResponse, Response};
use neap_core::base::access::{Level, Surface};
use neap_core::client::WireApi;
use serde::{Deserialize, Serialize};

use super::Proxy;
use super::error::ProxyError;
use super::response_recorder::CompletedResponse;
use crate::access::{Need, Refused};
use crate::api::refusal;
use crate::tenants::NotServed;

const LOGGED_MAX: usize = 512;

/// Headers that a reverse proxy adds; with one of them a request is not local.
const FORWARDED: [&str; 4] = ["forwarded", "via", "x-forwarded-for", "x-real-ip"];

pub const PATH: &str = "/neap/recent";

const NEED: Need = Need::Api(Level::Read, Some(Surface::Sessions));

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoggedRequest {
    /// Increases by one with each entry.
    pub number: u64,
    /// When it completed, in milliseconds since the epoch.
    pub at: i64,
    pub asks: String,
    pub session: Option<String>,
    pub class: String,
    pub verdict: Option<String>,
    /// Tokens received and forwarded, as the provider counts, as far as that is known.
    pub tokens_in: u64,
    pub tokens_sent: u64,
    pub changes: usize,
    /// Items of the history that were not forwarded.
    pub left_out: usize,
    pub epoch: u64,
    /// As the provider reports it.
    pub used: Option<RequestUsage>,
    pub is_whole: bool,
    pub took_ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestUsage {
    pub input: u64,
    pub cached: u64,
    pub output: u64,
}

/// The response body of [`PATH`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestLogPage {
    /// Requests that wait for the head of their response.
    pub waiting: u64,
    pub requests: Vec<LoggedRequest>,
}

#[derive(Debug, Default)]
pub(crate) struct RequestLog(Mutex<(u64, VecDeque<LoggedRequest>)>);

impl RequestLog {
    pub(crate) fn add(&self, completed: &CompletedResponse, at: i64) {
        let Some(plan) = &completed.decision.plan else { return };
        let CompletedResponse { response, name, began, .. } = completed;
        let used = response.usage.map(|usage| RequestUsage {
            input: usage.input.0,
            cached: usage.cached.0,
            output: usage.output.0,
        });
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.0 += 1;
        let entry = LoggedRequest {
            number: log.0,
            at,
            asks: (*name).to_owned(),
            session: plan.session.as_ref().map(ToString::to_string),
            class: plan.class.as_str().to_owned(),
            verdict: plan.verdict.map(|verdict| verdict.as_str().to_owned()),
            tokens_in: plan.budget.likely(plan.tokens_in).0,
            tokens_sent: plan.budget.likely(plan.tokens_sent).0,
            changes: plan.changes.total(),
            left_out: plan.changes.dropped,
            epoch: plan.epoch,
            used,
            is_whole: response.is_complete,
            took_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        log.1.push_back(entry);
        if log.1.len() > LOGGED_MAX {
            log.1.pop_front();
        }
    }

    pub(super) fn after(&self, number: u64) -> Vec<LoggedRequest> {
        let log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.1.iter().filter(|entry| entry.number > number).cloned().collect()
    }
}

/// Serves the entries after a number.
pub(super) async fn serve_log(
    State(proxy): State<Arc<Proxy>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    method: Method,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    let is_forwarded = FORWARDED.iter().any(|name| headers.contains_key(*name));
    let is_local = peer.ip().is_loopback() && !is_forwarded && proxy.access.is_local_host(&headers);
    if !is_local {
        return ProxyError::Forbidden("it does not come from this machine".to_owned()).response(WireApi::Chat);
    }
    let services = match proxy.access.check(&method, &headers, NEED).await {
        Ok(Some(grant)) => proxy.tenants.of(&grant).await.map_err(|NotServed| Refused::Unavailable),
        Ok(None) => Err(Refused::NoKey),
        Err(refused) => Err(refused),
    };
    let tenant = services.and_then(|services| services.proxy.clone().ok_or(Refused::Unavailable));
    match tenant {
        Err(refused) => refusal(refused),
        Ok(tenant) => {
            let query = query.unwrap_or_default();
            let after = query.strip_prefix("after=").and_then(|number| number.parse().ok()).unwrap_or(0);
            let page = tenant.requests_after(after);
            let kind = [(header::CONTENT_TYPE, "application/json")];
            (kind, serde_json::to_string(&page).unwrap_or_default()).into_response()
        }
    }
}
