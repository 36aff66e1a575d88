//! `neap run -- COMMAND`: runs a command with a proxy of its own, announced in environment variables and arguments.

mod agents;
mod summary;

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::process::{ExitCode, ExitStatus};
use std::sync::Arc;

use neap_model::caller::Tenancy;
use neap_server::access::Access;
use neap_server::proxy::ProxyLimits;
use neap_server::tenants::{TenantParts, Tenants};
use tokio::process::Command;
use tokio::sync::oneshot;

use super::serve;
use crate::api_token;
use crate::app;
use crate::cli::RunArgs;
use crate::env::{self, DataDir};
use crate::mcp_token;
use crate::out::{self, Failure};
use crate::project::Asked;
use crate::tenant_parts;
use agents::{AgentProgram, url_variables};

pub(crate) async fn run(data: &DataDir, args: RunArgs, json: bool) -> Result<ExitCode, Failure> {
    let RunArgs { mut proxy, command } = args;
    let [program, rest @ ..] = command.as_slice() else { return Err(Failure::new("there is no command to run")) };
    let agent = AgentProgram::of_command(program);
    if proxy.upstream.is_none() {
        proxy.upstream = agent.and_then(|agent| agent.provider_variable).and_then(env::var);
    }
    // The command gets both variables anew, so what either of them said is the provider.
    let openai_names = [env::OPENAI_BASE_URL, env::OPENAI_API_BASE];
    let bound = serve::bind(SocketAddr::from(([127, 0, 0, 1], 0)), &proxy, &openai_names).await?;
    // There is neither an API nor /mcp here, but a client may send their tokens by mistake.
    let (token, tokens) = (mcp_token::load_existing(data)?, api_token::load_or_none(data));
    let guard = serve::guard(token.as_ref(), &tokens, true);
    let access = Arc::new(Access::new(Vec::new(), tokens.tokens, bound.address().port()));
    let project = Asked::of(None)?.project();
    let engine = app::proxy_engine_builder(data)?.callers(Tenancy::Single).project(project);
    let decider = tenant_parts::decider(data, &proxy, engine)?;
    let tenants = Tenants::only(TenantParts { proxy: Some(decider), ..TenantParts::default() });
    let server = bound.into_server(access, Arc::new(tenants), guard, ProxyLimits::default())?;
    let url = format!("http://{}", server.address());
    let out_of_reach = agent.and_then(|agent| agent.out_of_reach(env::has_prefix));
    if let Some(reason) = out_of_reach {
        out::print_notice(format!("the command runs without the proxy: {reason}"));
    }
    let (end_sender, end_receiver) = oneshot::channel::<()>();
    let server_task = tokio::spawn(server.run_until(async {
        let _ = end_receiver.await;
    }));
    let mut child = Command::new(program);
    child.args(agent.map(|agent| agent.arguments(&url)).unwrap_or_default()).args(rest);
    child.envs(url_variables(&url, env::has_prefix));
    let status = wait_for_child(child).await;
    // The command has ended, and with it all streams.
    drop(end_sender);
    let status = status.map_err(|error| {
        Failure::new(format!("cannot run '{}': {error}", out::escape_control(&program.to_string_lossy())))
            .hint("write the command after --, as you would type it without neap run")
    })?;
    let traffic = server_task.await.map_err(|error| Failure::new(error.to_string()))??;
    if json {
        summary::print_json(&traffic)?;
    } else if traffic.received == 0 {
        let elsewhere = out_of_reach.or(agent.map(|agent| agent.elsewhere));
        print_unused(program, elsewhere);
    } else {
        out::print_notice(summary::line(&traffic));
    }
    Ok(exit_code(status))
}

/// Says that the command never used the proxy, and why that may be.
fn print_unused(program: &OsStr, elsewhere: Option<&str>) {
    let program = program.to_string_lossy();
    let names: Vec<&str> = url_variables("", env::has_prefix).map(|(name, _)| name).collect();
    let reason = elsewhere.map_or_else(
        || {
            format!(
                "{} were set; {} may read its provider's address elsewhere",
                names.join(", "),
                out::escape_control(&program)
            )
        },
        str::to_owned,
    );
    out::print_notice(format!(
        "no request came through the proxy: nothing was recorded or bounded\nhint: {reason}; see docs/proxy.md, \"One agent\""
    ));
}

/// Waits for the command. Ctrl-C is left to it.
async fn wait_for_child(mut command: Command) -> std::io::Result<ExitStatus> {
    let mut child = command.spawn()?;
    loop {
        tokio::select! {
            status = child.wait() => return status,
            signal = tokio::signal::ctrl_c() => signal?,
        }
    }
}

/// The exit code; for a command killed by a signal, what a shell would return.
fn exit_code(status: ExitStatus) -> ExitCode {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status).map(|signal| 128 + signal);
    #[cfg(not(unix))]
    let signal: Option<i32> = None;
    let code = status.code().or(signal).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
