//! The HTTP API, `/api/v1`: what commands answer, for programs and for the page.
//!
//! `routes` is the table, `route` checks a request against it, `openapi` makes the document of it, and the other modules
//! answer. Nothing is decided here: the engine does what is asked. `page` bounds what is answered.

mod changes;
mod events;
mod export;
mod host_entries;
mod memories;
mod memory_changes;
mod memory_draft;
mod memory_transfer;
mod openapi;
mod page;
mod problem;
mod project;
mod prompt;
mod route;
mod routes;
mod search;
mod serve;
mod sessions;
mod standalone;
mod stream_body;
mod system;
mod turns;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use neap_core::base::ids::{AgentId, SessionId};
use neap_core::memory::knowledge::AgentProfile;
use neap_engine::{Agent, Engine, RecordingStatus};

use crate::access::{Access, Refused};
use crate::proxy::RequestLogPage;
use events::Feed;
use problem::Problem;
pub use standalone::{BoundUi, UiServer};

/// Removes what belongs to a session outside the store, after it was erased; says what could not be removed.
pub type OnErased = Box<dyn Fn(&SessionId) -> Result<(), String> + Send + Sync>;

/// What the API shows of a running proxy.
pub(crate) trait ProxyView: Send + Sync {
    /// The latest requests after a number.
    fn requests_after(&self, number: u64) -> RequestLogPage;
    fn recording_status(&self) -> RecordingStatus;
    /// Whether a path below the API's prefix is a provider's: some have endpoints there.
    fn relays(&self, path: &str) -> bool;
    fn relay(self: Arc<Self>, request: Request) -> Pin<Box<dyn Future<Output = Response> + Send>>;
}

/// What the API is built from.
pub struct ApiParts {
    /// Has an agent.
    pub engine: Engine,
    pub agent_id: AgentId,
    pub profile: AgentProfile,
    pub access: Arc<Access>,
    pub on_erased: OnErased,
}

pub(crate) struct Api {
    engine: Engine,
    agent_id: AgentId,
    profile: AgentProfile,
    pub(crate) access: Arc<Access>,
    on_erased: OnErased,
    proxy: Option<Arc<dyn ProxyView>>,
    feed: Arc<Feed>,
}

/// The API and the page, not yet served.
pub struct ApiHttp(ApiParts);

impl ApiHttp {
    pub fn new(parts: ApiParts) -> Self {
        Self(parts)
    }

    /// A path with a code that lets one browser in, once.
    pub fn enter_path(&self) -> Result<String, getrandom::Error> {
        self.0.access.enter_path()
    }

    /// The routes, and what ends streams that would stay open forever.
    pub(crate) fn into_router(self, proxy: Option<Arc<dyn ProxyView>>) -> (Router, Box<dyn FnOnce() + Send>) {
        let ApiParts { engine, agent_id, profile, access, on_erased } = self.0;
        let feed = Feed::new();
        let api = Arc::new(Api { engine, agent_id, profile, access, on_erased, proxy, feed: feed.clone() });
        let router = serve::router(api.clone()).merge(crate::ui::router(api));
        (router, Box::new(move || feed.close()))
    }
}

impl Api {
    /// The agent, as the store has it now.
    async fn agent(&self) -> Result<Agent, Problem> {
        let none = || Problem::not_found("no_agent", "this server has no agent").hint("name one with --agent");
        self.engine.agent().await?.ok_or_else(none)
    }
}

/// The answer to a request that the gate refuses, also outside the API's routes.
pub(crate) fn refusal(refused: Refused) -> Response {
    serve::finish(Err(refused.into()))
}

/// The document in OpenAPI 3.1, as it is checked in.
pub fn openapi_document() -> String {
    let mut text = serde_json::to_string_pretty(&openapi::document()).unwrap_or_default();
    text.push('\n');
    text
}
