//! Forwards hook events over a socket in the data directory to a running `neap mcp`, which has the store open and
//! the embedder loaded and so answers faster and better. If none answers in time, the hook does the work itself;
//! events handled by both are recorded once.

use std::sync::Arc;

use neap_core::base::digest::Digest;
use neap_core::base::project_id::Place;
use neap_engine::Engine;
use neap_model::transcript::Program;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use super::task::{EventArrival, HookTask};
use super::transcript::program_named;
use crate::env::DataDir;
use crate::files;

/// Longest event, in bytes; it may include a tool result.
pub(super) const EVENT_BYTES_MAX: u64 = 64 << 20;

/// The store that a process has open: a file, or a database by its URL.
fn store_id(data: &DataDir) -> Option<(u64, u64)> {
    let Some(url) = data.store_url() else { return files::file_id(&data.database_file()) };
    let digest = Digest::of("store", &[url.as_bytes()]);
    let (halves, _) = digest.bytes().as_chunks::<8>();
    let [first, second] = *halves else { return None };
    Some((u64::from_le_bytes(first), u64::from_le_bytes(second)))
}

/// Precedes an event. The server ignores a request of another version, agent or program, and one for a database
/// file other than the one it has open.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RequestHeader {
    version: String,
    agent: String,
    store: Option<(u64, u64)>,
    program: Option<String>,
    /// When the event reached the hook.
    #[serde(default)]
    came: Option<EventArrival>,
    /// What a person said of the project in the hook's environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    place: Option<Place>,
}

impl RequestHeader {
    fn new(data: &DataDir, program: Option<Program>) -> Self {
        let program = program.map(|program| program.as_str().to_owned());
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let (agent, store) = (data.agent().to_string(), store_id(data));
        Self { version, agent, store, program, came: None, place: None }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct HookReply {
    answer: Option<String>,
}

/// The answering side; handles one event at a time.
struct HookServer {
    data: DataDir,
    engine: Engine,
    store: Option<(u64, u64)>,
    event_lock: Arc<tokio::sync::Mutex<()>>,
}

impl HookServer {
    fn new(data: &DataDir, engine: &Engine) -> Self {
        let store = store_id(data);
        Self { data: data.clone(), engine: engine.clone(), store, event_lock: Arc::default() }
    }

    /// The event in a request; `None` if this process must not answer it.
    fn parse_request(&self, bytes: &[u8]) -> Option<HookTask> {
        let (head, event) = bytes.split_at_checked(bytes.iter().position(|byte| *byte == b'\n')?)?;
        let mut head: RequestHeader = serde_json::from_slice(head).ok()?;
        let (arrival, place) = (head.came.take(), head.place.take());
        let program = head.program.as_deref().and_then(program_named);
        if head != RequestHeader::new(&self.data, program) || head.store != self.store {
            return None;
        }
        HookTask::parse(program, event, arrival).ok()?.map(|task| task.with_place(place))
    }

    /// Replies, then does the work that nobody waits for. A failure sends no reply.
    async fn handle(&self, event: &HookTask, stream: &mut (impl AsyncWrite + Unpin)) {
        let log_failure =
            |fault: &String| tracing::warn!(target: "neap::hook", fault, "a hook must handle its event itself");
        let Ok(answer) = event.run(&self.data, &self.engine).await.inspect_err(log_failure) else { return };
        if let Ok(reply) = serde_json::to_vec(&HookReply { answer }) {
            // A client that is gone does the work itself.
            let _ = stream.write_all(&reply).await;
            let _ = stream.shutdown().await;
        }
        let log_failure = |fault: &String| {
            tracing::warn!(target: "neap::hook", fault, "deferred hook work failed; it will be retried");
        };
        let _ = event.run_after_reply(&self.data, &self.engine).await.inspect_err(log_failure);
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

    use super::{
        Arc, DataDir, EVENT_BYTES_MAX, Engine, EventArrival, HookReply, HookServer, Place, Program, RequestHeader,
    };
    use crate::files;

    const REPLY_TIMEOUT: Duration = Duration::from_millis(300);
    const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

    fn socket_path(data: &DataDir) -> PathBuf {
        data.hooks_folder().join("line")
    }

    /// Forwards an event; `None` if there is no reply.
    pub(in super::super) fn ask(
        data: &DataDir,
        program: Option<Program>,
        event: &[u8],
        arrival: EventArrival,
        place: Option<Place>,
    ) -> Option<Option<String>> {
        let mut stream = std::os::unix::net::UnixStream::connect(socket_path(data)).ok()?;
        stream
            .set_write_timeout(Some(REPLY_TIMEOUT))
            .and_then(|()| stream.set_read_timeout(Some(REPLY_TIMEOUT)))
            .ok()?;
        let header = RequestHeader { came: Some(arrival), place, ..RequestHeader::new(data, program) };
        let mut request = serde_json::to_vec(&header).ok()?;
        request.push(b'\n');
        stream
            .write_all(&request)
            .and_then(|()| stream.write_all(event))
            .and_then(|()| stream.shutdown(Shutdown::Write))
            .ok()?;
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).ok()?;
        let HookReply { answer } = serde_json::from_slice(&reply).ok()?;
        Some(answer)
    }

    /// Serves hooks while it is polled. Only one process per store may do so.
    pub(crate) async fn listen(data: &DataDir, engine: &Engine) {
        let path = socket_path(data);
        // Removes the socket of a process that died.
        let prepared = files::create_dir(&data.hooks_folder()).and_then(|()| files::remove(&path));
        let Ok(listener) = prepared.and_then(|()| UnixListener::bind(&path)) else {
            return; // The path may be too long for a socket; hooks then work by themselves.
        };
        let server = Arc::new(HookServer::new(data, engine));
        let engine_to_warm = engine.clone();
        tokio::spawn(async move { engine_to_warm.warm_up().await });
        // Dropped with this future, which stops all handlers.
        let (_alive, alive) = watch::channel(());
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    tokio::spawn(serve(stream, server.clone(), alive.clone()));
                }
                // Out of file descriptors, for example: wait and retry.
                Err(_) => tokio::time::sleep(REPLY_TIMEOUT).await,
            }
        }
    }

    async fn serve(mut stream: UnixStream, server: Arc<HookServer>, mut alive: watch::Receiver<()>) {
        let _foreground = server.engine.enter_foreground();
        let mut bytes = Vec::new();
        let mut reader = (&mut stream).take(EVENT_BYTES_MAX);
        if !matches!(tokio::time::timeout(REQUEST_TIMEOUT, reader.read_to_end(&mut bytes)).await, Ok(Ok(_))) {
            return;
        }
        let Some(event) = server.parse_request(&bytes) else { return };
        let turn = tokio::select! {
            _ = alive.changed() => return,
            turn = server.event_lock.clone().lock_owned() => turn,
        };
        // On a blocking thread, one event at a time: a transcript may be long, and the MCP client must not wait
        // for it.
        let runtime = Handle::current();
        let handling = tokio::task::spawn_blocking(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = alive.changed() => {}
                    () = server.handle(&event, &mut stream) => {}
                }
            });
            drop(turn);
        });
        let _ = handling.await;
    }
}

#[cfg(not(unix))]
mod socket {
    use super::{DataDir, Engine, EventArrival, Place, Program};

    pub(in super::super) fn ask(
        _: &DataDir,
        _: Option<Program>,
        _: &[u8],
        _: EventArrival,
        _: Option<Place>,
    ) -> Option<Option<String>> {
        None
    }

    pub(crate) async fn listen(_: &DataDir, _: &Engine) {}
}

pub(super) use socket::ask;
pub(crate) use socket::listen;
