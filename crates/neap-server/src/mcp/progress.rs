//! Progress notifications of long calls, for clients that ask for them.

use std::time::Duration;

use neap_core::session::memory_op::MemoryOp;
use neap_core::turn::tools::Banner;
use neap_engine::TurnObserver;
use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

pub(super) struct ProgressReporter(UnboundedSender<String>);

impl TurnObserver for ProgressReporter {
    fn on_text(&mut self, _words: &str) {}

    fn on_banner(&mut self, banner: &Banner) {
        self.report(banner.to_string());
    }

    fn on_memory_op(&mut self, op: &MemoryOp, _took: Duration) {
        self.report(op.to_string());
    }
}

impl ProgressReporter {
    /// The reporter of one call, and the receiver of its steps.
    pub(super) fn new() -> (Self, UnboundedReceiver<String>) {
        let (sender, steps) = unbounded_channel();
        (Self(sender), steps)
    }

    pub(super) fn report(&self, step: String) {
        // There may be no receiver.
        let _ = self.0.send(step);
    }
}

/// Forwards steps until the reporter is dropped; discards them if the client did not ask.
pub(super) async fn forward_progress(mut steps: UnboundedReceiver<String>, context: &RequestContext<RoleServer>) {
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
