//! Listens to an answer while it is handed on. Only its end waits: for the client an answer is over when it is recorded.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use neap_model::client::{Overheard, Overhearing};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::Proxy;
use super::decide::{Decided, Decider};
use super::meter::Meter;
use super::recent::Recent;
use super::unrecorded::Unrecorded;

/// How long the end of an answer waits to be recorded.
const HOLD_MAX: Duration = Duration::from_secs(1);
const SLOW: &str = "the store does not answer in time";

/// An answer that is over.
pub(crate) struct Answered {
    pub(crate) decided: Decided,
    pub(crate) heard: Overheard,
    pub(crate) name: &'static str,
    pub(crate) began: Instant,
    /// Told when it is recorded, or why it is not.
    recorded: oneshot::Sender<Result<(), String>>,
}

/// Who listens, and who is told.
pub(crate) struct Ear {
    pub(crate) hearing: Overhearing,
    pub(crate) decided: Decided,
    pub(crate) name: &'static str,
    pub(crate) began: Instant,
    pub(crate) proxy: Arc<Proxy>,
}

impl Ear {
    /// Tells what was heard; gives what is known when that is recorded, or was waited for long enough.
    fn over(self) -> impl Future<Output = ()> + Send + 'static {
        let Ear { hearing, decided, name, began, proxy } = self;
        let (recorded, answer) = oneshot::channel();
        // Nobody records any more when the program ends: then nobody answers either.
        let _ = proxy.answers.send(Answered { decided, heard: hearing.end(), name, began, recorded });
        async move {
            match tokio::time::timeout(HOLD_MAX, answer).await {
                Ok(Ok(Ok(())) | Err(_)) => {}
                Ok(Ok(Err(reason))) => proxy.unrecorded.reply(&reason),
                Err(_) => proxy.unrecorded.reply(SLOW),
            }
        }
    }
}

type Next = Option<Result<Frame<Bytes>, axum::Error>>;

/// The end of an answer, which waits until the answer is recorded.
struct Held {
    next: Next,
    until: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// A body that is handed on as it comes, up to its end. If nobody takes it any more, it is dropped, and the provider's connection with
/// it; what was heard until then is told all the same.
pub(crate) struct Listened {
    inner: Body,
    ear: Option<Box<Ear>>,
    held: Option<Held>,
    /// Bytes that are still to come, where that is known.
    left: Option<u64>,
}

impl Listened {
    pub(crate) fn new(inner: Body, ear: Ear) -> Self {
        let left = inner.size_hint().exact();
        Self { inner, ear: Some(Box::new(ear)), held: None, left }
    }

    /// Listens to a part of the answer; says whether the answer ends with it.
    fn hear(&mut self, frame: &Frame<Bytes>) -> bool {
        let (Some(ear), Some(data)) = (&mut self.ear, frame.data_ref()) else { return false };
        ear.hearing.feed(data);
        self.left = self.left.map(|left| left.saturating_sub(data.len() as u64));
        ear.hearing.is_over() || self.left == Some(0) || self.inner.is_end_stream()
    }

    fn poll_held(&mut self, cx: &mut Context<'_>) -> Poll<Next> {
        if let Some(held) = &mut self.held {
            ready!(held.until.as_mut().poll(cx));
        }
        Poll::Ready(self.held.take().and_then(|held| held.next))
    }
}

impl HttpBody for Listened {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Next> {
        if self.held.is_some() {
            return self.poll_held(cx);
        }
        let next = ready!(Pin::new(&mut self.inner).poll_frame(cx));
        let is_last = match &next {
            Some(Ok(frame)) => self.hear(frame),
            Some(Err(_)) | None => true,
        };
        match self.ear.take_if(|_| is_last) {
            Some(ear) => {
                self.held = Some(Held { next, until: Box::pin(ear.over()) });
                self.poll_held(cx)
            }
            // What was handed on is written while the server waits, and lost with the connection if it does not.
            None if matches!(next, Some(Err(_))) => {
                self.held = Some(Held { next, until: Box::pin(tokio::task::yield_now()) });
                self.poll_held(cx)
            }
            None => Poll::Ready(next),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.ear.is_none() && self.held.is_none() && self.inner.is_end_stream()
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

impl Drop for Listened {
    fn drop(&mut self) {
        if let Some(ear) = self.ear.take() {
            drop(ear.over());
        }
    }
}

/// Takes in what was answered, until nobody can answer any more.
pub(crate) async fn record(
    mut answers: UnboundedReceiver<Answered>,
    decider: Arc<Decider>,
    meter: Arc<Meter>,
    recent: Arc<Recent>,
    unrecorded: Arc<Unrecorded>,
) {
    let mut recording = JoinSet::new();
    loop {
        tokio::select! {
            answered = answers.recv() => {
                let Some(answered) = answered else { break };
                let unrecorded = unrecorded.clone();
                recording.spawn(take_in(answered, decider.clone(), meter.clone(), recent.clone(), unrecorded));
            }
            Some(_) = recording.join_next() => {}
        }
    }
    while recording.join_next().await.is_some() {}
}

async fn take_in(
    mut answered: Answered,
    decider: Arc<Decider>,
    meter: Arc<Meter>,
    recent: Arc<Recent>,
    unrecorded: Arc<Unrecorded>,
) {
    let spent = answered.decided.spent.take();
    if spent.calls > 0 {
        *answered.heard.usage.get_or_insert_default() += spent;
    }
    recent.add(&answered, jiff::Timestamp::now().as_millisecond());
    let Answered { decided, heard, name, began, recorded } = answered;
    meter.used(heard.usage, heard.is_whole);
    let used = heard.usage.unwrap_or_default();
    tracing::info!(
        target: "neap::proxy",
        asks = name,
        is_whole = heard.is_whole,
        tokens_in = used.input.0,
        cached = used.cached.0,
        tokens_out = used.output.0,
        took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        "answered"
    );
    // Where the client is gone nobody else says so.
    if let Err(Err(reason)) = recorded.send(decider.record(&decided, heard).await) {
        unrecorded.reply(&reason);
    }
    decider.conclude(&decided).await;
}
