//! Listens to an answer while it is handed on: no byte waits for that.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use neap_model::client::{Overheard, Overhearing};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::decide::{Decided, Decider};
use super::meter::Meter;
use super::recent::Recent;

/// An answer that is over.
pub(crate) struct Answered {
    pub(crate) decided: Decided,
    pub(crate) heard: Overheard,
    pub(crate) name: &'static str,
    pub(crate) began: Instant,
}

/// Who listens, and who is told.
pub(crate) struct Ear {
    pub(crate) hearing: Overhearing,
    pub(crate) decided: Decided,
    pub(crate) name: &'static str,
    pub(crate) began: Instant,
    pub(crate) answers: UnboundedSender<Answered>,
}

/// A body that is handed on as it comes. If nobody takes it any more, it is dropped, and the provider's connection with it;
/// what was heard until then is told all the same.
pub(crate) struct Listened {
    inner: Body,
    ear: Option<Box<Ear>>,
}

impl Listened {
    pub(crate) fn new(inner: Body, ear: Ear) -> Self {
        Self { inner, ear: Some(Box::new(ear)) }
    }

    fn over(&mut self) {
        if let Some(ear) = self.ear.take() {
            let Ear { hearing, decided, name, began, answers } = *ear;
            // Nobody records any more when the program ends.
            let _ = answers.send(Answered { decided, heard: hearing.end(), name, began });
        }
    }
}

impl HttpBody for Listened {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(cx));
        match &frame {
            Some(Ok(frame)) => {
                if let (Some(ear), Some(data)) = (&mut self.ear, frame.data_ref()) {
                    ear.hearing.feed(data);
                }
            }
            Some(Err(_)) | None => self.over(),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for Listened {
    fn drop(&mut self) {
        self.over();
    }
}

/// Takes in what was answered, one after the other, until nobody can answer any more.
pub(crate) async fn record(
    mut answers: UnboundedReceiver<Answered>,
    decider: Arc<Decider>,
    meter: Arc<Meter>,
    recent: Arc<Recent>,
) {
    while let Some(mut answered) = answers.recv().await {
        let spent = answered.decided.spent.take();
        if spent.calls > 0 {
            *answered.heard.usage.get_or_insert_default() += spent;
        }
        recent.add(&answered, jiff::Timestamp::now().as_millisecond());
        let Answered { decided, heard, name, began } = answered;
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
        decider.answered(&decided, heard).await;
    }
}
