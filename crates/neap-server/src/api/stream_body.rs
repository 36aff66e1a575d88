//! A response's body that a task fills while it is sent.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use http_body::Frame;
use tokio::sync::mpsc::{Receiver, Sender, channel};

pub(super) type Part = Result<Bytes, axum::Error>;

struct Parts(Receiver<Part>);

impl HttpBody for Parts {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.0.poll_recv(cx).map(|part| part.map(|part| part.map(Frame::data)))
    }
}

/// The body, and where its parts go; so many wait for a slow reader.
pub(super) fn stream_body(parts_max: usize) -> (Sender<Part>, Body) {
    let (sender, parts) = channel(parts_max);
    (sender, Body::new(Parts(parts)))
}
