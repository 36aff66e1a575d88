//! The thread that keeps session folders up to date, so that no reply waits for it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use neap_core::base::ids::StreamId;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use super::folder_error;
use super::view_writer::update;
use crate::{Store, StoreError, files};

/// Changes within this time are written together.
const DEBOUNCE: Duration = Duration::from_millis(300);

enum Job {
    Changed(StreamId),
    Flush(oneshot::Sender<()>),
    Remove(StreamId, oneshot::Sender<Result<(), StoreError>>),
}

/// Keeps the folder of every changed session up to date. Dropping it writes what is pending.
pub struct FolderViews {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    problem: Arc<Mutex<Option<String>>>,
}

impl FolderViews {
    /// Keeps one folder per session under `root`, named after the session.
    pub fn start(root: PathBuf, store: Arc<dyn Store>) -> Self {
        let (jobs, queue) = channel();
        let problem = Arc::new(Mutex::new(None));
        let worker = FolderWorker { root, store, dirty: BTreeSet::new(), problem: problem.clone() };
        let spawned = tokio::runtime::Builder::new_current_thread().enable_all().build().and_then(|runtime| {
            std::thread::Builder::new().name("neap-views".to_owned()).spawn(move || worker.run(&runtime, &queue))
        });
        match spawned {
            Ok(thread) => Self { jobs: Some(jobs), thread: Some(thread), problem },
            Err(e) => {
                set_problem(&problem, Some(format!("cannot start a thread for the session folders: {e}")));
                Self { jobs: None, thread: None, problem }
            }
        }
    }

    /// Reports a change without waiting; the folder follows within a second.
    pub fn mark_changed(&self, session: &StreamId) {
        self.send(Job::Changed(session.clone()));
    }

    /// Waits until every folder shows all changes reported so far.
    pub async fn flush(&self) {
        let (done, waiting) = oneshot::channel();
        self.send(Job::Flush(done));
        let _ = waiting.await;
    }

    pub async fn remove(&self, session: &StreamId) -> Result<(), StoreError> {
        let (done, waiting) = oneshot::channel();
        self.send(Job::Remove(session.clone(), done));
        waiting
            .await
            .unwrap_or_else(|_| Err(StoreError::Failed("no thread updates the session folders".to_owned())))
    }

    /// Why the latest attempt to write a folder failed, if it did. The next change retries.
    pub fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn send(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send(job);
        }
    }
}

impl Drop for FolderViews {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn set_problem(problem: &Mutex<Option<String>>, now: Option<String>) {
    *problem.lock().unwrap_or_else(PoisonError::into_inner) = now;
}

struct FolderWorker {
    root: PathBuf,
    store: Arc<dyn Store>,
    dirty: BTreeSet<StreamId>,
    problem: Arc<Mutex<Option<String>>>,
}

impl FolderWorker {
    fn run(mut self, runtime: &Runtime, queue: &Receiver<Job>) {
        let mut due: Option<Instant> = None;
        loop {
            let job = match due {
                None => queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => queue.recv_timeout(due.saturating_duration_since(Instant::now())),
            };
            match job {
                Ok(Job::Changed(session)) => {
                    self.dirty.insert(session);
                    due = due.or_else(|| Some(Instant::now() + DEBOUNCE));
                }
                Ok(Job::Flush(done)) => {
                    self.write_dirty(runtime);
                    due = None;
                    let _ = done.send(());
                }
                Ok(Job::Remove(session, done)) => {
                    self.dirty.remove(&session);
                    let dir = self.root.join(session.as_str());
                    let _ = done.send(files::remove_dir(&dir).map_err(|e| folder_error(&dir, &e)));
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.write_dirty(runtime);
                    due = None;
                }
                Err(RecvTimeoutError::Disconnected) => return self.write_dirty(runtime),
            }
        }
    }

    /// Writes pending folders; one that fails stays pending and is retried with the next change.
    fn write_dirty(&mut self, runtime: &Runtime) {
        let mut problem = None;
        for session in std::mem::take(&mut self.dirty) {
            let written = runtime.block_on(update(self.store.as_ref(), &self.root, &session));
            if let Err(error) = written {
                problem = Some(error.to_string());
                self.dirty.insert(session);
            }
        }
        set_problem(&self.problem, problem);
    }
}
