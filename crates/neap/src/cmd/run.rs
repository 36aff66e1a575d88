//! `neap run -- COMMAND`: a proxy for one command, which is told of it by its environment.

use std::net::SocketAddr;
use std::process::{ExitCode, ExitStatus};

use neap_core::ingest::Callers;
use tokio::process::Command;
use tokio::sync::oneshot;

use super::serve;
use crate::cli::RunArgs;
use crate::env::DataDir;
use crate::out::{self, Failure};
use crate::proxy::Limits;
use crate::token;

/// Variables by which clients are told where their provider is, and what comes after the address.
const TOLD: [(&str, &str); 5] = [
    ("ANTHROPIC_BASE_URL", ""),
    ("OPENAI_BASE_URL", "/v1"),
    ("OPENAI_API_BASE", "/v1"),
    ("COPILOT_PROVIDER_BASE_URL", "/v1"),
    ("NEAP_PROXY_URL", ""),
];

pub(crate) async fn run(data: &DataDir, args: RunArgs) -> Result<ExitCode, Failure> {
    let RunArgs { proxy, command } = args;
    let [program, rest @ ..] = command.as_slice() else { return Err(Failure::new("there is nothing to run")) };
    let bound = serve::bound(SocketAddr::from(([127, 0, 0, 1], 0)), &proxy).await?;
    // There is no /mcp here, but a client that has its token may bring it by mistake.
    let token = token::known(data)?;
    let (token, limits) = (token.as_deref(), Limits::default());
    let serving = serve::serving(data, bound, Vec::new(), &proxy, Callers::One, token, limits)?;
    let address = serving.address();
    let (ended, end) = oneshot::channel::<()>();
    let serves = tokio::spawn(serving.until(async {
        let _ = end.await;
    }));
    let mut child = Command::new(program);
    child.args(rest);
    for (name, path) in TOLD {
        child.env(name, format!("http://{address}{path}"));
    }
    let status = wait(child).await;
    // It is over: nobody is left to finish a stream for.
    drop(ended);
    let status = status.map_err(|error| {
        Failure::new(format!("cannot run '{}': {error}", out::clean(&program.to_string_lossy())))
            .hint("write the command after --, as you would type it without neap run")
    })?;
    serves.await.map_err(|error| Failure::new(error.to_string()))??;
    Ok(code(status))
}

/// Waits for a command. What is typed to stop it is for it alone to heed.
async fn wait(mut command: Command) -> std::io::Result<ExitStatus> {
    let mut child = command.spawn()?;
    loop {
        tokio::select! {
            status = child.wait() => return status,
            heard = tokio::signal::ctrl_c() => heard?,
        }
    }
}

/// Its exit code; of one that was ended by a signal, what a shell makes of that.
fn code(status: ExitStatus) -> ExitCode {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status).map(|signal| 128 + signal);
    #[cfg(not(unix))]
    let signal: Option<i32> = None;
    let code = status.code().or(signal).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
