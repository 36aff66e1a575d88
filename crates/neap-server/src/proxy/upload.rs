//! Forwards a body while it arrives, in constant memory: a file may be larger than what Neap reads.
//!
//! The provider's pace is the client's: nothing is read before what came earlier is sent. The newest bytes are held
//! back until it is certain that the token for `/mcp` does not begin in them, so that no part of it is ever sent.

use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use http_body::{Frame, SizeHint};

use super::body::{self, ReceivedBody, StartedBody, read_error};
use super::error::ProxyError;
use super::relay::content_type;
use super::route::Route;
use super::tenant::Relay;
use super::token_guard::TokenGuard;

/// Why an upload ended early, if not for its provider.
type UploadFault = Arc<OnceLock<ProxyError>>;

impl Relay {
    /// Reads a request's body, or of one that is only forwarded its beginning.
    pub(super) async fn receive(
        &self,
        route: &Route<'_>,
        parts: &Parts,
        body: Body,
        is_history: bool,
    ) -> Result<ReceivedBody, ProxyError> {
        match is_history || self.is_read_whole(route, &parts.headers) {
            true => body::read(body, &parts.headers).await.map(ReceivedBody::Whole),
            false => body::read_start(body).await,
        }
    }

    /// Whether a body that is not a history must be read before any of it is sent: its prompts are counted, or it
    /// is compressed, and searched for the token.
    pub(super) fn is_read_whole(&self, route: &Route<'_>, headers: &HeaderMap) -> bool {
        let is_compressed = headers.contains_key(header::CONTENT_ENCODING);
        is_compressed && !self.token_guard.is_disabled()
            || self.tenant.decider.counts_prompts(route.path, content_type(headers))
    }

    /// Sends a body while it arrives.
    pub(super) async fn send_upload(
        &self,
        route: &Route<'_>,
        parts: &Parts,
        headers: HeaderMap,
        body: StartedBody,
    ) -> Result<reqwest::Response, ProxyError> {
        if self.token_guard.has_token(&body.start) {
            return Err(ProxyError::OwnToken);
        }
        let url = self.upstreams.url(route, parts.uri.query(), &parts.headers);
        let (upload, fault) = Upload::new(self.token_guard.clone(), body);
        let body = reqwest::Body::wrap(upload);
        let sent = self.clients.send((parts.method.clone(), url), headers, Some(body)).await;
        sent.map_err(|error| fault.get().cloned().unwrap_or(error))
    }
}

struct Upload {
    guard: Arc<TokenGuard>,
    /// Received, without the token, and not sent yet.
    held: Vec<u8>,
    /// In a lock only because the HTTP client demands a body that threads can share.
    rest: Option<Mutex<Body>>,
    fault: UploadFault,
}

impl Upload {
    /// The beginning must be free of the token.
    fn new(guard: Arc<TokenGuard>, StartedBody { start, rest }: StartedBody) -> (Self, UploadFault) {
        let fault = UploadFault::default();
        let upload = Self { guard, held: start.to_vec(), rest: Some(Mutex::new(rest)), fault: fault.clone() };
        (upload, fault)
    }

    /// Takes in what came; returns what can be sent of it.
    fn receive(&mut self, data: &[u8]) -> Result<Bytes, ProxyError> {
        self.held.extend_from_slice(data);
        if self.guard.has_token(&self.held) {
            return Err(ProxyError::OwnToken);
        }
        let newest = self.held.split_off(self.held.len().saturating_sub(self.guard.overlap_bytes()));
        Ok(std::mem::replace(&mut self.held, newest).into())
    }

    fn end_with(&mut self, fault: ProxyError) -> Poll<Option<Result<Frame<Bytes>, UploadEnded>>> {
        self.rest = None;
        self.held.clear();
        // Nothing sets it twice: the body has ended.
        let _ = self.fault.set(fault);
        Poll::Ready(Some(Err(UploadEnded)))
    }
}

#[derive(Debug)]
struct UploadEnded;

impl std::fmt::Display for UploadEnded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the upload ended before its end")
    }
}

impl std::error::Error for UploadEnded {}

impl HttpBody for Upload {
    type Data = Bytes;
    type Error = UploadEnded;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UploadEnded>>> {
        while let Some(rest) = &mut self.rest {
            let rest = rest.get_mut().unwrap_or_else(PoisonError::into_inner);
            match ready!(Pin::new(rest).poll_frame(cx)) {
                None => self.rest = None,
                Some(Err(error)) => return self.end_with(read_error(&error)),
                Some(Ok(frame)) => {
                    // Trailers are not forwarded, as in every other request.
                    let Ok(data) = frame.into_data() else { continue };
                    match self.receive(&data) {
                        Ok(sent) if sent.is_empty() => {}
                        Ok(sent) => return Poll::Ready(Some(Ok(Frame::data(sent)))),
                        Err(fault) => return self.end_with(fault),
                    }
                }
            }
        }
        let last = std::mem::take(&mut self.held);
        Poll::Ready((!last.is_empty()).then(|| Ok(Frame::data(last.into()))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_none() && self.held.is_empty()
    }

    /// Exact where the client announced a length, which is then announced to the provider.
    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.as_ref().map(|rest| rest.lock().unwrap_or_else(PoisonError::into_inner).size_hint());
        let (rest, held) = (rest.unwrap_or_else(|| SizeHint::with_exact(0)), self.held.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower() + held);
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper + held);
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::future::poll_fn;

    use super::*;

    const TOKEN: &str = "0f3c9a77e1b24d58a6c0";

    /// A body that comes in these pieces.
    struct Pieces(VecDeque<Bytes>);

    impl HttpBody for Pieces {
        type Data = Bytes;
        type Error = axum::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
            Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
        }

        fn size_hint(&self) -> SizeHint {
            SizeHint::with_exact(self.0.iter().map(|piece| piece.len() as u64).sum())
        }
    }

    /// What is sent of a text that comes in pieces of a size, and why no more.
    async fn sent(text: &[u8], size: usize) -> (Vec<u8>, Option<ProxyError>) {
        let (start, rest) = text.split_at(size.min(text.len()));
        let rest = Body::new(Pieces(rest.chunks(size).map(Bytes::copy_from_slice).collect()));
        let started = StartedBody { start: Bytes::copy_from_slice(start), rest };
        let (mut upload, fault) = Upload::new(Arc::new(TokenGuard::new(Some(TOKEN))), started);
        let mut sent = Vec::new();
        loop {
            let left = (text.len() - sent.len()) as u64;
            assert!(upload.is_end_stream() || upload.size_hint().exact() == Some(left));
            match poll_fn(|cx| Pin::new(&mut upload).poll_frame(cx)).await {
                Some(Ok(frame)) => sent.extend_from_slice(frame.data_ref().expect("data")),
                Some(Err(_)) | None => break,
            }
        }
        (sent, fault.get().cloned())
    }

    #[tokio::test]
    async fn an_upload_stops_before_the_token_wherever_a_piece_ends() {
        for before in 0..70 {
            let mut text = vec![b'x'; before];
            text.extend_from_slice(TOKEN.as_bytes());
            text.extend_from_slice(&[b'y'; 50]);
            for size in 1..before + TOKEN.len() {
                let (sent, fault) = sent(&text, size).await;
                assert_eq!(fault, Some(ProxyError::OwnToken), "{before} {size}");
                assert!(sent.iter().all(|byte| *byte == b'x'), "{before} {size}: a part of it was sent");
            }
        }
    }
}
