//! A thread that embeds new texts, so that nobody waits for it.

use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot::{self, Receiver, Sender};

use crate::engine::Engine;

/// How often it checks for texts of other processes.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
#[cfg(target_os = "linux")]
const NICE_LEVEL: i32 = 15;
const RETRY_PAUSE: Duration = Duration::from_secs(5);

/// The indexing thread. Dropping this ends it after the current step, without waiting for a remote embedder.
pub struct Indexer {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Engine {
    /// Starts a thread that embeds texts as any process on the store records them. Without an embedder it does
    /// nothing.
    pub fn start_indexer(&self) -> Indexer {
        if self.parts.embedder.is_none() {
            return Indexer { stop: None, thread: None };
        }
        let (stop, stopped) = oneshot::channel();
        let engine = self.clone();
        let work = move || {
            lower_priority();
            // Built in the thread: the caller may run inside a runtime already.
            if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() {
                runtime.block_on(engine.run_indexer(stopped));
            }
        };
        let thread = std::thread::Builder::new().name("neap-indexer".to_owned()).spawn(work).ok();
        Indexer { stop: Some(stop), thread }
    }

    async fn run_indexer(&self, mut stopped: Receiver<()>) {
        let foreground = &self.parts.foreground;
        loop {
            let indexed = tokio::select! {
                _ = &mut stopped => return,
                indexed = async {
                    foreground.wait_until_idle().await;
                    self.index_until(&|| foreground.is_busy()).await
                } => indexed,
            };
            let pause = match indexed {
                Ok(0) => POLL_INTERVAL,
                Ok(_) => Duration::ZERO,
                Err(error) => {
                    tracing::warn!(target: "neap::recall", %error, "texts were not embedded");
                    RETRY_PAUSE
                }
            };
            tokio::select! {
                _ = &mut stopped => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }
}

/// Lowers the priority of this thread, and of those that it starts: a reply may wait for the processor, but nobody
/// waits for an embedding.
#[cfg(target_os = "linux")]
pub fn lower_priority() {
    // On Linux this is per thread. Where it is not permitted, the priority stays.
    if let Err(error) = rustix::process::setpriority_process(None, NICE_LEVEL) {
        tracing::debug!(target: "neap::recall", %error, "cannot lower the priority of the embedding thread");
    }
}

/// Does nothing on this system, where priorities are per process.
#[cfg(not(target_os = "linux"))]
pub fn lower_priority() {}

impl Drop for Indexer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
