//! Downloads, one record a line: the answers without a limit. A session's events are read page by page while they are sent.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use neap_core::base::ids::{Seq, SessionId};
use neap_core::session::event::RecordedEvent;
use neap_store::{Store, StoredEvent};
use serde::Serialize;

use super::problem::Problem;
use super::stream_body::{Part, stream_body};

/// Pages that wait for a slow reader.
const PAGES_MAX: usize = 2;
const LINES: usize = 256;

/// One line of each event from `from` on for which there is a `line`.
pub(super) fn events_body<T: Serialize + 'static>(
    store: Arc<dyn Store>,
    id: SessionId,
    mut from: Seq,
    page_events: usize,
    line: fn(RecordedEvent) -> Option<T>,
) -> Body {
    let (sender, body) = stream_body(PAGES_MAX);
    tokio::spawn(async move {
        loop {
            let part = match store.events(&id, from, page_events).await {
                Ok(page) if page.is_empty() => return,
                Ok(page) => {
                    from = page.last().map_or(from, |last| last.seq().next());
                    lines(page.into_iter().filter_map(StoredEvent::whole).filter_map(line))
                }
                Err(error) => Err(axum::Error::new(error)),
            };
            let is_over = part.is_err();
            // A reader that is gone ends it.
            if sender.send(part).await.is_err() || is_over {
                return;
            }
        }
    });
    body
}

fn lines<T: Serialize>(items: impl IntoIterator<Item = T>) -> Part {
    let mut text = Vec::new();
    for item in items {
        serde_json::to_writer(&mut text, &item).map_err(axum::Error::new)?;
        text.push(b'\n');
    }
    Ok(text.into())
}

/// What is in memory already, one a line; it is written while it is sent.
pub(super) fn lines_body<T: Serialize + Send + 'static>(items: Vec<T>) -> Body {
    let (sender, body) = stream_body(PAGES_MAX);
    tokio::spawn(async move {
        let mut items = items.into_iter();
        loop {
            let page: Vec<T> = items.by_ref().take(LINES).collect();
            if page.is_empty() || sender.send(lines(page)).await.is_err() {
                return;
            }
        }
    });
    body
}

pub(super) fn response(disposition: String, body: Body) -> Result<Response, Problem> {
    let disposition = HeaderValue::from_str(&disposition)
        .map_err(|_| Problem::bad_request("the session's name cannot be a file's name"))?;
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    headers.insert(header::CONTENT_DISPOSITION, disposition);
    Ok(response)
}
