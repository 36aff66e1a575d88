//! The one thread that writes. It takes all that waits into one transaction, a savepoint for each commit, and
//! answers only when the transaction is on disk: many commits cost one wait for the disk. When everyone has been
//! answered, it looks after what is done beside it: packing what lies far behind, copying the log into the file.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use neap_core::ids::{Seq, SessionId, Stamp, TurnNo};
use neap_core::memory::MemoryId;
use neap_core::recall::{Embedding, TextId};
use rusqlite::{Connection, OptionalExtension, params};
use tokio::sync::oneshot;

use super::aside::{Answer as Done, Aside, Ask};
use super::cards::{self, Tally};
use super::checkpoint::Due;
use super::connect::{Place, Stay};
use super::fault::Stop;
use super::memories::PreparedMemory;
use super::prepare::Prepared;
use super::{checkpoint, cold, effects, erase, events, links, memories, rebuild, scrub, vectors};
use crate::{Finding, StoreError};

/// Commits in one transaction, at most.
const BATCH_MAX: usize = 256;
/// While something is done beside it and nobody wants anything, it is looked after this often.
const ASIDE_POLL: Duration = Duration::from_millis(2);
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
    /// Starts it, with the connection that there is already.
    pub(super) fn start(place: Arc<Place>, db: Option<Connection>) -> Result<Self, StoreError> {
        let (jobs, queue) = channel();
        let aside = Aside::start(place.clone())?;
        let desk = Desk { place, aside, db, has_written: false, grown: BTreeSet::new() };
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
    /// Streams that may have more to pack.
    grown: BTreeSet<i64>,
}

impl Desk {
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
                }
                Job::Scrub(session, now, answer) => {
                    self.drop_packed();
                    let _ = answer.send(self.with(|db| scrub::scrub(db, &session, now)));
                }
                Job::EraseMemory(agent, id, now, answer) => {
                    self.drop_packed();
                    let _ = answer.send(self.with(|db| erase::erase_memory(db, &agent, id, now)));
                }
                Job::Embed(model, batch, answer) => {
                    let _ = answer.send(self.with(|db| vectors::embed(db, &model, &batch)));
                    self.has_written = true;
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
            if !self.aside.is_at_work() {
                break;
            }
            match queue.recv_timeout(ASIDE_POLL) {
                Ok(job) => return Some(job),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        queue.recv().ok()
    }

    /// Takes up what was done aside, and has the next thing done. Waits for nobody. If something fails nothing is
    /// lost; it is tried again after a later commit.
    fn look_after(&mut self) {
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

    /// Puts a block in its place; where there was one, there may be another.
    fn put(&mut self, stream: i64, next: Option<cold::Next>) {
        if let Some(next) = next
            && let Ok(true) = self.with(|db| Ok(cold::put(db, stream, &next)?))
        {
            self.has_written = true;
            self.grown.insert(stream);
        }
    }

    /// Drops what was packed and is not in its place: nothing that was read before an erasure outlives it.
    fn drop_packed(&mut self) {
        if let Some(Done::Packed(stream, _)) = self.aside.wait() {
            self.grown.insert(stream);
        }
    }

    /// Packs what is still due, within bounds.
    fn close(mut self) {
        for _ in 0..CLOSING_BLOCKS_MAX {
            self.look_after();
            match self.aside.wait() {
                Some(Done::Packed(stream, next)) => self.put(stream, next),
                Some(Done::Copied) => {}
                None => return,
            }
        }
    }

    fn commit_all(&mut self, batch: Vec<(Box<Prepared>, Answer<()>)>) {
        let (commits, answers): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
        match self.with(|db| write_all(db, &commits)) {
            Ok(outcomes) => {
                for (answer, outcome) in answers.into_iter().zip(outcomes) {
                    let _ = answer.send(outcome.map(|stream| {
                        self.grown.insert(stream);
                    }));
                }
                self.has_written = true;
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

/// Writes every commit that is not refused, in one transaction. Returns the stream of each that was written.
fn write_all(db: &mut Connection, commits: &[Box<Prepared>]) -> Result<Vec<Result<i64, StoreError>>, Stop> {
    let mut all = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let mut outcomes = Vec::with_capacity(commits.len());
    let mut tally = Tally::default();
    for prepared in commits {
        let one = all.savepoint()?;
        let mut counted = Tally::default();
        outcomes.push(match write(&one, prepared, &mut counted) {
            Ok(stream) => {
                one.commit()?;
                tally.add(counted);
                Ok(stream)
            }
            Err(Stop::Refused(refusal)) => {
                one.finish()?; // Rolls back.
                Err(refusal)
            }
            Err(stop @ Stop::Sql(_)) => return Err(stop),
        });
    }
    tally.write(&all)?;
    all.commit()?;
    Ok(outcomes)
}

fn write(db: &Connection, commit: &Prepared, tally: &mut Tally) -> Result<i64, Stop> {
    let known = events::stream(db, commit.session.as_str())?;
    if let Some(stream) = known {
        refuse_duplicates(db, stream, &commit.turn_ids)?;
    }
    let actual = known.map_or(Ok(Seq(0)), |stream| events::last_seq(db, stream))?;
    if actual != commit.expected {
        return Err(StoreError::Conflict { expected: commit.expected, actual }.into());
    }
    let stream = match known {
        Some(stream) => stream,
        None => db.query_row(
            "INSERT INTO sessions(name, texts, head) VALUES (?, 0, '') RETURNING stream",
            [commit.session.as_str()],
            |row| row.get(0),
        )?,
    };
    for row in &commit.events {
        row.insert(db, stream)?;
    }
    for (id, turn) in &commit.turn_ids {
        effects::put_turn_id(db, stream, id, *turn)?;
    }
    for (id, body) in &commit.efforts {
        effects::put_effort(db, stream, id, body)?;
    }
    for row in &commit.exchanges {
        effects::put_exchange(db, stream, row)?;
    }
    for link in &commit.links {
        links::put(db, stream, link)?;
    }
    for turn in &commit.withheld {
        effects::put_withheld(db, stream, *turn)?;
    }
    for turn in &commit.taken_back {
        effects::take_back(db, stream, *turn)?;
    }
    let scope = if commit.session.agent().is_some() { stream } else { cards::SESSIONS };
    let mut new_texts = 0;
    for id in &commit.erased {
        new_texts -= memories::remove(db, tally, stream, *id)?;
    }
    for memory in &commit.memories {
        new_texts -= memory.put(db, tally, stream)?;
    }
    for (id, seq) in &commit.memory_events {
        memories::put_event(db, stream, *id, *seq)?;
    }
    let mut said = None;
    for indexed in &commit.texts {
        let mut indexed = Cow::Borrowed(indexed);
        if indexed.row.kind.is_said() {
            let nth = said.map_or_else(|| cards::said(db, stream), Ok)? + 1;
            indexed.to_mut().row.nth = nth;
            said = Some(nth);
        }
        let (text, is_new) = effects::put_text(db, tally, stream, scope, &indexed)?;
        new_texts += i64::from(is_new);
        if scope == cards::SESSIONS {
            vectors::settle(db, scope, text.as_slice())?;
        }
    }
    for id in commit.erased.iter().copied().chain(commit.memories.iter().map(PreparedMemory::id)) {
        memories::settle(db, stream, id)?;
    }
    effects::put_head(db, stream, &commit.head, new_texts)?;
    Ok(stream)
}

fn refuse_duplicates(db: &Connection, stream: i64, turn_ids: &[(String, TurnNo)]) -> Result<(), Stop> {
    for (id, _) in turn_ids {
        let turn: Option<i64> = db
            .prepare_cached("SELECT turn FROM turn_ids WHERE stream = ? AND turn_id = ?")?
            .query_row(params![stream, id], |row| row.get(0))
            .optional()?;
        if let Some(turn) = turn {
            return Err(StoreError::DuplicateTurn { turn: TurnNo(turn as u64) }.into());
        }
    }
    Ok(())
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
        StoreError::Newer { path, found, supported } => {
            StoreError::Newer { path: path.clone(), found: *found, supported: *supported }
        }
        StoreError::Failed(why) => StoreError::Failed(why.clone()),
    }
}
