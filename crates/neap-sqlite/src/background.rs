//! A second thread for slow work: packing, and checkpointing the WAL. No commit waits for it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::connect::StoreLocation;
use super::{checkpoint, cold};
use neap_store::StoreError;

pub(super) enum BackgroundJob {
    Pack(i64),
    Checkpoint,
}

/// A failed job stays due.
pub(super) enum BackgroundResult {
    Packed(i64, Option<cold::NextBlock>),
    Checkpointed,
}

/// Runs one job at a time. Dropping it waits until the thread has closed its connection.
pub(super) struct BackgroundThread {
    jobs: Option<Sender<BackgroundJob>>,
    results: Receiver<BackgroundResult>,
    is_busy: bool,
    thread: Option<JoinHandle<()>>,
}

impl BackgroundThread {
    pub(super) fn start(location: Arc<StoreLocation>) -> Result<Self, StoreError> {
        let (jobs, job_queue) = channel();
        let (result_sender, results) = channel();
        let thread = std::thread::Builder::new()
            .name("neap-aside".to_owned())
            .spawn(move || run(&location, &job_queue, &result_sender))
            .map_err(|e| StoreError::Failed(e.to_string()))?;
        Ok(Self { jobs: Some(jobs), results, is_busy: false, thread: Some(thread) })
    }

    /// Whether a job was submitted whose result has not been taken.
    pub(super) fn is_busy(&self) -> bool {
        self.is_busy
    }

    pub(super) fn submit(&mut self, job: BackgroundJob) {
        self.is_busy = self.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
    }

    pub(super) fn try_result(&mut self) -> Option<BackgroundResult> {
        let result = self.results.try_recv();
        self.is_busy &= matches!(result, Err(TryRecvError::Empty));
        result.ok()
    }

    /// Waits for the result of the current job; `None` if there is none.
    pub(super) fn wait(&mut self) -> Option<BackgroundResult> {
        if !std::mem::take(&mut self.is_busy) {
            return None;
        }
        self.results.recv().ok()
    }
}

impl Drop for BackgroundThread {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(location: &StoreLocation, jobs: &Receiver<BackgroundJob>, results: &Sender<BackgroundResult>) {
    let mut db: Option<Connection> = None;
    while let Ok(job) = jobs.recv() {
        if db.is_none() {
            db = location.writer().ok();
        }
        let (result, is_well) = match job {
            BackgroundJob::Pack(stream) => {
                let next = db.as_ref().map(|db| cold::prepare_block(db, stream));
                let is_well = matches!(next, Some(Ok(_)));
                (BackgroundResult::Packed(stream, next.and_then(Result::ok).flatten()), is_well)
            }
            BackgroundJob::Checkpoint => {
                (BackgroundResult::Checkpointed, db.as_ref().is_some_and(|db| checkpoint::run_passive(db).is_ok()))
            }
        };
        if !is_well {
            // A failed connection is closed.
            db = None;
        }
        if results.send(result).is_err() {
            return;
        }
    }
}
