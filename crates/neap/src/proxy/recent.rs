//! The latest answers, for whoever watches from this machine: figures and names of sessions, never what was said.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{ConnectInfo, RawQuery, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use super::Proxy;
use super::ear::Answered;
use super::fault::Fault;
use super::route::Family;

/// Answers that are kept.
const KEPT_MAX: usize = 512;

/// What a server that passes requests on from elsewhere adds to them.
const FORWARDED: [&str; 4] = ["forwarded", "via", "x-forwarded-for", "x-real-ip"];

/// Where they are told.
pub(crate) const PATH: &str = "/neap/recent";

/// An answer that is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Seen {
    /// Grows with each.
    pub(crate) number: u64,
    /// When it was over, in milliseconds.
    pub(crate) at: i64,
    pub(crate) asks: String,
    pub(crate) session: Option<String>,
    pub(crate) class: String,
    pub(crate) verdict: Option<String>,
    /// What came, and what went on, by our count.
    pub(crate) tokens_in: u64,
    pub(crate) tokens_sent: u64,
    pub(crate) changes: usize,
    /// Items of the history that did not go on.
    pub(crate) left_out: usize,
    pub(crate) epoch: u64,
    /// What the provider says it used.
    pub(crate) used: Option<Used>,
    pub(crate) is_whole: bool,
    pub(crate) took_ms: u64,
}

/// What a provider says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Used {
    pub(crate) input: u64,
    pub(crate) cached: u64,
    pub(crate) output: u64,
}

/// What is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Told {
    /// Requests that wait for their answer's head.
    pub(crate) waiting: u64,
    pub(crate) requests: Vec<Seen>,
}

/// The latest.
#[derive(Debug, Default)]
pub(crate) struct Recent(Mutex<(u64, VecDeque<Seen>)>);

impl Recent {
    /// Takes one down.
    pub(crate) fn add(&self, answered: &Answered, at: i64) {
        let Some(plan) = &answered.decided.plan else { return };
        let Answered { heard, name, began, .. } = answered;
        let used =
            heard.usage.map(|usage| Used { input: usage.input.0, cached: usage.cached.0, output: usage.output.0 });
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.0 += 1;
        let seen = Seen {
            number: kept.0,
            at,
            asks: (*name).to_owned(),
            session: plan.session.as_ref().map(ToString::to_string),
            class: plan.class.as_str().to_owned(),
            verdict: plan.verdict.map(|verdict| verdict.as_str().to_owned()),
            tokens_in: plan.tokens_in.0,
            tokens_sent: plan.tokens_sent.0,
            changes: plan.changes.total(),
            left_out: plan.changes.dropped,
            epoch: plan.epoch,
            used,
            is_whole: heard.is_whole,
            took_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        kept.1.push_back(seen);
        if kept.1.len() > KEPT_MAX {
            kept.1.pop_front();
        }
    }

    fn after(&self, number: u64) -> Vec<Seen> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.1.iter().filter(|seen| seen.number > number).cloned().collect()
    }
}

/// Tells what came after a number: to programs on this machine alone.
pub(super) async fn recent(
    State(proxy): State<Arc<Proxy>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    let is_forwarded = FORWARDED.iter().any(|name| headers.contains_key(*name));
    let is_here = peer.ip().is_loopback() && !is_forwarded && proxy.gate.is_called_locally(&headers);
    let elsewhere = (!is_here).then_some("it does not come from this machine");
    match proxy.gate.refuses(&headers).or(elsewhere) {
        Some(why) => Fault::Forbidden(why).response(Family::OpenAi),
        None => {
            let query = query.unwrap_or_default();
            let after = query.strip_prefix("after=").and_then(|number| number.parse().ok()).unwrap_or(0);
            let told = Told { waiting: proxy.meter.waiting(), requests: proxy.recent.after(after) };
            let kind = [(header::CONTENT_TYPE, "application/json")];
            (kind, serde_json::to_string(&told).unwrap_or_default()).into_response()
        }
    }
}
