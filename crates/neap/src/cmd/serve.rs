//! `neap serve`: a proxy for any client of OpenAI or Anthropic.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use neap_core::ingest::{Callers, offered_tools};
use neap_core::tokens::Tokens;
use neap_model::wire::heard::Offer;

use crate::app;
use crate::cli::{CallersName, ProxyArgs, ServeArgs};
use crate::env::DataDir;
#[cfg(debug_assertions)]
use crate::mcp::Fixture;
use crate::mcp::{Desk, Mcp, Place, Server, SessionLimits};
use crate::model;
use crate::out::{self, Failure};
use crate::proxy::{Bound, Complaints, Decider, Guard, Limits, Serving, Upstreams};
use crate::token;

pub(crate) async fn run(data: &DataDir, args: ServeArgs) -> Result<ExitCode, Failure> {
    let ServeArgs { listen, allow_host, user_words, callers, mcp_token_file, mcp_token, proxy, .. } = args;
    let (max_connections, max_mcp_sessions) = (args.max_connections, args.max_mcp_sessions);
    if mcp_token.is_some() {
        return Err(token::not_on_the_command_line());
    }
    let bound = bound(listen, &proxy).await?;
    let is_local = bound.address().ip().is_loopback();
    let callers = match callers {
        CallersName::One => Callers::One,
        CallersName::Many => Callers::Many,
        CallersName::Auto if is_local => Callers::One,
        CallersName::Auto => Callers::Many,
    };
    let token = token::find(data, mcp_token_file.as_deref(), is_local)?;
    let secret = token.as_ref().map(|token| token.text.as_str());
    let limits = Limits { connections_max: usize::from(max_connections), ..Limits::default() };
    let has_names = !allow_host.is_empty();
    let serving = serving(data, bound, allow_host.clone(), &proxy, callers, secret, limits)?;
    let place = Place { agent: Some(data.agent().clone()), ..Place::default() };
    let engine = app::agent_engine(data)?;
    let engine = if callers == Callers::Many { engine.without_callers() } else { engine };
    let desk = Arc::new(Desk::new(engine.build(), place, user_words.into()));
    let sessions = SessionLimits { sessions_max: usize::from(max_mcp_sessions), ..SessionLimits::default() };
    let serving = serving.with_mcp(mcp(desk, allow_host, secret, is_local, sessions));
    out::aside(format!("listening at http://{}", serving.address()));
    if !is_local {
        out::aside("whoever reaches this machine can speak through it, with a key of their own");
    }
    match callers {
        Callers::Many => out::aside(
            "callers are told apart by the credentials they show; nothing is kept of requests that show none",
        ),
        Callers::One if !is_local => {
            out::aside(
                "all callers are taken for one, and may be shown what another said; --callers many keeps them apart",
            );
        }
        Callers::One if has_names => out::aside(
            "whoever comes by a name that --allow-host gives counts as this machine's one caller; --callers many keeps callers apart",
        ),
        Callers::One => {}
    }
    match token.map(|token| token.source) {
        Some(token::Source::Own(path)) => {
            out::aside(format!("/mcp takes the token in {}; who has it reads what is kept here", path.display()));
        }
        Some(_) if !is_local => out::aside("who has the token for /mcp reads what is kept here"),
        Some(_) | None => {}
    }
    serving.until(end()).await?;
    Ok(ExitCode::SUCCESS)
}

fn mcp(desk: Arc<Desk>, hosts: Vec<String>, token: Option<&str>, is_local: bool, limits: SessionLimits) -> Mcp {
    #[cfg(debug_assertions)]
    if crate::env::text(crate::env::NEAP_MCP_FIXTURE).is_some() {
        return Mcp::new(move || Fixture::new(Server::new(desk.clone())), hosts, token, is_local, limits);
    }
    Mcp::new(move || Server::new(desk.clone()), hosts, token, is_local, limits)
}

/// A place to listen at.
pub(crate) async fn bound(listen: SocketAddr, args: &ProxyArgs) -> Result<Bound, Failure> {
    let named = args.upstream.as_deref().map(str::trim).filter(|url| !url.is_empty());
    Bound::at(listen, Upstreams::new(named)?).await
}

/// A proxy that listens there.
pub(crate) fn serving(
    data: &DataDir,
    bound: Bound,
    hosts: Vec<String>,
    args: &ProxyArgs,
    callers: Callers,
    token: Option<&str>,
    limits: Limits,
) -> Result<Serving, Failure> {
    let ProxyArgs { upstream: _, budget, over_budget, shadow, tools, memory_tool } = args;
    let engine = app::proxy_engine(data)?.callers(callers).build();
    let _indexer = engine.start_indexer();
    let profiles = model::profiles(data)?;
    let tools = if *tools { offered_tools() } else { Vec::new() };
    let offer = Offer { tools, memory: *memory_tool };
    let offer = Some(offer).filter(|offer| offer.memory || !offer.tools.is_empty());
    let (budget, over_budget) = (budget.map(Tokens), *over_budget);
    let decider = Decider {
        engine,
        profiles,
        budget,
        over_budget,
        shadow: *shadow,
        offer,
        complaints: Complaints::default(),
        _indexer,
    };
    bound.serving(hosts, decider, Guard::new(token), limits)
}

/// Until somebody ends it: streams that have begun are finished, and a second time ends at once.
async fn end() {
    asked_to_end().await;
    out::aside("ending: streams that have begun are finished; once more ends at once");
    tokio::spawn(async {
        asked_to_end().await;
        std::process::exit(130);
    });
}

#[cfg(unix)]
async fn asked_to_end() {
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
async fn asked_to_end() {
    let _ = tokio::signal::ctrl_c().await;
}
