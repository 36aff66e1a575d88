//! Records responses while they stream. Only the last frame is held back, for at most [`HOLD_TIMEOUT`], so that a
//! response is recorded before the client sees its end; one that takes longer is counted as not recorded in time.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use neap_model::client::{ResponseTap, TappedResponse};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::decide::{RequestDecision, provider_reply};
use super::tenant::Relay;

/// How long the last frame waits for the recording.
const HOLD_TIMEOUT: Duration = Duration::from_secs(1);
const STORE_SLOW: &str = "the store did not answer in time";
const RECORDING_FAILED: &str = "the recording failed";

pub(crate) struct CompletedResponse {
    pub(crate) decision: RequestDecision,
    pub(crate) response: TappedResponse,
    pub(crate) name: &'static str,
    pub(crate) began: Instant,
}

/// Recordings in progress. They outlive their connections, and shutdown waits for them.
#[derive(Default)]
pub(crate) struct Recordings(Mutex<JoinSet<()>>);

impl Recordings {
    fn spawn(&self, recording: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(recording);
    }

    pub(crate) async fn finish(&self) {
        let mut tasks = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        while tasks.join_next().await.is_some() {}
    }
}

/// Taps one response and records it.
pub(crate) struct ResponseRecorder {
    pub(crate) tap: ResponseTap,
    pub(crate) decision: RequestDecision,
    pub(crate) name: &'static str,
    pub(crate) began: Instant,
    pub(crate) relay: Arc<Relay>,
}

impl ResponseRecorder {
    /// Starts to record. The returned future resolves when the response is recorded, or after [`HOLD_TIMEOUT`].
    fn finish(self) -> impl Future<Output = ()> + Send + 'static {
        let ResponseRecorder { tap, decision, name, began, relay } = self;
        let completed = CompletedResponse { decision, response: tap.finish(), name, began };
        let (ended, has_ended) = oneshot::channel();
        let failure = ReplyFailure { relay: relay.clone(), is_counted: Arc::default() };
        relay.recordings.spawn(record(relay.clone(), completed, failure.clone(), ended));
        async move {
            match tokio::time::timeout(HOLD_TIMEOUT, has_ended).await {
                Ok(Ok(())) => {}
                // The sender is dropped without a message if the recording panics.
                Ok(Err(_)) => failure.count(RECORDING_FAILED),
                Err(_) => failure.count(STORE_SLOW),
            }
        }
    }
}

/// Counts one response as not recorded, at most once: a recording may be slow and then fail.
#[derive(Clone)]
struct ReplyFailure {
    relay: Arc<Relay>,
    is_counted: Arc<AtomicBool>,
}

impl ReplyFailure {
    fn count(&self, reason: &str) {
        if !self.is_counted.swap(true, Ordering::Relaxed) {
            self.relay.unrecorded.add_reply(reason);
        }
    }
}

async fn record(
    relay: Arc<Relay>,
    mut completed: CompletedResponse,
    failure: ReplyFailure,
    ended: oneshot::Sender<()>,
) {
    let earlier = completed.decision.usage.take();
    if earlier.calls > 0 {
        *completed.response.usage.get_or_insert_default() += earlier;
    }
    relay.tenant.request_log.add(&completed, jiff::Timestamp::now().as_millisecond());
    let CompletedResponse { decision, response, name, began } = completed;
    relay.request_metrics.add_usage(response.usage, response.is_complete);
    let used = response.usage.unwrap_or_default();
    tracing::info!(
        target: "neap::proxy",
        asks = name,
        is_whole = response.is_complete,
        tokens_in = used.input.0,
        cached = used.cached.0,
        tokens_out = used.output.0,
        took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        "answered"
    );
    let reply = provider_reply(response);
    if let Some(plan) = &decision.plan {
        relay.request_metrics.add_account(&plan.account(&reply));
    }
    if let Err(reason) = relay.tenant.decider.record(&decision, &reply).await {
        failure.count(&reason);
    }
    // Nobody waits after a disconnect or the timeout.
    let _ = ended.send(());
    relay.tenant.decider.conclude(&decision).await;
}

type NextFrame = Option<Result<Frame<Bytes>, axum::Error>>;

struct HeldFrame {
    next: NextFrame,
    until: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// Forwards a body frame by frame. When the client disconnects, the body is dropped with the provider's
/// connection, and what has arrived so far is recorded.
pub(crate) struct RecordedBody {
    inner: Body,
    recorder: Option<Box<ResponseRecorder>>,
    held: Option<HeldFrame>,
}

impl RecordedBody {
    pub(crate) fn new(inner: Body, recorder: ResponseRecorder) -> Self {
        Self { inner, recorder: Some(Box::new(recorder)), held: None }
    }

    /// Feeds a frame to the tap; returns whether it is the last.
    fn observe(&mut self, frame: &Frame<Bytes>) -> bool {
        let (Some(recorder), Some(data)) = (&mut self.recorder, frame.data_ref()) else { return false };
        recorder.tap.feed(data);
        recorder.tap.is_finished() || self.inner.is_end_stream()
    }

    fn poll_held(&mut self, cx: &mut Context<'_>) -> Poll<NextFrame> {
        if let Some(held) = &mut self.held {
            ready!(held.until.as_mut().poll(cx));
        }
        Poll::Ready(self.held.take().and_then(|held| held.next))
    }
}

impl HttpBody for RecordedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<NextFrame> {
        if self.held.is_some() {
            return self.poll_held(cx);
        }
        let next = ready!(Pin::new(&mut self.inner).poll_frame(cx));
        let is_last = match &next {
            Some(Ok(frame)) => self.observe(frame),
            Some(Err(_)) | None => true,
        };
        match self.recorder.take_if(|_| is_last) {
            Some(recorder) => {
                self.held = Some(HeldFrame { next, until: Box::pin(recorder.finish()) });
                self.poll_held(cx)
            }
            // Yields once, so that the server writes the earlier frames before the error closes the connection.
            None if matches!(next, Some(Err(_))) => {
                self.held = Some(HeldFrame { next, until: Box::pin(tokio::task::yield_now()) });
                self.poll_held(cx)
            }
            None => Poll::Ready(next),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.recorder.is_none() && self.held.is_none() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.held.is_some() { SizeHint::default() } else { self.inner.size_hint() }
    }
}

impl Drop for RecordedBody {
    fn drop(&mut self) {
        if let Some(recorder) = self.recorder.take() {
            drop(recorder.finish());
        }
    }
}
