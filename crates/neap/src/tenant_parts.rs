//! What serves one tenant, built over its data directory: the same for this machine's own and for every other.

use std::sync::Arc;

use neap_core::base::tokens::Tokens;
use neap_core::client::offered_tools;
use neap_core::memory::Author;
use neap_engine::{Engine, EngineBuilder};
use neap_lab::conformance::ConformanceServer;
use neap_model::caller::Tenancy;
use neap_model::wire::request::ToolOffer;
use neap_server::api::ApiParts;
use neap_server::mcp::{McpService, McpState, Server, ServerDefaults, SessionLimits};
use neap_server::proxy::{Decider, ThrottledLog};
use neap_server::tenants::TenantParts;

use crate::agent_profile;
use crate::app;
use crate::cli::{OverBudget, ProxyArgs};
use crate::cmd::chat::chat_tools;
use crate::env::{self, DataDir};
use crate::files;
use crate::model;
use crate::out::{self, Failure};

/// How a server serves each of its tenants.
#[derive(Debug, Clone)]
pub(crate) struct Serving {
    pub(crate) proxy: ProxyArgs,
    pub(crate) callers: Tenancy,
    /// Author of the user's words in MCP.
    pub(crate) user_words: Author,
    pub(crate) mcp_sessions: SessionLimits,
}

impl Serving {
    /// Opens a data directory's store, creating it if there is none.
    pub(crate) fn parts(&self, data: &DataDir) -> Result<TenantParts, Failure> {
        let proxy = decider(data, &self.proxy, app::proxy_engine_builder(data)?.callers(self.callers))?;
        let defaults = ServerDefaults { agent: Some(data.agent().clone()), ..ServerDefaults::default() };
        let engine = app::agent_engine_builder(data)?.tools_of_other_hosts(chat_tools());
        let engine = if self.callers == Tenancy::Multi { engine.hide_callers() } else { engine };
        let engine = engine.build();
        let api = api(data, engine.clone())?;
        let state = Arc::new(McpState::new(engine, defaults, self.user_words));
        let mcp = mcp_service(state, self.mcp_sessions.clone());
        Ok(TenantParts { proxy: Some(proxy), mcp: Some(mcp), api: Some(api) })
    }
}

fn mcp_service(state: Arc<McpState>, limits: SessionLimits) -> McpService {
    if env::var(env::NEAP_MCP_FIXTURE).is_some() {
        out::print_notice("/mcp also serves the test tools of MCP's conformance suite");
        return McpService::new(move || ConformanceServer::new(Server::new(state.clone())), limits);
    }
    McpService::new(move || Server::new(state.clone()), limits)
}

/// What plans and records requests of the proxy.
pub(crate) fn decider(data: &DataDir, args: &ProxyArgs, engine: EngineBuilder) -> Result<Decider, Failure> {
    let ProxyArgs { upstream: _, budget, over_budget, shadow, economy, trim_tools, tools, memory_tool } = args;
    let engine = engine.build();
    let _indexer = engine.start_indexer();
    let profiles = model::profiles(data)?;
    let tools = if *tools { offered_tools() } else { Vec::new() };
    let offer = ToolOffer { tools, has_memory_tool: *memory_tool };
    let offer = Some(offer).filter(|offer| offer.has_memory_tool || !offer.tools.is_empty());
    Ok(Decider {
        engine,
        profiles,
        budget: budget.map(Tokens),
        passes_over_budget: *over_budget == OverBudget::Pass,
        shadow: *shadow,
        trims_tools: *trim_tools,
        economy: *economy,
        offer,
        warnings: ThrottledLog::new(out::print_notice),
        _indexer,
    })
}

/// The API over an engine that has the selected agent.
pub(crate) fn api(data: &DataDir, engine: Engine) -> Result<ApiParts, Failure> {
    let folder = data.clone();
    Ok(ApiParts {
        engine,
        agent_id: data.agent().clone(),
        profile: agent_profile::load(data)?,
        on_erased: Box::new(move |session| {
            let history = folder.history_file(session);
            files::remove(&history)
                .map_err(|error| format!("erased {session}, but not its input history: {error}"))
        }),
    })
}
