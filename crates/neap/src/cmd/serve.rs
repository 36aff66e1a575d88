//! `neap serve`: a proxy for any client of OpenAI or Anthropic.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use neap_core::ingest::offered_tools;
use neap_core::tokens::Tokens;
use neap_model::wire::heard::Offer;

use crate::app;
use crate::cli::{ProxyArgs, ServeArgs};
use crate::env::DataDir;
#[cfg(debug_assertions)]
use crate::mcp::Fixture;
use crate::mcp::{Desk, Mcp, Place, Server};
use crate::model;
use crate::out::{self, Failure};
use crate::proxy::{Bound, Complaints, Decider, Serving, Upstreams};

pub(crate) async fn run(data: &DataDir, args: ServeArgs) -> Result<ExitCode, Failure> {
    let ServeArgs { listen, allow_host, mcp_token, user_words, proxy } = args;
    let serving = start(data, listen, allow_host.clone(), &proxy).await?;
    let is_local = serving.address().ip().is_loopback();
    let token = mcp_token.as_deref().map(str::trim).filter(|token| !token.is_empty());
    let place = Place { agent: Some(data.agent().clone()), ..Place::default() };
    let desk = Arc::new(Desk::new(app::agent_engine(data)?.build(), place, user_words.into()));
    let serving = serving.with_mcp(mcp(desk, allow_host, token, is_local));
    out::aside(format!("listening at http://{}", serving.address()));
    if !is_local {
        out::aside("whoever reaches this machine can speak through it, with a key of their own");
    }
    match token {
        None if !is_local => out::aside("/mcp is shut: set NEAP_MCP_TOKEN to serve it beyond this machine"),
        Some(_) if !is_local => {
            out::aside("who has the token for /mcp reads every conversation that is kept here")
        }
        None | Some(_) => {}
    }
    serving.until(end()).await?;
    Ok(ExitCode::SUCCESS)
}

fn mcp(desk: Arc<Desk>, hosts: Vec<String>, token: Option<&str>, is_local: bool) -> Mcp {
    #[cfg(debug_assertions)]
    if crate::env::text(crate::env::NEAP_MCP_FIXTURE).is_some() {
        return Mcp::new(move || Fixture::new(Server::new(desk.clone())), hosts, token, is_local);
    }
    Mcp::new(move || Server::new(desk.clone()), hosts, token, is_local)
}

/// A proxy that listens.
pub(crate) async fn start(
    data: &DataDir,
    listen: SocketAddr,
    hosts: Vec<String>,
    args: &ProxyArgs,
) -> Result<Serving, Failure> {
    let ProxyArgs { upstream, budget, over_budget, shadow, tools, memory_tool } = args;
    let named = upstream.as_deref().map(str::trim).filter(|url| !url.is_empty());
    let bound = Bound::at(listen, Upstreams::new(named)?).await?;
    let engine = app::proxy_engine(data)?.build();
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
    bound.serving(hosts, decider)
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
