//! A thread that embeds what was said, so that nobody waits for it.

use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot::{self, Receiver, Sender};

use crate::engine::Engine;

/// How often it looks for what others wrote.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How little it matters when its work is done, as the system counts it.
#[cfg(target_os = "linux")]
const LEAST_URGENT: i32 = 15;
/// How long it rests after a failure.
const REST: Duration = Duration::from_secs(5);

/// The thread; dropping this ends it, after what is being computed or stored. An answer of an embedder elsewhere is not waited for.
pub struct Indexer {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Engine {
    /// Has texts embedded as they come, in a thread of its own: by this process or by others on the same store. Without an embedder
    /// it does nothing.
    pub fn start_indexer(&self) -> Indexer {
        if self.parts.embedder.is_none() {
            return Indexer { stop: None, thread: None };
        }
        let (stop, stopped) = oneshot::channel();
        let engine = self.clone();
        let work = move || {
            step_back();
            // Made and dropped here: where it is called from, a runtime may be at work already.
            if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() {
                runtime.block_on(engine.index(stopped));
            }
        };
        // Where no thread can be had, words find all the same.
        let thread = std::thread::Builder::new().name("neap-indexer".to_owned()).spawn(work).ok();
        Indexer { stop: Some(stop), thread }
    }

    /// Embeds until it is stopped; not while somebody waits for an answer, as far as that can be put off.
    async fn index(&self, mut stopped: Receiver<()>) {
        let waiting = &self.parts.waiting;
        loop {
            let indexed = tokio::select! {
                _ = &mut stopped => return,
                indexed = async {
                    waiting.over().await;
                    self.index_until(&|| waiting.is_on()).await
                } => indexed,
            };
            let rest = match indexed {
                Ok(0) => LOOK_EVERY,
                Ok(_) => Duration::ZERO,
                Err(error) => {
                    tracing::warn!(target: "neap::recall", %error, "texts were not embedded");
                    REST
                }
            };
            tokio::select! {
                _ = &mut stopped => return,
                () = tokio::time::sleep(rest) => {}
            }
        }
    }
}

/// Lets everyone else go first: nobody waits for an embedding, and a reply may wait for the processor.
#[cfg(target_os = "linux")]
fn step_back() {
    // Here this is the thread's own; where it is not allowed, all are equal.
    if let Err(error) = rustix::process::setpriority_process(None, LEAST_URGENT) {
        tracing::debug!(target: "neap::recall", %error, "texts are embedded as urgently as all else");
    }
}

#[cfg(not(target_os = "linux"))]
fn step_back() {}

impl Drop for Indexer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
