//! The thread that keeps the folders current, off the path of every reply.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use neap_core::ids::SessionId;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use super::named;
use super::view::update;
use crate::{Store, StoreError, files};

/// Changes within this time are written together.
const GATHER: Duration = Duration::from_millis(300);

enum Job {
    Changed(SessionId),
    Flush(oneshot::Sender<()>),
    Remove(SessionId, oneshot::Sender<Result<(), StoreError>>),
}

/// Live folder views of every session that changes. Dropping it writes what waits.
pub struct FolderViews {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    problem: Arc<Mutex<Option<String>>>,
}

impl FolderViews {
    /// Keeps folders under `root`, one for each session, named after it.
    pub fn start(root: PathBuf, store: Arc<dyn Store>) -> Self {
        let (jobs, queue) = channel();
        let problem = Arc::new(Mutex::new(None));
        let keeper = Keeper { root, store, dirty: BTreeSet::new(), problem: problem.clone() };
        let spawned = tokio::runtime::Builder::new_current_thread().enable_all().build().and_then(|runtime| {
            std::thread::Builder::new().name("neap-views".to_owned()).spawn(move || keeper.work(&runtime, &queue))
        });
        match spawned {
            Ok(thread) => Self { jobs: Some(jobs), thread: Some(thread), problem },
            Err(e) => {
                set(&problem, Some(format!("no thread for the session folders: {e}")));
                Self { jobs: None, thread: None, problem }
            }
        }
    }

    /// Says that a session changed; its folder follows within a second. Waits for nothing.
    pub fn changed(&self, session: &SessionId) {
        self.send(Job::Changed(session.clone()));
    }

    /// Waits until every folder shows what was said before.
    pub async fn flush(&self) {
        let (done, waiting) = oneshot::channel();
        self.send(Job::Flush(done));
        let _ = waiting.await;
    }

    /// Removes the folder of an erased session.
    pub async fn remove(&self, session: &SessionId) -> Result<(), StoreError> {
        let (done, waiting) = oneshot::channel();
        self.send(Job::Remove(session.clone(), done));
        waiting.await.unwrap_or_else(|_| Err(StoreError::Failed("no thread keeps the session folders".to_owned())))
    }

    /// Why the latest attempt to write a folder failed, if it did. The next change tries again.
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

fn set(problem: &Mutex<Option<String>>, now: Option<String>) {
    *problem.lock().unwrap_or_else(PoisonError::into_inner) = now;
}

struct Keeper {
    root: PathBuf,
    store: Arc<dyn Store>,
    /// Sessions whose folder is behind.
    dirty: BTreeSet<SessionId>,
    problem: Arc<Mutex<Option<String>>>,
}

impl Keeper {
    fn work(mut self, runtime: &Runtime, queue: &Receiver<Job>) {
        let mut due: Option<Instant> = None;
        loop {
            let job = match due {
                None => queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => queue.recv_timeout(due.saturating_duration_since(Instant::now())),
            };
            match job {
                Ok(Job::Changed(session)) => {
                    self.dirty.insert(session);
                    due = due.or_else(|| Some(Instant::now() + GATHER));
                }
                Ok(Job::Flush(done)) => {
                    self.write(runtime);
                    due = None;
                    let _ = done.send(());
                }
                Ok(Job::Remove(session, done)) => {
                    self.dirty.remove(&session);
                    let dir = self.root.join(session.as_str());
                    let _ = done.send(files::remove_dir(&dir).map_err(|e| named(&dir, &e)));
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.write(runtime);
                    due = None;
                }
                Err(RecvTimeoutError::Disconnected) => return self.write(runtime),
            }
        }
    }

    /// Writes what is behind; what fails stays behind and is tried again with the next change.
    fn write(&mut self, runtime: &Runtime) {
        let mut problem = None;
        for session in std::mem::take(&mut self.dirty) {
            let written = runtime.block_on(update(self.store.as_ref(), &self.root, &session));
            if let Err(error) = written {
                problem = Some(error.to_string());
                self.dirty.insert(session);
            }
        }
        set(&self.problem, problem);
    }
}
