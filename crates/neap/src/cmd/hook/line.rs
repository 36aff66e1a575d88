//! A line to a process that stays (`neap mcp`), in a socket in the data directory: it has the store open and knows what texts mean, so
//! a hook that is passed on to it is answered sooner and better. Where nobody listens, or not in time, the hook does it by itself; what
//! both do is done once, as what is taken in twice is known.

use std::sync::Arc;

use neap_core::transcript::Program;
use neap_engine::Engine;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use super::transcript::program;
use super::work::{Came, Event};
use crate::env::DataDir;
use crate::files;

/// Longest event, in bytes: what a tool answered is in it.
pub(super) const EVENT_BYTES_MAX: u64 = 64 << 20;

/// What stands before an event: who asks, and of which store. Another version, or one with another agent or a file that came in the
/// place of the one that is open here, is left to itself.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    version: String,
    agent: String,
    store: Option<(u64, u64)>,
    program: Option<String>,
    /// When the event came to whoever asks.
    #[serde(default)]
    came: Option<Came>,
}

impl Head {
    fn new(data: &DataDir, program: Option<Program>) -> Self {
        let program = program.map(|program| program.as_str().to_owned());
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let (agent, store) = (data.agent().to_string(), files::identity(&data.database()));
        Self { version, agent, store, program, came: None }
    }
}

/// What comes back.
#[derive(Debug, Serialize, Deserialize)]
struct Reply {
    answer: Option<String>,
}

/// A process that answers: with the store that it opened, one event after the other.
struct Desk {
    data: DataDir,
    engine: Engine,
    store: Option<(u64, u64)>,
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Desk {
    fn new(data: &DataDir, engine: &Engine) -> Self {
        let store = files::identity(&data.database());
        Self { data: data.clone(), engine: engine.clone(), store, turn: Arc::default() }
    }

    /// The event in such bytes; nothing if it is not for this process to answer.
    fn heard(&self, bytes: &[u8]) -> Option<Event> {
        let (head, event) = bytes.split_at_checked(bytes.iter().position(|byte| *byte == b'\n')?)?;
        let mut head: Head = serde_json::from_slice(head).ok()?;
        let came = head.came.take();
        let program = head.program.as_deref().and_then(program);
        if head != Head::new(&self.data, program) || head.store != self.store {
            return None;
        }
        Event::read(program, event, came).ok()?
    }

    /// Answers whoever asks, and does afterwards what nobody waits for; nothing is answered if it went wrong.
    async fn attend(&self, event: &Event, line: &mut (impl AsyncWrite + Unpin)) {
        let told = |fault: &String| tracing::warn!(target: "neap::hook", fault, "a hook is left to itself");
        let Ok(answer) = event.carry_out(&self.data, &self.engine).await.inspect_err(told) else { return };
        if let Ok(reply) = serde_json::to_vec(&Reply { answer }) {
            // Who is gone did it by itself.
            let _ = line.write_all(&reply).await;
            let _ = line.shutdown().await;
        }
        let told = |fault: &String| tracing::warn!(target: "neap::hook", fault, "what can wait waits longer");
        let _ = event.afterwards(&self.data, &self.engine).await.inspect_err(told);
    }
}

#[cfg(unix)]
mod socket {
    use std::io::{Read as _, Write as _};
    use std::net::Shutdown;
    use std::path::PathBuf;
    use std::time::Duration;

    use tokio::io::AsyncReadExt as _;
    use tokio::net::{UnixListener, UnixStream};
    use tokio::runtime::Handle;
    use tokio::sync::watch;

    use super::{Arc, Came, DataDir, Desk, EVENT_BYTES_MAX, Engine, Head, Program, Reply};
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
        came: Came,
    ) -> Option<Option<String>> {
        let mut line = std::os::unix::net::UnixStream::connect(place(data)).ok()?;
        line.set_write_timeout(Some(PATIENCE)).and_then(|()| line.set_read_timeout(Some(PATIENCE))).ok()?;
        let head = Head { came: Some(came), ..Head::new(data, program) };
        let mut said = serde_json::to_vec(&head).ok()?;
        said.push(b'\n');
        line.write_all(&said)
            .and_then(|()| line.write_all(event))
            .and_then(|()| line.shutdown(Shutdown::Write))
            .ok()?;
        let mut heard = Vec::new();
        line.read_to_end(&mut heard).ok()?;
        let Reply { answer } = serde_json::from_slice(&heard).ok()?;
        Some(answer)
    }

    /// Answers hooks for as long as it is polled. To be done by one process on a store alone.
    pub(crate) async fn listen(data: &DataDir, engine: &Engine) {
        let place = place(data);
        // One that is left over is nobody's.
        let made = files::create_dir(&data.hooks()).and_then(|()| files::remove(&place));
        let Ok(listener) = made.and_then(|()| UnixListener::bind(&place)) else {
            return; // A path can be too long for a socket: then hooks do it by themselves.
        };
        let desk = Arc::new(Desk::new(data, engine));
        let warming = engine.clone();
        tokio::spawn(async move { warming.warm_up().await });
        // Dropped with this: then nobody is attended to any more.
        let (_listens, listening) = watch::channel(());
        loop {
            match listener.accept().await {
                Ok((line, _)) => {
                    tokio::spawn(serve(line, desk.clone(), listening.clone()));
                }
                // Out of descriptors, say: that passes.
                Err(_) => tokio::time::sleep(PATIENCE).await,
            }
        }
    }

    async fn serve(mut line: UnixStream, desk: Arc<Desk>, mut listening: watch::Receiver<()>) {
        let _hush = desk.engine.hush();
        let mut bytes = Vec::new();
        let mut hearing = (&mut line).take(EVENT_BYTES_MAX);
        if !matches!(tokio::time::timeout(HEARING, hearing.read_to_end(&mut bytes)).await, Ok(Ok(_))) {
            return;
        }
        let Some(event) = desk.heard(&bytes) else { return };
        let turn = tokio::select! {
            _ = listening.changed() => return,
            turn = desk.turn.clone().lock_owned() => turn,
        };
        // On a thread of its own, one for all: a transcript may be long, and the client that started this process has calls to be
        // answered.
        let here = Handle::current();
        let attending = tokio::task::spawn_blocking(move || {
            here.block_on(async {
                tokio::select! {
                    _ = listening.changed() => {}
                    () = desk.attend(&event, &mut line) => {}
                }
            });
            drop(turn);
        });
        let _ = attending.await;
    }
}

#[cfg(not(unix))]
mod socket {
    use super::{Came, DataDir, Engine, Program};

    pub(in super::super) fn ask(_: &DataDir, _: Option<Program>, _: &[u8], _: Came) -> Option<Option<String>> {
        None
    }

    pub(crate) async fn listen(_: &DataDir, _: &Engine) {}
}

pub(super) use socket::ask;
pub(crate) use socket::listen;
