//! A request's body has only so much time to come, and what is refused of it is read to its end all the same, within limits.
//!
//! A connection that is closed while its client still writes is reset, and a reset takes with it the answer that says why.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::header;
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until, timeout, timeout_at};

use super::body::BODY_BYTES_MAX;
use super::limits::Limits;

/// How much is read of what nobody wants.
const UNWANTED_BYTES_MAX: usize = 4 * BODY_BYTES_MAX;
/// How long the next of it may take, and how long all of it.
const NEXT_MAX: Duration = Duration::from_secs(2);
const WHOLE_MAX: Duration = Duration::from_secs(30);

/// A request whose body has only so much time, and is read to its end, whoever lets go of it before.
pub(super) async fn lingering(State(limits): State<Limits>, request: Request) -> Request {
    // Who asks before sending has sent nothing yet.
    let is_coming = !request.headers().contains_key(header::EXPECT);
    request.map(|body| match body.is_end_stream() {
        true => body,
        false => Body::new(Lingering {
            body,
            is_coming,
            end: Instant::now() + limits.body,
            next: limits.body_next,
            alarm: None,
        }),
    })
}

struct Lingering {
    body: Body,
    is_coming: bool,
    /// When all of it has to be there.
    end: Instant,
    /// How long the next piece may take.
    next: Duration,
    /// When the piece that is waited for is late.
    alarm: Option<Pin<Box<Sleep>>>,
}

/// A body did not come in time.
#[derive(Debug)]
struct TooSlow;

impl std::fmt::Display for TooSlow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the request's body did not come in time")
    }
}

impl std::error::Error for TooSlow {}

/// Whether that is why a body could not be read.
pub(crate) fn is_too_slow(error: &axum::Error) -> bool {
    let mut reason: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(inner) = reason {
        if inner.is::<TooSlow>() {
            return true;
        }
        reason = inner.source();
    }
    false
}

impl HttpBody for Lingering {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.is_coming = true;
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx)
            && (Instant::now() < self.end || frame.is_none())
        {
            self.alarm = None;
            self.is_coming = matches!(frame, Some(Ok(_)));
            return Poll::Ready(frame);
        }
        let late = self.end.min(Instant::now() + self.next);
        ready!(self.alarm.get_or_insert_with(|| Box::pin(sleep_until(late))).as_mut().poll(cx));
        self.is_coming = false;
        Poll::Ready(Some(Err(axum::Error::new(TooSlow))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Lingering {
    fn drop(&mut self) {
        if self.is_coming && !self.body.is_end_stream() {
            tokio::spawn(read_away(std::mem::take(&mut self.body)));
        }
    }
}

async fn read_away(mut body: Body) {
    let end = Instant::now() + WHOLE_MAX;
    let mut left = UNWANTED_BYTES_MAX;
    let next = async {
        while let Ok(Some(Ok(frame))) = timeout(NEXT_MAX, poll_fn(|cx| Pin::new(&mut body).poll_frame(cx))).await {
            let Some(rest) = left.checked_sub(frame.data_ref().map_or(0, Bytes::len)) else { break };
            left = rest;
        }
    };
    if timeout_at(end, next).await.is_err() {
        tracing::debug!(target: "neap::proxy", "a refused request does not end");
    }
}
