//! Follows a turn while it runs, and stops it.

use std::sync::Arc;
use std::time::Duration;

use neap_core::session::memory_op::MemoryOp;
use neap_core::turn::tools::Banner;
use tokio::sync::Notify;

/// Receives the events of a turn as they happen.
pub trait TurnObserver: Send {
    /// Text of the reply, as it arrives.
    fn on_text(&mut self, words: &str);

    /// Something that a tool, or time, did. Comes before the text that follows it.
    fn on_banner(&mut self, banner: &Banner);

    /// A change of the memory that is durable now. `took` is the time since the step before it.
    fn on_memory_op(&mut self, op: &MemoryOp, took: Duration) {
        let _ = (op, took);
    }
}

/// Ignores everything.
#[derive(Debug, Default)]
pub struct NullObserver;

impl TurnObserver for NullObserver {
    fn on_text(&mut self, _words: &str) {}
    fn on_banner(&mut self, _banner: &Banner) {}
}

/// Stops the model in mid-sentence. The text so far is stored and marked as incomplete.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<Notify>);

impl Interrupt {
    /// Stops the current reply, if there is one.
    pub fn interrupt(&self) {
        self.0.notify_waiters();
    }

    pub(crate) async fn wait(&self) {
        self.0.notified().await;
    }
}
