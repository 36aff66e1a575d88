//! `neap run -- COMMAND`: runs a command with a proxy of its own, announced in environment variables.

use std::net::SocketAddr;
use std::process::{ExitCode, ExitStatus};

use neap_model::caller::Tenancy;
use neap_server::proxy::ProxyLimits;
use tokio::process::Command;
use tokio::sync::oneshot;

use super::serve;
use crate::cli::RunArgs;
use crate::env::DataDir;
use crate::mcp_token;
use crate::out::{self, Failure};

/// Variables that clients read the provider's URL from, and the path to append.
const CLIENT_URL_VARS: [(&str, &str); 5] = [
    ("ANTHROPIC_BASE_URL", ""),
    ("OPENAI_BASE_URL", "/v1"),
    ("OPENAI_API_BASE", "/v1"),
    ("COPILOT_PROVIDER_BASE_URL", "/v1"),
    ("NEAP_PROXY_URL", ""),
];

pub(crate) async fn run(data: &DataDir, args: RunArgs) -> Result<ExitCode, Failure> {
    let RunArgs { proxy, command } = args;
    let [program, rest @ ..] = command.as_slice() else { return Err(Failure::new("there is no command to run")) };
    let bound = serve::bind(SocketAddr::from(([127, 0, 0, 1], 0)), &proxy).await?;
    // There is no /mcp here, but a client may send its token by mistake.
    let token = mcp_token::load_existing(data)?;
    let (token, limits) = (token.as_deref(), ProxyLimits::default());
    let server = serve::build_server(data, bound, Vec::new(), &proxy, Tenancy::Single, token, limits)?;
    let address = server.address();
    let (end_sender, end_receiver) = oneshot::channel::<()>();
    let server_task = tokio::spawn(server.run_until(async {
        let _ = end_receiver.await;
    }));
    let mut child = Command::new(program);
    child.args(rest);
    for (name, path) in CLIENT_URL_VARS {
        child.env(name, format!("http://{address}{path}"));
    }
    let status = wait_for_child(child).await;
    // The command has ended, and with it all streams.
    drop(end_sender);
    let status = status.map_err(|error| {
        Failure::new(format!("cannot run '{}': {error}", out::escape_control(&program.to_string_lossy())))
            .hint("write the command after --, as you would type it without neap run")
    })?;
    server_task.await.map_err(|error| Failure::new(error.to_string()))??;
    Ok(exit_code(status))
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
