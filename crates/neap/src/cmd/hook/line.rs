//! A line to a process that stays (`neap mcp`), in a socket in the data directory: it has the store open and knows what texts mean, so
//! a hook that is passed on to it is answered sooner and better. Where nobody listens, or not in time, the hook does it by itself; what
//! both do is done once, as what is taken in twice is known.

use neap_core::transcript::Program;
use neap_engine::Engine;
use serde::{Deserialize, Serialize};

use super::work::Event;
use crate::env::DataDir;

/// Longest event, in bytes: what a tool answered is in it.
pub(super) const EVENT_BYTES_MAX: u64 = 64 << 20;

/// What stands before an event: who asks. Another version, or one with another agent, is left to itself.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    version: String,
    agent: String,
    program: Option<String>,
}

impl Head {
    fn new(data: &DataDir, program: Option<Program>) -> Self {
        let program = program.map(|program| program.as_str().to_owned());
        Self { version: env!("CARGO_PKG_VERSION").to_owned(), agent: data.agent().to_string(), program }
    }
}

/// What comes back.
#[derive(Debug, Serialize, Deserialize)]
enum Reply {
    Answer(Option<String>),
    Fault(String),
}

/// Answers whoever asks with such bytes; nothing if it is not for this process to answer.
async fn answer(data: &DataDir, engine: &Engine, bytes: &[u8]) -> Option<Reply> {
    let (head, event) = bytes.split_at_checked(bytes.iter().position(|byte| *byte == b'\n')?)?;
    let head: Head = serde_json::from_slice(head).ok()?;
    let known = [Program::ClaudeCode, Program::Codex];
    let program = known.into_iter().find(|program| head.program.as_deref() == Some(program.as_str()));
    if head != Head::new(data, program) {
        return None;
    }
    let event = Event::read(program, event).ok()??;
    Some(match event.carry_out(data, engine).await {
        Ok(told) => Reply::Answer(told),
        Err(fault) => Reply::Fault(fault),
    })
}

#[cfg(unix)]
mod socket {
    use std::io::{Read as _, Write as _};
    use std::net::Shutdown;
    use std::path::PathBuf;
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{UnixListener, UnixStream};

    use super::{DataDir, EVENT_BYTES_MAX, Engine, Head, Program, Reply, answer};
    use crate::files;

    /// Who does not answer so soon is not waited for.
    const PATIENCE: Duration = Duration::from_millis(300);
    /// Who does not say so soon what it wants is not listened to.
    const HEARING: Duration = Duration::from_secs(5);

    fn place(data: &DataDir) -> PathBuf {
        data.hooks().join("line")
    }

    /// Passes an event on; nothing if nobody answers.
    pub(in super::super) fn ask(
        data: &DataDir,
        program: Option<Program>,
        event: &[u8],
    ) -> Option<Result<Option<String>, String>> {
        let mut line = std::os::unix::net::UnixStream::connect(place(data)).ok()?;
        line.set_write_timeout(Some(PATIENCE)).and_then(|()| line.set_read_timeout(Some(PATIENCE))).ok()?;
        let mut said = serde_json::to_vec(&Head::new(data, program)).ok()?;
        said.push(b'\n');
        line.write_all(&said)
            .and_then(|()| line.write_all(event))
            .and_then(|()| line.shutdown(Shutdown::Write))
            .ok()?;
        let mut heard = Vec::new();
        line.read_to_end(&mut heard).ok()?;
        match serde_json::from_slice(&heard).ok()? {
            Reply::Answer(told) => Some(Ok(told)),
            Reply::Fault(fault) => Some(Err(fault)),
        }
    }

    /// Answers hooks for as long as it is polled. To be done by one process on a store alone.
    pub(crate) async fn listen(data: &DataDir, engine: &Engine) {
        let place = place(data);
        // One that is left over is nobody's.
        let made = files::create_dir(&data.hooks()).and_then(|()| files::remove(&place));
        let Ok(listener) = made.and_then(|()| UnixListener::bind(&place)) else {
            return; // A path can be too long for a socket: then hooks do it by themselves.
        };
        loop {
            match listener.accept().await {
                Ok((line, _)) => {
                    let (data, engine) = (data.clone(), engine.clone());
                    tokio::spawn(async move { serve(line, &data, &engine).await });
                }
                // Out of descriptors, say: that passes.
                Err(_) => tokio::time::sleep(PATIENCE).await,
            }
        }
    }

    async fn serve(mut line: UnixStream, data: &DataDir, engine: &Engine) {
        let mut bytes = Vec::new();
        let mut hearing = (&mut line).take(EVENT_BYTES_MAX);
        if !matches!(tokio::time::timeout(HEARING, hearing.read_to_end(&mut bytes)).await, Ok(Ok(_))) {
            return;
        }
        let reply = answer(data, engine, &bytes).await.and_then(|reply| serde_json::to_vec(&reply).ok());
        // Who is gone did it by itself.
        let _ = line.write_all(&reply.unwrap_or_default()).await;
    }
}

#[cfg(not(unix))]
mod socket {
    use super::{DataDir, Engine, Program};

    pub(in super::super) fn ask(
        _: &DataDir,
        _: Option<Program>,
        _: &[u8],
    ) -> Option<Result<Option<String>, String>> {
        None
    }

    pub(crate) async fn listen(_: &DataDir, _: &Engine) {}
}

pub(super) use socket::ask;
pub(crate) use socket::listen;
