//! Limits how long a request body may take to arrive, and drains the rest of a rejected one, up to a limit.
//!
//! Closing a connection while its client still writes resets it, and the reset would discard our error response.

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
use super::limits::ProxyLimits;

/// Most bytes drained of a rejected body.
const DRAIN_BYTES_MAX: usize = 4 * BODY_BYTES_MAX;
/// Timeouts for the next frame of it, and for all of it.
const DRAIN_FRAME_TIMEOUT: Duration = Duration::from_secs(2);
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// Adds the body timeouts to a request, and drains its body if it is dropped unread.
pub(crate) async fn drain_on_drop(State(limits): State<ProxyLimits>, request: Request) -> Request {
    // A client that sends `Expect` waits for our go-ahead, so no body is on its way.
    let is_coming = !request.headers().contains_key(header::EXPECT);
    request.map(|body| match body.is_end_stream() {
        true => body,
        false => Body::new(DrainedBody {
            body,
            has_more: is_coming,
            deadline: Instant::now() + limits.body_timeout,
            frame_timeout: limits.body_frame_timeout,
            frame_timer: None,
            bytes_per_second: limits.body_bytes_per_second.max(1),
        }),
    })
}

struct DrainedBody {
    body: Body,
    has_more: bool,
    deadline: Instant,
    frame_timeout: Duration,
    /// Runs while the next frame is awaited.
    frame_timer: Option<Pin<Box<Sleep>>>,
    bytes_per_second: u32,
}

impl DrainedBody {
    /// Grants the time that a frame may have taken.
    fn extend_deadline(&mut self, bytes: usize) {
        self.deadline += Duration::from_secs(bytes as u64) / self.bytes_per_second;
    }
}

#[derive(Debug)]
struct BodyTimeout;

impl std::fmt::Display for BodyTimeout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the request body did not arrive in time")
    }
}

impl std::error::Error for BodyTimeout {}

pub(crate) fn is_body_timeout(error: &axum::Error) -> bool {
    let mut reason: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(inner) = reason {
        if inner.is::<BodyTimeout>() {
            return true;
        }
        reason = inner.source();
    }
    false
}

impl HttpBody for DrainedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.has_more = true;
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx)
            && (Instant::now() < self.deadline || frame.is_none())
        {
            self.frame_timer = None;
            if let Some(Ok(frame)) = &frame {
                self.extend_deadline(frame.data_ref().map_or(0, Bytes::len));
            }
            self.has_more = matches!(frame, Some(Ok(_)));
            return Poll::Ready(frame);
        }
        let late = self.deadline.min(Instant::now() + self.frame_timeout);
        ready!(self.frame_timer.get_or_insert_with(|| Box::pin(sleep_until(late))).as_mut().poll(cx));
        self.has_more = false;
        Poll::Ready(Some(Err(axum::Error::new(BodyTimeout))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for DrainedBody {
    fn drop(&mut self) {
        if self.has_more && !self.body.is_end_stream() {
            tokio::spawn(drain(std::mem::take(&mut self.body)));
        }
    }
}

async fn drain(mut body: Body) {
    let end = Instant::now() + DRAIN_TIMEOUT;
    let mut left = DRAIN_BYTES_MAX;
    let next = async {
        while let Ok(Some(Ok(frame))) =
            timeout(DRAIN_FRAME_TIMEOUT, poll_fn(|cx| Pin::new(&mut body).poll_frame(cx))).await
        {
            let Some(rest) = left.checked_sub(frame.data_ref().map_or(0, Bytes::len)) else { break };
            left = rest;
        }
    };
    if timeout_at(end, next).await.is_err() {
        tracing::debug!(target: "neap::proxy", "the body of a refused request does not end");
    }
}
