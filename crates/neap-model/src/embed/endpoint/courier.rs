//! Requests go out from a thread with a runtime of its own: callers come from several, and a connection that is kept open
//! belongs to the one it was made in.

use std::sync::{Arc, OnceLock};

use tokio::sync::{mpsc, oneshot};

use crate::ModelError;
use crate::client::{Http, Retry, jitter};

/// A request on its way.
struct Job {
    body: String,
    answer: oneshot::Sender<Result<Vec<u8>, ModelError>>,
}

/// Carries requests; its thread begins with the first and ends with it.
pub(super) struct Courier {
    http: Arc<Http>,
    retry: Retry,
    jobs: OnceLock<Option<mpsc::UnboundedSender<Job>>>,
}

impl Courier {
    pub(super) fn new(http: Http, retry: Retry) -> Self {
        Self { http: Arc::new(http), retry, jobs: OnceLock::new() }
    }

    /// Asks until there is an answer, or no sense in asking again. Dropping the future gives up.
    pub(super) async fn ask(&self, body: String) -> Result<Vec<u8>, ModelError> {
        let (answer, heard) = oneshot::channel();
        let jobs = self.jobs.get_or_init(|| begin(self.http.clone(), self.retry));
        let is_sent = jobs.as_ref().is_some_and(|jobs| jobs.send(Job { body, answer }).is_ok());
        let gone = || Err(ModelError::Transport("there is no thread to ask from".to_owned()));
        if is_sent { heard.await.unwrap_or_else(|_| gone()) } else { gone() }
    }
}

/// The thread; none where none can be had.
fn begin(http: Arc<Http>, retry: Retry) -> Option<mpsc::UnboundedSender<Job>> {
    let (jobs, mut waiting) = mpsc::unbounded_channel::<Job>();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let work = move || {
        runtime.block_on(async {
            while let Some(Job { body, mut answer }) = waiting.recv().await {
                let http = http.clone();
                tokio::spawn(async move {
                    let made = tokio::select! {
                        made = ask(&http, retry, &body) => Some(made),
                        () = answer.closed() => None,
                    };
                    // Whoever asked may be gone.
                    let _ = made.map(|made| answer.send(made));
                });
            }
        });
    };
    std::thread::Builder::new().name("neap-embedder".to_owned()).spawn(work).ok()?;
    Some(jobs)
}

async fn ask(http: &Http, retry: Retry, body: &str) -> Result<Vec<u8>, ModelError> {
    let mut failures = 0;
    loop {
        let error = match http.object(body.to_owned()).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        failures += 1;
        match retry.wait(failures, &error, jitter()) {
            Some(wait) => tokio::time::sleep(wait).await,
            None => return Err(error),
        }
    }
}
