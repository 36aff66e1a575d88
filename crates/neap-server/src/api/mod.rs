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
use neap_engine::{Agent, Engine};

use crate::access::{Access, Refused};
use crate::proxy::TenantProxy;
use crate::tenants::Tenants;
use events::Feed;
use problem::Problem;
pub use standalone::{BoundUi, UiServer};

/// Removes what belongs to a session outside the store, after it was erased; says what could not be removed.
pub type OnErased = Box<dyn Fn(&SessionId) -> Result<(), String> + Send + Sync>;

/// A running proxy beside the API.
pub(crate) trait ProxyView: Send + Sync {
    /// Whether a path below the API's prefix is a provider's: some have endpoints there.
    fn relays(&self, path: &str) -> bool;
    fn relay(self: Arc<Self>, request: Request) -> Pin<Box<dyn Future<Output = Response> + Send>>;
}

/// What the API of one tenant is built from.
pub struct ApiParts {
    /// Has an agent.
    pub engine: Engine,
    pub agent_id: AgentId,
    pub profile: AgentProfile,
    pub on_erased: OnErased,
}

/// The API of one tenant.
pub(crate) struct Api {
    engine: Engine,
    agent_id: AgentId,
    profile: AgentProfile,
    on_erased: OnErased,
    /// What the proxy did for this tenant.
    proxy: Option<Arc<TenantProxy>>,
    feed: Arc<Feed>,
}

/// The API and the page of all tenants, not yet served.
pub struct ApiHttp {
    pub(crate) access: Arc<Access>,
    pub(crate) tenants: Arc<Tenants>,
}

/// What answers a request before it is known whose it is.
pub(crate) struct ApiGate {
    pub(crate) access: Arc<Access>,
    pub(crate) tenants: Arc<Tenants>,
    /// For paths below the prefix that are a provider's.
    proxy: Option<Arc<dyn ProxyView>>,
}

impl ApiHttp {
    pub fn new(access: Arc<Access>, tenants: Arc<Tenants>) -> Self {
        Self { access, tenants }
    }

    pub(crate) fn into_router(self, proxy: Option<Arc<dyn ProxyView>>) -> Router {
        let Self { access, tenants } = self;
        let gate = Arc::new(ApiGate { access: access.clone(), tenants, proxy });
        serve::router(gate).merge(crate::ui::router(access))
    }
}

impl Api {
    pub(crate) fn new(parts: ApiParts, proxy: Option<Arc<TenantProxy>>) -> Self {
        let ApiParts { engine, agent_id, profile, on_erased } = parts;
        Self { engine, agent_id, profile, on_erased, proxy, feed: Feed::new() }
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Ends streams that would stay open forever.
    pub(crate) fn end_streams(&self) {
        self.feed.close();
    }

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
