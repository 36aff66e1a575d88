//! `neap serve`: runs the OpenAI- and Anthropic-compatible proxy and the MCP server.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use neap_core::base::tokens::Tokens;
use neap_core::client::offered_tools;
use neap_engine::EngineBuilder;
use neap_lab::conformance::ConformanceServer;
use neap_model::caller::Tenancy;
use neap_model::wire::request::ToolOffer;
use neap_server::access::{Access, ApiToken, Scope};
use neap_server::mcp::{McpHttp, McpState, Server, ServerDefaults, SessionLimits};
use neap_server::proxy::{BoundProxy, Decider, ProxyLimits, ProxyServer, ThrottledLog, TokenGuard, Upstreams};

use crate::api_token::{self, ApiTokens};
use crate::app;
use crate::cli::{CallersName, OverBudget, ProxyArgs, ServeArgs};
use crate::cmd::chat::chat_tools;
use crate::cmd::ui;
use crate::env::{self, DataDir};
use crate::mcp_token::{self, McpToken, TokenSource};
use crate::model;
use crate::out::{self, Failure};

pub(crate) async fn run(data: &DataDir, args: ServeArgs) -> Result<ExitCode, Failure> {
    let ServeArgs { listen, allow_host, user_words, callers, mcp_token_file, mcp_token, proxy, .. } = args;
    let (max_connections, max_mcp_sessions) = (args.max_connections, args.max_mcp_sessions);
    if mcp_token.is_some() {
        return Err(mcp_token::argument_refused());
    }
    let bound = bind(listen, &proxy, &[env::OPENAI_BASE_URL]).await?;
    let is_local = bound.address().ip().is_loopback();
    let callers = match callers {
        CallersName::One => Tenancy::Single,
        CallersName::Many => Tenancy::Multi,
        CallersName::Auto if is_local => Tenancy::Single,
        CallersName::Auto => Tenancy::Multi,
    };
    let token = mcp_token::resolve(data, mcp_token_file.as_deref(), is_local)?;
    let limits = ProxyLimits { connections_max: usize::from(max_connections), ..ProxyLimits::default() };
    let has_names = !allow_host.is_empty();
    let tokens = api_token::load_or_none(data);
    let guard = guard(token.as_ref(), &tokens, is_local);
    let mut known = tokens.tokens;
    known.extend(token.as_ref().map(|token| ApiToken::new(&token.text, Scope::Mcp)));
    let access = Arc::new(Access::new(allow_host, known, bound.address().port()));
    let engine = app::proxy_engine_builder(data)?.callers(callers);
    let server = build_server(data, bound, access.clone(), &proxy, engine, guard, limits)?;
    let defaults = ServerDefaults { agent: Some(data.agent().clone()), ..ServerDefaults::default() };
    let engine = app::agent_engine_builder(data)?.tools_of_other_hosts(chat_tools());
    let engine = if callers == Tenancy::Multi { engine.hide_callers() } else { engine };
    let engine = engine.build();
    let api = ui::http(data, engine.clone(), access.clone())?;
    let state = Arc::new(McpState::new(engine, defaults, user_words.into()));
    let sessions = SessionLimits { sessions_max: usize::from(max_mcp_sessions), ..SessionLimits::default() };
    out::print_notice(format!("listening at http://{}", server.address()));
    if is_local && std::io::stderr().is_terminal() {
        out::print_notice(format!("the page: http://{}{}", server.address(), ui::enter_path(&api)?));
    }
    let server = server.with_mcp(mcp_service(state, access, sessions)).with_api(api);
    if !is_local {
        out::print_notice("anyone who can reach this machine can use the proxy, with a provider key of their own");
    }
    match callers {
        Tenancy::Multi => out::print_notice(
            "callers are told apart by their credentials; requests without a credential are not stored",
        ),
        Tenancy::Single if !is_local => {
            out::print_notice(
                "all callers count as one and may see each other's data; --callers many keeps them apart",
            );
        }
        Tenancy::Single if has_names => out::print_notice(
            "callers that use a name from --allow-host count as this machine's one caller; --callers many keeps \
             callers apart",
        ),
        Tenancy::Single => {}
    }
    match token.map(|token| token.source) {
        Some(TokenSource::Own(path)) if !is_local || std::io::stderr().is_terminal() => {
            out::print_notice(format!(
                "/mcp requires the token in {}; anyone with the token can read the stored data",
                path.display()
            ));
        }
        Some(_) if !is_local => out::print_notice("anyone with the token for /mcp can read the stored data"),
        Some(_) | None => {}
    }
    server.run_until(shutdown_signal()).await?;
    Ok(ExitCode::SUCCESS)
}

fn mcp_service(state: Arc<McpState>, access: Arc<Access>, limits: SessionLimits) -> McpHttp {
    if env::var(env::NEAP_MCP_FIXTURE).is_some() {
        out::print_notice("/mcp also serves the test tools of MCP's conformance suite");
        return McpHttp::new(move || ConformanceServer::new(Server::new(state.clone())), access, limits);
    }
    McpHttp::new(move || Server::new(state.clone()), access, limits)
}

/// A token that only programs of this machine can use is kept back from heads alone, as the API's are: see
/// [`TokenGuard::with_head_only`].
pub(crate) fn guard(mcp: Option<&McpToken>, api: &ApiTokens, is_local: bool) -> TokenGuard {
    let secret = mcp.map(|token| token.text.as_str());
    let is_made_here = is_local && mcp.is_some_and(|token| matches!(token.source, TokenSource::Own(_)));
    let guard = TokenGuard::new(secret.filter(|_| !is_made_here));
    let head_only = secret.filter(|_| is_made_here).into_iter().chain(api.secrets.iter().map(String::as_str));
    head_only.fold(guard, TokenGuard::with_head_only)
}

/// `openai_names` are the variables that may name the provider of OpenAI's protocols.
pub(crate) async fn bind(
    listen: SocketAddr,
    args: &ProxyArgs,
    openai_names: &[&str],
) -> Result<BoundProxy, Failure> {
    let upstream = args.upstream.as_deref().map(str::trim).filter(|url| !url.is_empty());
    let named = |variable: &str| upstream.map(str::to_owned).or_else(|| env::var(variable));
    let openai = openai_names.iter().find_map(|name| named(name));
    let anthropic = named(env::ANTHROPIC_BASE_URL);
    let upstreams = Upstreams::new(openai.as_deref(), anthropic.as_deref())?;
    Ok(BoundProxy::bind(listen, upstreams, out::print_notice).await?)
}

pub(crate) fn build_server(
    data: &DataDir,
    bound: BoundProxy,
    access: Arc<Access>,
    args: &ProxyArgs,
    engine: EngineBuilder,
    guard: TokenGuard,
    limits: ProxyLimits,
) -> Result<ProxyServer, Failure> {
    let ProxyArgs { upstream: _, budget, over_budget, shadow, economy, trim_tools, tools, memory_tool } = args;
    let engine = engine.build();
    let _indexer = engine.start_indexer();
    let profiles = model::profiles(data)?;
    let tools = if *tools { offered_tools() } else { Vec::new() };
    let offer = ToolOffer { tools, has_memory_tool: *memory_tool };
    let offer = Some(offer).filter(|offer| offer.has_memory_tool || !offer.tools.is_empty());
    let decider = Decider {
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
    };
    Ok(bound.into_server(access, decider, guard, limits)?)
}

/// Resolves at the first signal to end; a second one exits at once.
pub(crate) async fn shutdown_signal() {
    terminate_signal().await;
    out::print_notice("shutting down: open streams will finish; a second signal exits at once");
    tokio::spawn(async {
        terminate_signal().await;
        std::process::exit(130);
    });
}

#[cfg(unix)]
async fn terminate_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let terminated = async {
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = terminated => {}
    }
}

#[cfg(not(unix))]
async fn terminate_signal() {
    let _ = tokio::signal::ctrl_c().await;
}
