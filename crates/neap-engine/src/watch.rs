//! Following a turn while it happens, and stopping it.

use std::sync::Arc;
use std::time::Duration;

use neap_core::memory_op::MemoryOp;
use neap_core::tools::Banner;
use tokio::sync::Notify;

/// Sees a turn as it goes.
pub trait Watch: Send {
    /// Words of the reply, as they come.
    fn text(&mut self, words: &str);

    /// Something a tool, or time, did. Comes before the words that follow it.
    fn banner(&mut self, banner: &Banner);

    /// Something was done to the memory, and is durable. `took` is the time since the step before it.
    fn memory(&mut self, op: &MemoryOp, took: Duration) {
        let _ = (op, took);
    }
}

/// Looks away.
#[derive(Debug, Default)]
pub struct Quiet;

impl Watch for Quiet {
    fn text(&mut self, _words: &str) {}
    fn banner(&mut self, _banner: &Banner) {}
}

/// Stops the model in mid-sentence. What it had said is kept and marked.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<Notify>);

impl Interrupt {
    /// Stops the reply that is being made now, if one is.
    pub fn interrupt(&self) {
        self.0.notify_waiters();
    }

    pub(crate) async fn wait(&self) {
        self.0.notified().await;
    }
}
