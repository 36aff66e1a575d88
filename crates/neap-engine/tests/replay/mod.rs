//! Requests of clients, as they were recorded, sent to an engine one by one.

use std::path::Path;

use neap_core::base::tokens::Tokens;
use neap_engine::{Engine, IncomingRequest, RequestPlan};
use serde::Deserialize;

/// A request.
#[derive(Debug, Deserialize)]
pub(crate) struct Request {
    /// What it is an example of.
    #[serde(default)]
    pub(crate) name: String,
    /// Where it goes.
    pub(crate) path: String,
    /// What stands after that.
    #[serde(default)]
    pub(crate) query: String,
    /// Its headers.
    pub(crate) headers: Vec<(String, String)>,
    /// Its body, if it has one.
    pub(crate) body: Option<serde_json::Value>,
}

/// The requests in a file: a list of them, or one.
pub(crate) fn requests(path: &Path) -> Result<Vec<Request>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(&text).map_err(|error| error.to_string());
    }
    serde_json::from_str(&text).map(|request| vec![request]).map_err(|error| error.to_string())
}

/// Sends one.
pub(crate) async fn send(engine: &Engine, request: &Request) -> RequestPlan {
    let body = request.body.as_ref().map(ToString::to_string).unwrap_or_default();
    let path = if request.query.is_empty() {
        request.path.clone()
    } else {
        format!("{}?{}", request.path, request.query)
    };
    let incoming = IncomingRequest::new(&path, &request.headers, &body, Tokens(200_000));
    engine.ingest(&incoming).await
}

/// What came of it, in a line.
pub(crate) fn line(plan: &RequestPlan) -> String {
    let RequestPlan { session, class, verdict, api, fault, .. } = plan;
    let api = api.map_or("-", |api| api.as_str());
    let verdict = verdict.map_or("-", |verdict| verdict.as_str());
    let session = session.as_ref().map_or("-", |session| session.as_str());
    let changes = plan.changes.total();
    let fault = fault.as_ref().map_or_else(String::new, |fault| format!(" ({fault})"));
    format!("{api:<9} {:<17} {verdict:<17} {changes} changes  {session}{fault}", class.as_str())
}
