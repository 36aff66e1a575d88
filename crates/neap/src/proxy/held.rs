//! A request's body whose end waits: a provider has nothing to answer before it, and all else is on its way meanwhile.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use axum::body::{Bytes, HttpBody};
use http_body::{Frame, SizeHint};

type Until = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A body that is whole only once something has happened.
pub(super) struct Held {
    rest: Bytes,
    last: Bytes,
    /// Never locked: it makes of what one thread has what several could have.
    until: Mutex<Until>,
}

impl Held {
    pub(super) fn new(mut body: Bytes, until: impl Future<Output = ()> + Send + 'static) -> Self {
        // What follows the last bracket is blank: a provider may begin to answer without it.
        let last = body.split_off(body.trim_ascii_end().len().saturating_sub(1));
        Self { rest: body, last, until: Mutex::new(Box::pin(until)) }
    }
}

impl HttpBody for Held {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let mut next = std::mem::take(&mut self.rest);
        if next.is_empty() && !self.last.is_empty() {
            let until = self.until.get_mut().unwrap_or_else(PoisonError::into_inner);
            ready!(until.as_mut().poll(cx));
            next = std::mem::take(&mut self.last);
        }
        Poll::Ready((!next.is_empty()).then(|| Ok(Frame::data(next))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.last.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact((self.rest.len() + self.last.len()) as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use tokio::sync::oneshot;

    use super::*;

    /// What comes of a body now; none where it waits.
    fn next(body: &mut Held) -> Option<Option<Bytes>> {
        match Pin::new(body).poll_frame(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(frame) => Some(frame.and_then(|frame| frame.map(Frame::into_data).ok()?.ok())),
            Poll::Pending => None,
        }
    }

    #[test]
    fn the_last_byte_waits() {
        let (open, opened) = oneshot::channel::<()>();
        let mut body = Held::new(Bytes::from_static(b"{}!"), async move {
            let _ = opened.await;
        });
        assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(3), false));
        assert_eq!(next(&mut body), Some(Some(Bytes::from_static(b"{}"))));
        assert_eq!(next(&mut body), None);
        assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(1), false));
        open.send(()).expect("it waits");
        assert_eq!(next(&mut body), Some(Some(Bytes::from_static(b"!"))));
        assert_eq!((next(&mut body), body.is_end_stream()), (Some(None), true));
    }

    #[test]
    fn blanks_at_the_end_are_not_what_is_waited_for() {
        for (body, begin) in [(&b"{\"a\": 1} \n"[..], &b"{\"a\": 1"[..]), (b"}\r\n", b""), (b" \n", b"")] {
            let mut held = Held::new(Bytes::from_static(body), std::future::pending());
            if !begin.is_empty() {
                assert_eq!(next(&mut held), Some(Some(Bytes::from_static(begin))));
            }
            assert_eq!(next(&mut held), None, "{body:?}");
            assert_eq!(held.size_hint().exact(), Some((body.len() - begin.len()) as u64));
        }
    }

    #[test]
    fn a_body_without_anything_has_nothing_to_wait_for() {
        let mut body = Held::new(Bytes::new(), std::future::pending());
        assert_eq!((next(&mut body), body.is_end_stream()), (Some(None), true));
    }
}
