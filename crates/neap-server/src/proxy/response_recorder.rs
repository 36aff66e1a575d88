//! Records responses while they stream. Only the last frame is held back, for at most [`HOLD_TIMEOUT`], so that a
//! response is recorded before the client sees its end; one that takes longer is counted as not recorded in time.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use neap_model::client::{ResponseTap, TappedResponse};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::Proxy;
use super::decide::{Decider, RequestDecision};
use super::request_log::RequestLog;
use super::request_metrics::ProxyMetrics;
use super::unrecorded::UnrecordedLog;

/// How long the last frame waits for the recording.
const HOLD_TIMEOUT: Duration = Duration::from_secs(1);
const STORE_SLOW: &str = "the store did not answer in time";

pub(crate) struct CompletedResponse {
    pub(crate) decision: RequestDecision,
    pub(crate) response: TappedResponse,
    pub(crate) name: &'static str,
    pub(crate) began: Instant,
    recorded: oneshot::Sender<Result<(), String>>,
}

/// Taps one response and queues it for recording.
pub(crate) struct ResponseRecorder {
    pub(crate) tap: ResponseTap,
    pub(crate) decision: RequestDecision,
    pub(crate) name: &'static str,
    pub(crate) began: Instant,
    pub(crate) proxy: Arc<Proxy>,
}

impl ResponseRecorder {
    /// Queues the response. The returned future resolves when it is recorded, or after [`HOLD_TIMEOUT`].
    fn finish(self) -> impl Future<Output = ()> + Send + 'static {
        let ResponseRecorder { tap, decision, name, began, proxy } = self;
        let (recorded, outcome) = oneshot::channel();
        // At shutdown nobody receives this any more, and the channel just closes.
        let _ =
            proxy.completed.send(CompletedResponse { decision, response: tap.finish(), name, began, recorded });
        async move {
            match tokio::time::timeout(HOLD_TIMEOUT, outcome).await {
                Ok(Ok(Ok(())) | Err(_)) => {}
                Ok(Ok(Err(reason))) => proxy.unrecorded.add_reply(&reason),
                Err(_) => proxy.unrecorded.add_reply(STORE_SLOW),
            }
        }
    }
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
    /// Bytes still to come, where the length is known.
    left: Option<u64>,
}

impl RecordedBody {
    pub(crate) fn new(inner: Body, recorder: ResponseRecorder) -> Self {
        let left = inner.size_hint().exact();
        Self { inner, recorder: Some(Box::new(recorder)), held: None, left }
    }

    /// Feeds a frame to the tap; returns whether it is the last.
    fn observe(&mut self, frame: &Frame<Bytes>) -> bool {
        let (Some(recorder), Some(data)) = (&mut self.recorder, frame.data_ref()) else { return false };
        recorder.tap.feed(data);
        self.left = self.left.map(|left| left.saturating_sub(data.len() as u64));
        recorder.tap.is_finished() || self.left == Some(0) || self.inner.is_end_stream()
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
        let held = self.held.as_ref().and_then(|held| held.next.as_ref()?.as_ref().ok()?.data_ref());
        let (held, rest) = (held.map_or(0, |data| data.len() as u64), self.inner.size_hint());
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower() + held);
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper + held);
        }
        hint
    }
}

impl Drop for RecordedBody {
    fn drop(&mut self) {
        if let Some(recorder) = self.recorder.take() {
            drop(recorder.finish());
        }
    }
}

/// Records queued responses until all senders are gone.
pub(crate) async fn record_responses(
    mut responses: UnboundedReceiver<CompletedResponse>,
    decider: Arc<Decider>,
    metrics: Arc<ProxyMetrics>,
    request_log: Arc<RequestLog>,
    unrecorded: Arc<UnrecordedLog>,
) {
    let mut recording = JoinSet::new();
    loop {
        tokio::select! {
            response = responses.recv() => {
                let Some(response) = response else { break };
                let unrecorded = unrecorded.clone();
                recording.spawn(record_one(response, decider.clone(), metrics.clone(), request_log.clone(), unrecorded));
            }
            Some(_) = recording.join_next() => {}
        }
    }
    while recording.join_next().await.is_some() {}
}

async fn record_one(
    mut completed: CompletedResponse,
    decider: Arc<Decider>,
    metrics: Arc<ProxyMetrics>,
    request_log: Arc<RequestLog>,
    unrecorded: Arc<UnrecordedLog>,
) {
    let earlier = completed.decision.usage.take();
    if earlier.calls > 0 {
        *completed.response.usage.get_or_insert_default() += earlier;
    }
    request_log.add(&completed, jiff::Timestamp::now().as_millisecond());
    let CompletedResponse { decision, response, name, began, recorded } = completed;
    metrics.add_usage(response.usage, response.is_complete);
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
    // The client is gone and cannot report the failure.
    if let Err(Err(reason)) = recorded.send(decider.record(&decision, response).await) {
        unrecorded.add_reply(&reason);
    }
    decider.conclude(&decision).await;
}
