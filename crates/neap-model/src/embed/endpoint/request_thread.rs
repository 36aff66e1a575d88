//! Sends requests from a thread with its own runtime: callers come from several runtimes, and a kept-alive
//! connection belongs to the one that opened it.

use std::sync::{Arc, OnceLock};

use tokio::sync::{mpsc, oneshot};

use crate::ModelError;
use crate::client::{Http, RetryPolicy, jitter};

struct PendingRequest {
    body: String,
    answer: oneshot::Sender<Result<Vec<u8>, ModelError>>,
}

/// The thread starts with the first request and ends when this is dropped.
pub(super) struct RequestThread {
    http: Arc<Http>,
    retry: RetryPolicy,
    jobs: OnceLock<Option<mpsc::UnboundedSender<PendingRequest>>>,
}

impl RequestThread {
    pub(super) fn new(http: Http, retry: RetryPolicy) -> Self {
        Self { http: Arc::new(http), retry, jobs: OnceLock::new() }
    }

    /// Retries until there is a response or a permanent error. Dropping the future cancels the request.
    pub(super) async fn send(&self, body: String) -> Result<Vec<u8>, ModelError> {
        let (answer, response) = oneshot::channel();
        let jobs = self.jobs.get_or_init(|| spawn_thread(self.http.clone(), self.retry));
        let is_sent = jobs.as_ref().is_some_and(|jobs| jobs.send(PendingRequest { body, answer }).is_ok());
        let gone = || Err(ModelError::Transport("the thread for embedding requests is not running".to_owned()));
        if is_sent { response.await.unwrap_or_else(|_| gone()) } else { gone() }
    }
}

/// `None` if no thread can be started.
fn spawn_thread(http: Arc<Http>, retry: RetryPolicy) -> Option<mpsc::UnboundedSender<PendingRequest>> {
    let (jobs, mut waiting) = mpsc::unbounded_channel::<PendingRequest>();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let work = move || {
        runtime.block_on(async {
            while let Some(PendingRequest { body, mut answer }) = waiting.recv().await {
                let http = http.clone();
                tokio::spawn(async move {
                    let result = tokio::select! {
                        result = send_with_retry(&http, retry, &body) => Some(result),
                        () = answer.closed() => None,
                    };
                    // The caller may be gone.
                    let _ = result.map(|result| answer.send(result));
                });
            }
        });
    };
    std::thread::Builder::new().name("neap-embedder".to_owned()).spawn(work).ok()?;
    Some(jobs)
}

async fn send_with_retry(http: &Http, retry: RetryPolicy, body: &str) -> Result<Vec<u8>, ModelError> {
    let mut failures = 0;
    loop {
        let error = match http.post_whole(body.to_owned()).await {
            Ok(response) => return Ok(response),
            Err(error) => error,
        };
        failures += 1;
        match retry.backoff(failures, &error, jitter()) {
            Some(wait) => tokio::time::sleep(wait).await,
            None => return Err(error),
        }
    }
}
