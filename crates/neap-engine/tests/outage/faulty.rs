//! A store that stops working after so many operations, in a way that is told it, until it is mended.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use neap_store::layer::{Operation, StoreLayer};
use neap_store::{Commit, Store, StoreError};
use tokio::sync::Notify;

/// How it fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Full,
    ReadOnly,
    Busy,
    Failed,
    Unreadable,
    /// What it says failed is durable all the same.
    FailedAfter,
    /// It says nothing until it is mended; then it works on.
    Hangs,
}

pub(crate) const FAULTS: [Fault; 6] =
    [Fault::Full, Fault::ReadOnly, Fault::Busy, Fault::Failed, Fault::Unreadable, Fault::FailedAfter];

impl Fault {
    fn error(self) -> StoreError {
        let path = PathBuf::from("/secret/place");
        match self {
            Fault::Full => StoreError::Full { path },
            Fault::ReadOnly => StoreError::ReadOnly { path },
            Fault::Busy => StoreError::Busy { path },
            Fault::Failed | Fault::FailedAfter | Fault::Hangs => {
                StoreError::Failed("input/output error".to_owned())
            }
            Fault::Unreadable => StoreError::Unreadable { path, why: "malformed".to_owned() },
        }
    }
}

pub(crate) struct FaultyStore {
    inner: Arc<dyn Store>,
    fault: Mutex<Option<Fault>>,
    /// Whether reading fails as well.
    fails_reads: AtomicBool,
    /// Operations until then.
    works_for: AtomicI64,
    mended: Notify,
}

impl FaultyStore {
    pub(crate) fn new(inner: Arc<dyn Store>) -> Self {
        Self {
            inner,
            fault: Mutex::default(),
            fails_reads: AtomicBool::new(false),
            works_for: AtomicI64::new(0),
            mended: Notify::new(),
        }
    }

    pub(crate) fn breaks(&self, fault: Fault, fails_reads: bool, works_for: i64) {
        self.fails_reads.store(fails_reads, Ordering::SeqCst);
        self.works_for.store(works_for, Ordering::SeqCst);
        *self.fault.lock().unwrap() = Some(fault);
    }

    pub(crate) fn is_mended(&self) {
        *self.fault.lock().unwrap() = None;
        self.mended.notify_waiters();
    }

    fn fault(&self) -> Option<Fault> {
        let fault = *self.fault.lock().unwrap();
        fault.filter(|_| self.works_for.fetch_sub(1, Ordering::SeqCst) <= 0)
    }
}

#[async_trait]
impl StoreLayer for FaultyStore {
    fn inner(&self) -> &dyn Store {
        self.inner.as_ref()
    }

    async fn before(&self, operation: Operation) -> Result<(), StoreError> {
        let is_write = matches!(
            operation,
            Operation::PutEmbeddings | Operation::Rebuild | Operation::Scrub | Operation::EraseMemory
        );
        match self.fault() {
            Some(fault) if is_write || self.fails_reads.load(Ordering::SeqCst) => Err(fault.error()),
            Some(_) | None => Ok(()),
        }
    }

    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        match self.fault() {
            Some(Fault::FailedAfter) => {
                self.inner.commit(commit).await?;
                Err(Fault::FailedAfter.error())
            }
            Some(Fault::Hangs) => {
                self.mended.notified().await;
                self.inner.commit(commit).await
            }
            Some(fault) => Err(fault.error()),
            None => self.inner.commit(commit).await,
        }
    }
}
