//! Keeps something as long as a body is sent: a tenant's services stay open, and a stream counts.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use http_body::{Frame, SizeHint};

/// The response, which drops `kept` after its last byte.
pub(crate) fn keep_while_sent<T: Send + Unpin + 'static>(response: Response, kept: T) -> Response {
    response.map(|inner| Body::new(KeepingBody { inner, kept: Some(kept) }))
}

struct KeepingBody<T> {
    inner: Body,
    kept: Option<T>,
}

impl<T: Send + Unpin + 'static> HttpBody for KeepingBody<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(cx);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            self.kept = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
