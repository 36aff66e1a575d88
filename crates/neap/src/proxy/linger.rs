//! What is refused is read to its end all the same, within limits.
//!
//! A connection that is closed while its client still writes is reset, and a reset takes with it the answer that says why.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header;
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, timeout, timeout_at};

use super::body::BODY_BYTES_MAX;

/// How much is read of what nobody wants.
const UNWANTED_BYTES_MAX: usize = 4 * BODY_BYTES_MAX;
/// How long the next of it may take, and how long all of it.
const NEXT_MAX: Duration = Duration::from_secs(2);
const WHOLE_MAX: Duration = Duration::from_secs(30);

/// A request whose body is read to its end, whoever lets go of it before.
pub(super) async fn lingering(request: Request) -> Request {
    // Who asks before sending has sent nothing yet.
    let is_coming = !request.headers().contains_key(header::EXPECT);
    request.map(|body| match body.is_end_stream() {
        true => body,
        false => Body::new(Lingering { body, is_coming }),
    })
}

struct Lingering {
    body: Body,
    is_coming: bool,
}

impl HttpBody for Lingering {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.is_coming = true;
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        self.is_coming = matches!(frame, Some(Ok(_)));
        Poll::Ready(frame)
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
