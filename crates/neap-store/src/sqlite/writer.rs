//! The one thread that writes. It takes all that waits into one transaction, a savepoint for each commit, and
//! answers only when the transaction is on disk: many commits cost one wait for the disk. When everyone has been
//! answered, it looks after what is done beside it: packing what lies far behind, copying the log into the file.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use neap_core::ids::{SessionId, Stamp};
use neap_core::memory::MemoryId;
use neap_core::recall::{Embedding, TextId};
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::aside::{Answer as Done, Aside, Ask};
use super::checkpoint::Due;
use super::connect::{Place, Stay};
use super::fault::Stop;
use super::mark::Mark;
use super::prepare::Prepared;
use super::{checkpoint, cold, commit, erase, progress, rebuild, scrub, vectors};
use crate::{Finding, StoreError};

/// Commits in one transaction, at most.
const BATCH_MAX: usize = 256;
/// While something is done beside it and nobody wants anything, it is looked after this often.
const ASIDE_POLL: Duration = Duration::from_millis(2);
/// After so long without a job, the log is copied into the file.
const IDLE: Duration = Duration::from_secs(2);
/// Blocks that are packed before the store closes, at most; the rest waits for a later commit.
const CLOSING_BLOCKS_MAX: usize = 16;

type Answer<T> = oneshot::Sender<Result<T, StoreError>>;

enum Job {
    Commit(Box<Prepared>, Answer<()>),
    Rebuild(SessionId, Answer<Vec<Finding>>),
    Scrub(SessionId, Stamp, Answer<u64>),
    EraseMemory(SessionId, MemoryId, Stamp, Answer<u64>),
    Embed(String, Vec<(TextId, Arc<str>, Embedding)>, Answer<()>),
}

/// The handle to it. Dropping it waits until all that was handed over is done.
pub(super) struct Writer {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// One that writes nothing, for a store that is only looked at.
    pub(super) fn none() -> Self {
        Self { jobs: None, thread: None }
    }

    /// Starts it, with the connection that there is already.
    pub(super) fn start(place: Arc<Place>, db: Option<Connection>) -> Result<Self, StoreError> {
        let (jobs, queue) = channel();
        let aside = Aside::start(place.clone())?;
        let desk = Desk::new(place, aside, db);
        let thread = std::thread::Builder::new()
            .name("neap-store".to_owned())
            .spawn(move || desk.work(&queue))
            .map_err(|e| StoreError::Failed(e.to_string()))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    pub(super) async fn commit(&self, prepared: Prepared) -> Result<(), StoreError> {
        self.ask(|answer| Job::Commit(Box::new(prepared), answer)).await
    }

    pub(super) async fn rebuild(&self, session: SessionId) -> Result<Vec<Finding>, StoreError> {
        self.ask(|answer| Job::Rebuild(session, answer)).await
    }

    pub(super) async fn scrub(&self, session: SessionId, now: Stamp) -> Result<u64, StoreError> {
        self.ask(|answer| Job::Scrub(session, now, answer)).await
    }

    pub(super) async fn erase_memory(
        &self,
        agent: SessionId,
        id: MemoryId,
        now: Stamp,
    ) -> Result<u64, StoreError> {
        self.ask(|answer| Job::EraseMemory(agent, id, now, answer)).await
    }

    pub(super) async fn embed(
        &self,
        model: String,
        batch: Vec<(TextId, Arc<str>, Embedding)>,
    ) -> Result<(), StoreError> {
        self.ask(|answer| Job::Embed(model, batch, answer)).await
    }

    async fn ask<T>(&self, job: impl FnOnce(Answer<T>) -> Job) -> Result<T, StoreError> {
        let gone = || StoreError::Failed("the thread that writes has ended".to_owned());
        let jobs = self.jobs.as_ref().ok_or_else(gone)?;
        let (answer, answered) = oneshot::channel();
        jobs.send(job(answer)).map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
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

/// What the thread has in hand.
struct Desk {
    place: Arc<Place>,
    /// Does what takes long. Before the connection: that is the last to close, and leaves the file in order.
    aside: Aside,
    db: Option<Connection>,
    /// Whether the log of writes has grown since it was looked at.
    has_written: bool,
    /// Whether something was written since the marker was.
    is_unmarked: bool,
    /// Whether something was written since all of the log was last copied into the file.
    is_uncopied: bool,
    /// Streams that may have more to pack.
    grown: BTreeSet<i64>,
}

impl Desk {
    fn new(place: Arc<Place>, aside: Aside, db: Option<Connection>) -> Self {
        // The marker may be missing, or older than what another version wrote.
        Self {
            place,
            aside,
            db,
            has_written: false,
            is_unmarked: true,
            is_uncopied: false,
            grown: BTreeSet::new(),
        }
    }

    fn work(mut self, queue: &Receiver<Job>) {
        let mut next = queue.recv().ok();
        while let Some(job) = next.take() {
            match job {
                Job::Commit(prepared, answer) => {
                    let mut batch = vec![(prepared, answer)];
                    while batch.len() < BATCH_MAX {
                        match queue.try_recv() {
                            Ok(Job::Commit(prepared, answer)) => batch.push((prepared, answer)),
                            Ok(
                                other
                                @ (Job::Rebuild(..) | Job::Scrub(..) | Job::EraseMemory(..) | Job::Embed(..)),
                            ) => {
                                next = Some(other);
                                break;
                            }
                            Err(_) => break,
                        }
                    }
                    self.commit_all(batch);
                }
                Job::Rebuild(session, answer) => {
                    let _ = answer.send(self.with(|db| rebuild::rebuild(db, &session)));
                    self.wrote();
                }
                Job::Scrub(session, now, answer) => {
                    self.drop_packed();
                    let _ = answer.send(self.with(|db| scrub::scrub(db, &session, now)));
                    self.wrote();
                }
                Job::EraseMemory(agent, id, now, answer) => {
                    self.drop_packed();
                    let _ = answer.send(self.with(|db| erase::erase_memory(db, &agent, id, now)));
                    self.wrote();
                }
                Job::Embed(model, batch, answer) => {
                    let _ = answer.send(self.with(|db| vectors::embed(db, &model, &batch)));
                    self.wrote();
                }
            }
            next = next.or_else(|| self.wait(queue));
        }
        self.close();
    }

    /// The next job. While there is none, upkeep goes on.
    fn wait(&mut self, queue: &Receiver<Job>) -> Option<Job> {
        loop {
            self.look_after();
            let pause = match (self.aside.is_at_work(), self.is_uncopied) {
                (true, _) => ASIDE_POLL,
                (false, true) => IDLE,
                (false, false) => return queue.recv().ok(),
            };
            match queue.recv_timeout(pause) {
                Ok(job) => return Some(job),
                Err(RecvTimeoutError::Timeout) if self.aside.is_at_work() => {}
                Err(RecvTimeoutError::Timeout) => self.rest(),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Nobody has wanted anything for a while: what was written is copied into the file, so that little would be lost with the log.
    fn rest(&mut self) {
        if std::mem::take(&mut self.is_uncopied) {
            self.aside.ask(Ask::Copy);
        }
    }

    /// Takes up what was done aside, and has the next thing done. Waits for nobody. If something fails nothing is
    /// lost; it is tried again after a later commit.
    fn look_after(&mut self) {
        if std::mem::take(&mut self.is_unmarked) {
            self.mark();
        }
        if let Some(Done::Packed(stream, next)) = self.aside.answer() {
            self.put(stream, next);
        }
        if self.aside.is_at_work() {
            return;
        }
        // Once for what was written: where someone reads for long, nothing can be copied.
        if std::mem::take(&mut self.has_written) {
            match self.with(|db| Ok(checkpoint::due(db)?)) {
                Ok(Due::Copy) => return self.aside.ask(Ask::Copy),
                Ok(Due::BeginAnew) => {
                    let _ = self.with(|db| Ok(checkpoint::copy(db)?));
                }
                Ok(Due::Nothing) | Err(_) => {}
            }
        }
        // Who stays for a moment leaves packing to those who stay longer.
        while self.place.stay == Stay::Whole
            && !self.aside.is_at_work()
            && let Some(stream) = self.grown.pop_first()
        {
            if let Ok(true) = self.with(|db| Ok(cold::is_due(db, stream)?)) {
                self.aside.ask(Ask::Pack(stream));
            }
        }
    }

    fn wrote(&mut self) {
        (self.has_written, self.is_unmarked, self.is_uncopied) = (true, true, true);
    }

    /// Leaves the marker of what is durable. Nobody waits for it, and where it cannot be written the one before holds.
    fn mark(&mut self) {
        let read = self.with(|db| Ok(progress::read(db)?.zip(Some(progress::page(db)?))));
        if let Ok(Some((progress, page))) = read {
            let _ = Mark { progress, page }.write(&self.place.path);
        }
    }

    /// Puts a block in its place; where there was one, there may be another.
    fn put(&mut self, stream: i64, next: Option<cold::Next>) {
        if let Some(next) = next
            && let Ok(true) = self.with(|db| Ok(cold::put(db, stream, &next)?))
        {
            self.wrote();
            self.grown.insert(stream);
        }
    }

    /// Drops what was packed and is not in its place: nothing that was read before an erasure outlives it.
    fn drop_packed(&mut self) {
        if let Some(Done::Packed(stream, _)) = self.aside.wait() {
            self.grown.insert(stream);
        }
    }

    /// Packs what is still due, within bounds, and leaves what was written in the file: SQLite does that by itself only where no other process
    /// has the store open.
    fn close(mut self) {
        for _ in 0..CLOSING_BLOCKS_MAX {
            self.look_after();
            match self.aside.wait() {
                Some(Done::Packed(stream, next)) => self.put(stream, next),
                Some(Done::Copied) => {}
                None => break,
            }
        }
        if self.is_unmarked {
            self.mark();
        }
        // Who stays for a moment is waited for.
        if self.is_uncopied && self.place.stay == Stay::Whole {
            let _ = self.with(|db| Ok(checkpoint::copy(db)?));
        }
    }

    fn commit_all(&mut self, batch: Vec<(Box<Prepared>, Answer<()>)>) {
        let (commits, answers): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
        match self.with(|db| commit::write_all(db, &commits)) {
            Ok(outcomes) => {
                for (answer, outcome) in answers.into_iter().zip(outcomes) {
                    let _ = answer.send(outcome.map(|stream| {
                        self.grown.insert(stream);
                    }));
                }
                self.wrote();
                // Also where nobody ever pauses.
                self.look_after();
            }
            Err(error) => {
                for answer in answers {
                    let _ = answer.send(Err(again(&error)));
                }
            }
        }
    }

    /// Does a piece of work on the connection. A connection on which SQLite failed is closed and never used
    /// again: after a failed write its view of the file cannot be trusted.
    fn with<T>(&mut self, work: impl FnOnce(&mut Connection) -> Result<T, Stop>) -> Result<T, StoreError> {
        let mut db = match self.db.take() {
            Some(db) => db,
            None => self.place.writer()?,
        };
        match work(&mut db) {
            Ok(done) => {
                self.db = Some(db);
                Ok(done)
            }
            Err(Stop::Refused(refusal)) => {
                self.db = Some(db);
                Err(refusal)
            }
            Err(stop @ Stop::Sql(_)) => Err(stop.at(&self.place.path)),
        }
    }
}

/// The same error for everyone who was in the transaction.
fn again(error: &StoreError) -> StoreError {
    match error {
        StoreError::Conflict { expected, actual } => StoreError::Conflict { expected: *expected, actual: *actual },
        StoreError::DuplicateTurn { turn } => StoreError::DuplicateTurn { turn: *turn },
        StoreError::Full { path } => StoreError::Full { path: path.clone() },
        StoreError::ReadOnly { path } => StoreError::ReadOnly { path: path.clone() },
        StoreError::Busy { path } => StoreError::Busy { path: path.clone() },
        StoreError::Unreadable { path, why } => StoreError::Unreadable { path: path.clone(), why: why.clone() },
        StoreError::Lost { path, why } => StoreError::Lost { path: path.clone(), why: why.clone() },
        StoreError::Newer { path, found, supported } => {
            StoreError::Newer { path: path.clone(), found: *found, supported: *supported }
        }
        StoreError::Failed(why) => StoreError::Failed(why.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many pages of the log are not in the file yet.
    fn uncopied(db: &Connection) -> i64 {
        db.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| Ok(row.get::<_, i64>(1)? - row.get::<_, i64>(2)?))
            .expect("a log")
    }

    fn written(path: &std::path::Path, stay: Stay) -> Desk {
        let (place, db) =
            Place::find(path, None, stay, crate::sqlite::connect::BUSY_TIMEOUT).expect("a new store");
        let place = Arc::new(place);
        let mut desk = Desk::new(place.clone(), Aside::start(place).expect("a thread"), db);
        let wrote = desk.with(|db| {
            let all = db.transaction()?;
            progress::advance(&all, 1, None)?;
            Ok(all.commit()?)
        });
        wrote.expect("a transaction");
        desk.wrote();
        desk
    }

    #[test]
    fn what_was_written_is_copied_into_the_file_when_nobody_wants_anything() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut desk = written(&dir.path().join("neap.db"), Stay::Whole);
        desk.look_after();
        assert!(desk.with(|db| Ok(uncopied(db))).expect("a log") > 0, "the scene is set");
        desk.rest();
        assert!(matches!(desk.aside.wait(), Some(Done::Copied)));
        assert_eq!(desk.with(|db| Ok(uncopied(db))).expect("a log"), 0);
        // Once: an idle store does nothing.
        desk.rest();
        assert!(!desk.aside.is_at_work());
    }

    #[test]
    fn a_store_that_closes_leaves_nothing_in_the_log_while_another_has_it_open() {
        for (stay, left) in [(Stay::Whole, false), (Stay::Brief, true)] {
            let dir = tempfile::tempdir().expect("a folder");
            let path = dir.path().join("neap.db");
            let desk = written(&path, stay);
            let other = Connection::open(&path).expect("another process");
            assert!(uncopied(&other) > 0, "the scene is set");
            desk.close();
            assert_eq!(uncopied(&other) > 0, left, "{stay:?}");
        }
    }
}
