//! Telling a client how a long call goes, if it asked to be told.

use std::time::Duration;

use neap_core::memory_op::MemoryOp;
use neap_core::tools::Banner;
use neap_engine::Watch;
use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Notes each step of a call.
pub(super) struct Steps(UnboundedSender<String>);

impl Watch for Steps {
    fn text(&mut self, _words: &str) {}

    fn banner(&mut self, banner: &Banner) {
        self.step(banner.to_string());
    }

    fn memory(&mut self, op: &MemoryOp, _took: Duration) {
        self.step(op.to_string());
    }
}

impl Steps {
    /// Those of one call, and where they come out.
    pub(super) fn new() -> (Self, UnboundedReceiver<String>) {
        let (sender, steps) = unbounded_channel();
        (Self(sender), steps)
    }

    /// Something was done, or begins.
    pub(super) fn step(&self, what: String) {
        // Nobody may be listening.
        let _ = self.0.send(what);
    }
}

/// Tells the client of each step, until there are no more; to one that did not ask, nothing is told.
pub(super) async fn tell(mut steps: UnboundedReceiver<String>, context: &RequestContext<RoleServer>) {
    let Some(token) = context.meta.get_progress_token() else { return };
    let mut count = 0.0;
    while let Some(step) = steps.recv().await {
        count += 1.0;
        let progress = ProgressNotificationParam::new(token.clone(), count).with_message(step);
        if context.peer.notify_progress(progress).await.is_err() {
            return;
        }
    }
}
