//! The writer thread. It groups pending commits into one transaction, with a savepoint for each, and replies only
//! once the transaction is on disk: many commits cost one sync. After the replies are sent, it directs the
//! background thread, which packs old events and checkpoints the WAL.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::background::{BackgroundJob, BackgroundResult, BackgroundThread};
use super::checkpoint::CheckpointDue;
use super::connect::{OpenMode, StoreLocation};
use super::db_error::DbError;
use super::marker::Marker;
use super::{checkpoint, cold, commit, progress};
use neap_store::StoreError;
use neap_store::backend::prepared_commit::PreparedCommit;

const BATCH_MAX: usize = 256;
/// How often the background thread's result is polled while there are no jobs.
const BACKGROUND_POLL: Duration = Duration::from_millis(2);
/// After this long without a job, the WAL is checkpointed.
const IDLE: Duration = Duration::from_secs(2);
/// Blocks packed before the store closes, at most; the rest waits for a later commit.
const CLOSING_BLOCKS_MAX: usize = 16;

type ReplySender<T> = oneshot::Sender<Result<T, StoreError>>;

enum Job {
    Commit(Box<PreparedCommit>, ReplySender<()>),
    /// Any other write; it replies itself.
    Other(Box<dyn FnOnce(&mut WriterThread) + Send>),
}

/// Whether a write may leave text behind in a block that is packed but not stored yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteKind {
    Keeps,
    Erases,
}

/// Dropping it waits until all submitted jobs are done.
pub(super) struct Writer {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// For a store that is only examined: every request fails.
    pub(super) fn none() -> Self {
        Self { jobs: None, thread: None }
    }

    /// `db` is reused if there is already a connection.
    pub(super) fn start(location: Arc<StoreLocation>, db: Option<Connection>) -> Result<Self, StoreError> {
        let (jobs, queue) = channel();
        let background = BackgroundThread::start(location.clone())?;
        let worker = WriterThread::new(location, background, db);
        let thread = std::thread::Builder::new()
            .name("neap-store".to_owned())
            .spawn(move || worker.run(&queue))
            .map_err(|e| StoreError::Failed(e.to_string()))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    pub(super) async fn commit(&self, prepared: PreparedCommit) -> Result<(), StoreError> {
        self.request(|reply| Job::Commit(Box::new(prepared), reply)).await
    }

    pub(super) async fn run<T: Send + 'static>(
        &self,
        kind: WriteKind,
        work: impl FnOnce(&mut Connection) -> Result<T, DbError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let job = |reply: ReplySender<T>| -> Box<dyn FnOnce(&mut WriterThread) + Send> {
            Box::new(move |thread| {
                if kind == WriteKind::Erases {
                    thread.discard_packed();
                }
                let _ = reply.send(thread.with_connection(work));
                thread.mark_written();
            })
        };
        self.request(|reply| Job::Other(job(reply))).await
    }

    async fn request<T>(&self, job: impl FnOnce(ReplySender<T>) -> Job) -> Result<T, StoreError> {
        let closed = || StoreError::Failed("the writer thread has ended".to_owned());
        let jobs = self.jobs.as_ref().ok_or_else(closed)?;
        let (reply, response) = oneshot::channel();
        jobs.send(job(reply)).map_err(|_| closed())?;
        response.await.map_err(|_| closed())?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct WriterThread {
    location: Arc<StoreLocation>,
    /// For slow work. Declared before `db`: the connection must close last, which leaves the file in order.
    background: BackgroundThread,
    db: Option<Connection>,
    /// Whether the WAL has grown since it was last checked.
    has_written: bool,
    /// Whether anything was written since the marker was.
    needs_marker: bool,
    /// Whether anything was written since the WAL was last checkpointed completely.
    needs_checkpoint: bool,
    pack_candidates: BTreeSet<i64>,
}

impl WriterThread {
    fn new(location: Arc<StoreLocation>, background: BackgroundThread, db: Option<Connection>) -> Self {
        // The marker may be missing, or older than what another version wrote.
        Self {
            location,
            background,
            db,
            has_written: false,
            needs_marker: true,
            needs_checkpoint: false,
            pack_candidates: BTreeSet::new(),
        }
    }

    fn run(mut self, queue: &Receiver<Job>) {
        let mut next = queue.recv().ok();
        while let Some(job) = next.take() {
            match job {
                Job::Commit(prepared, reply) => {
                    let mut batch = vec![(prepared, reply)];
                    while batch.len() < BATCH_MAX {
                        match queue.try_recv() {
                            Ok(Job::Commit(prepared, reply)) => batch.push((prepared, reply)),
                            Ok(other @ Job::Other(_)) => {
                                next = Some(other);
                                break;
                            }
                            Err(_) => break,
                        }
                    }
                    self.commit_all(batch);
                }
                Job::Other(work) => work(&mut self),
            }
            next = next.or_else(|| self.next_job(queue));
        }
        self.close();
    }

    fn next_job(&mut self, queue: &Receiver<Job>) -> Option<Job> {
        loop {
            self.run_upkeep();
            let pause = match (self.background.is_busy(), self.needs_checkpoint) {
                (true, _) => BACKGROUND_POLL,
                (false, true) => IDLE,
                (false, false) => return queue.recv().ok(),
            };
            match queue.recv_timeout(pause) {
                Ok(job) => return Some(job),
                Err(RecvTimeoutError::Timeout) if self.background.is_busy() => {}
                Err(RecvTimeoutError::Timeout) => self.checkpoint_idle(),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// After an idle time, copies the WAL into the file, so that losing the WAL would lose little.
    fn checkpoint_idle(&mut self) {
        if std::mem::take(&mut self.needs_checkpoint) {
            self.background.submit(BackgroundJob::Checkpoint);
        }
    }

    /// Takes the background thread's result and submits the next work, without waiting. A failure loses nothing
    /// and is retried after a later commit.
    fn run_upkeep(&mut self) {
        if std::mem::take(&mut self.needs_marker) {
            self.write_marker();
        }
        if let Some(BackgroundResult::Packed(stream, next)) = self.background.try_result() {
            self.put_block(stream, next);
        }
        if self.background.is_busy() {
            return;
        }
        // Checked once per write: while someone reads for long, nothing can be copied.
        if std::mem::take(&mut self.has_written) {
            match self.with_connection(|db| Ok(checkpoint::check_due(db)?)) {
                Ok(CheckpointDue::Background) => return self.background.submit(BackgroundJob::Checkpoint),
                Ok(CheckpointDue::OnWriter) => {
                    let _ = self.with_connection(|db| Ok(checkpoint::run_passive(db)?));
                }
                Ok(CheckpointDue::Nothing) | Err(_) => {}
            }
        }
        // A short-lived process leaves packing to others.
        while self.location.mode == OpenMode::LongLived
            && !self.background.is_busy()
            && let Some(stream) = self.pack_candidates.pop_first()
        {
            if let Ok(true) = self.with_connection(|db| Ok(cold::is_due(db, stream)?)) {
                self.background.submit(BackgroundJob::Pack(stream));
            }
        }
    }

    fn mark_written(&mut self) {
        (self.has_written, self.needs_marker, self.needs_checkpoint) = (true, true, true);
    }

    /// Not waited for; if it cannot be written, the previous marker still holds.
    fn write_marker(&mut self) {
        let read = self.with_connection(|db| Ok(progress::read(db)?.zip(Some(progress::root_page(db)?))));
        if let Ok(Some((progress, page))) = read {
            let _ = Marker { progress, page }.write(&self.location.path);
        }
    }

    /// After one block there may be another to pack.
    fn put_block(&mut self, stream: i64, next: Option<cold::NextBlock>) {
        if let Some(next) = next
            && let Ok(true) = self.with_connection(|db| Ok(cold::put_block(db, stream, &next)?))
        {
            self.mark_written();
            self.pack_candidates.insert(stream);
        }
    }

    /// Drops a packed block that is not stored yet: nothing read before an erasure may outlive it.
    fn discard_packed(&mut self) {
        if let Some(BackgroundResult::Packed(stream, _)) = self.background.wait() {
            self.pack_candidates.insert(stream);
        }
    }

    /// Packs what is still due, up to a limit, and checkpoints the WAL: SQLite itself does that only if no other
    /// process has the store open.
    fn close(mut self) {
        for _ in 0..CLOSING_BLOCKS_MAX {
            self.run_upkeep();
            match self.background.wait() {
                Some(BackgroundResult::Packed(stream, next)) => self.put_block(stream, next),
                Some(BackgroundResult::Checkpointed) => {}
                None => break,
            }
        }
        if self.needs_marker {
            self.write_marker();
        }
        // Someone waits for a short-lived process to end.
        if self.needs_checkpoint && self.location.mode == OpenMode::LongLived {
            let _ = self.with_connection(|db| Ok(checkpoint::run_passive(db)?));
        }
    }

    fn commit_all(&mut self, batch: Vec<(Box<PreparedCommit>, ReplySender<()>)>) {
        let (commits, replies): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
        match self.with_connection(|db| commit::write_all(db, &commits)) {
            Ok(outcomes) => {
                for (reply, outcome) in replies.into_iter().zip(outcomes) {
                    let _ = reply.send(outcome.map(|stream| {
                        self.pack_candidates.insert(stream);
                    }));
                }
                self.mark_written();
                // Here too, in case the queue is never empty.
                self.run_upkeep();
            }
            Err(error) => {
                for reply in replies {
                    let _ = reply.send(Err(error.clone()));
                }
            }
        }
    }

    /// Runs `work` on the connection. A connection on which SQLite failed is closed: after a failed write its view
    /// of the file cannot be trusted.
    fn with_connection<T>(
        &mut self,
        work: impl FnOnce(&mut Connection) -> Result<T, DbError>,
    ) -> Result<T, StoreError> {
        let mut db = match self.db.take() {
            Some(db) => db,
            None => self.location.writer()?,
        };
        match work(&mut db) {
            Ok(value) => {
                self.db = Some(db);
                Ok(value)
            }
            Err(DbError::Refused(refusal)) => {
                self.db = Some(db);
                Err(refusal)
            }
            Err(stop @ DbError::Sql(_)) => Err(stop.into_store_error(&self.location.path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uncopied(db: &Connection) -> i64 {
        db.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| Ok(row.get::<_, i64>(1)? - row.get::<_, i64>(2)?))
            .expect("a log")
    }

    fn written(path: &std::path::Path, mode: OpenMode) -> WriterThread {
        let (location, db) =
            StoreLocation::find_or_create(path, None, mode, crate::connect::BUSY_TIMEOUT).expect("a new store");
        let location = Arc::new(location);
        let mut writer =
            WriterThread::new(location.clone(), BackgroundThread::start(location).expect("a thread"), db);
        let wrote = writer.with_connection(|db| {
            let transaction = db.transaction()?;
            progress::advance(&transaction, 1, None)?;
            Ok(transaction.commit()?)
        });
        wrote.expect("a transaction");
        writer.mark_written();
        writer
    }

    #[test]
    fn what_was_written_is_copied_into_the_file_when_nobody_wants_anything() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut writer = written(&dir.path().join("neap.db"), OpenMode::LongLived);
        writer.run_upkeep();
        assert!(writer.with_connection(|db| Ok(uncopied(db))).expect("a log") > 0, "the scene is set");
        writer.checkpoint_idle();
        assert!(matches!(writer.background.wait(), Some(BackgroundResult::Checkpointed)));
        assert_eq!(writer.with_connection(|db| Ok(uncopied(db))).expect("a log"), 0);
        // Only once: an idle store does nothing.
        writer.checkpoint_idle();
        assert!(!writer.background.is_busy());
    }

    #[test]
    fn a_store_that_closes_leaves_nothing_in_the_log_while_another_has_it_open() {
        for (mode, left) in [(OpenMode::LongLived, false), (OpenMode::Brief, true)] {
            let dir = tempfile::tempdir().expect("a folder");
            let path = dir.path().join("neap.db");
            let writer = written(&path, mode);
            let other = Connection::open(&path).expect("another process");
            assert!(uncopied(&other) > 0, "the scene is set");
            writer.close();
            assert_eq!(uncopied(&other) > 0, left, "{mode:?}");
        }
    }
}
