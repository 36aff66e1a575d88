//! Writes the audit log in the background, several entries at a time: what is asked does not wait for it. Entries are
//! on disk a quarter of a second later, or when the server ends. Old ones are dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use neap_core::base::ids::Stamp;
use neap_engine::{Clock, SystemClock};
use neap_store::access::{AccessStore, AuditEntry};
use tokio::sync::{mpsc, oneshot};

/// Entries that wait to be written; further ones are counted as lost.
const WAITING_MAX: usize = 4_096;
const BATCH_PAUSE: Duration = Duration::from_millis(250);
const PRUNE_EVERY: Duration = Duration::from_secs(3_600);
const DAY_MS: i64 = 86_400_000;

enum Message {
    Entry(Box<AuditEntry>),
    /// Everything before it is written when it is answered.
    Flush(oneshot::Sender<()>),
}

pub(super) struct AuditLog {
    sender: mpsc::Sender<Message>,
    lost: Arc<AtomicU64>,
}

impl AuditLog {
    /// Keeps entries for so many days.
    pub(super) fn start(store: Arc<dyn AccessStore>, keep_days: u32) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        let lost: Arc<AtomicU64> = Arc::default();
        tokio::spawn(write_all(store, receiver, lost.clone(), keep_days));
        Self { sender, lost }
    }

    pub(super) fn add(&self, entry: AuditEntry) {
        if self.sender.try_send(Message::Entry(Box::new(entry))).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) async fn flush(&self) {
        let (done, is_done) = oneshot::channel();
        if self.sender.send(Message::Flush(done)).await.is_ok() {
            // The writer is gone if it ends first.
            let _ = is_done.await;
        }
    }
}

async fn write_all(
    store: Arc<dyn AccessStore>,
    mut receiver: mpsc::Receiver<Message>,
    lost: Arc<AtomicU64>,
    keep_days: u32,
) {
    let (mut entries, mut flushed) = (Vec::new(), Vec::new());
    let mut pruned: Option<tokio::time::Instant> = None;
    while let Some(first) = receiver.recv().await {
        let mut next = Some(first);
        let until = tokio::time::sleep(BATCH_PAUSE);
        tokio::pin!(until);
        loop {
            match next.take() {
                Some(Message::Entry(entry)) => entries.push(*entry),
                Some(Message::Flush(done)) => {
                    flushed.push(done);
                    break;
                }
                None => break,
            }
            next = tokio::select! {
                message = receiver.recv() => message,
                () = &mut until => None,
            };
        }
        let missing = lost.swap(0, Ordering::Relaxed);
        if missing > 0 {
            entries.push(lost_entry(missing));
        }
        if let Err(error) = store.append_audit(&entries).await {
            tracing::error!(target: "neap::access", %error, entries = entries.len(), "cannot write the audit log");
            lost.fetch_add(entries.len() as u64, Ordering::Relaxed);
        }
        entries.clear();
        if pruned.is_none_or(|at| at.elapsed() >= PRUNE_EVERY) {
            pruned = Some(tokio::time::Instant::now());
            let before = Stamp(SystemClock.now().0 - i64::from(keep_days) * DAY_MS);
            if let Err(error) = store.prune_audit(before).await {
                tracing::warn!(target: "neap::access", %error, "cannot shorten the audit log");
            }
        }
        for done in flushed.drain(..) {
            // Who asked may have left.
            let _ = done.send(());
        }
    }
}

fn lost_entry(missing: u64) -> AuditEntry {
    AuditEntry {
        at: SystemClock.now(),
        tenant: None,
        key: None,
        what: "audit".to_owned(),
        ids: String::new(),
        outcome: format!("{missing} entries could not be written"),
    }
}
