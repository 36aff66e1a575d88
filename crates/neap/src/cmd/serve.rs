//! `neap serve`: a proxy for any client of OpenAI or Anthropic.

use std::process::ExitCode;

use crate::cli::{ServeArgs, UpstreamArgs};
use crate::out::{self, Failure};
use crate::proxy::{Decider, ProxyOptions, Serving, Upstreams};

pub(crate) async fn run(args: ServeArgs) -> Result<ExitCode, Failure> {
    let ServeArgs { listen, allow_host, upstream } = args;
    let serving = start(listen, allow_host, &upstream).await?;
    out::aside(format!("listening at http://{}", serving.address()));
    if !serving.address().ip().is_loopback() {
        out::aside("whoever reaches this machine can speak through it, with a key of their own");
    }
    serving.until(end()).await?;
    Ok(ExitCode::SUCCESS)
}

/// A proxy that listens.
pub(crate) async fn start(
    listen: std::net::SocketAddr,
    hosts: Vec<String>,
    args: &UpstreamArgs,
) -> Result<Serving, Failure> {
    let named = args.upstream.as_deref().map(str::trim).filter(|url| !url.is_empty());
    let upstreams = Upstreams::new(named)?;
    Serving::start(ProxyOptions { listen, hosts, upstreams, decider: Decider::default() }).await
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
