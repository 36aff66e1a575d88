//! `neap ui`: the page and the HTTP API on the local store alone.

use std::io::IsTerminal;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;

use neap_server::access::Access;
use neap_server::api::{ApiHttp, BoundUi};
use neap_server::tenants::{TenantParts, Tenants};
use serde_json::json;

use crate::api_token;
use crate::app;
use crate::cli::UiArgs;
use crate::cmd::chat::chat_tools;
use crate::cmd::serve;
use crate::env::{self, DataDir};
use crate::out::{self, Failure};
use crate::tenant_parts;

pub(crate) async fn run(data: &DataDir, args: UiArgs, json: bool) -> Result<ExitCode, Failure> {
    let UiArgs { listen, no_open, until_stdin_closes } = args;
    if !listen.ip().is_loopback() {
        return Err(Failure::new(format!("neap ui serves this machine only, not {listen}"))
            .hint("`neap serve` serves the page to others, too"));
    }
    let bound = BoundUi::bind(listen).await?;
    let address = bound.address();
    let tokens = api_token::load_or_create(data)?;
    let access = Arc::new(Access::new(Vec::new(), tokens.tokens, address.port()));
    let engine = app::agent_engine_builder(data)?.tools_of_other_hosts(chat_tools()).build();
    let _indexer = engine.start_indexer();
    let parts = TenantParts { api: Some(tenant_parts::api(data, engine)?), ..TenantParts::default() };
    let url = format!("http://{address}{}", enter_path(&access)?);
    let api = ApiHttp::new(access, Arc::new(Tenants::only(parts)));
    if json {
        out::print_json(&json!({
            "url": url, "api": format!("http://{address}/api/v1"), "token_file": tokens.path,
        }))?;
    } else {
        out::print_line(&url);
        out::print_notice("the link lets one browser in, once; end with Ctrl-C");
    }
    if !no_open && !json && std::io::stdout().is_terminal() {
        open(&url);
    }
    let end = async move {
        tokio::select! {
            () = serve::shutdown_signal() => {}
            () = stdin_end(), if until_stdin_closes => {}
        }
    };
    bound.into_server(api).run_until(end).await;
    Ok(ExitCode::SUCCESS)
}

/// Resolves when standard input ends, as it does when the program that holds its other end is gone.
async fn stdin_end() {
    let (ended, end) = tokio::sync::oneshot::channel();
    // A thread of its own: a read of standard input cannot be cancelled.
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        let _ = ended.send(());
    });
    let _ = end.await;
}

pub(crate) fn enter_path(access: &Access) -> Result<String, Failure> {
    access.enter_path().map_err(|error| Failure::new(format!("cannot make a link: {error}")))
}

/// Tries to open a browser; the link is printed in any case.
fn open(url: &str) {
    let Some(opener) = env::url_opener() else { return };
    let started =
        Command::new(opener).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    if let Err(error) = started {
        tracing::debug!(target: "neap::ui", %error, "cannot open a browser");
    }
}
