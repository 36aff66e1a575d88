//! `GET /events`.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::IntoResponse;
use tokio::sync::mpsc::Sender;
use tokio::time::timeout;

use super::{Found, LiveEvent, Place, poll};
use crate::api::Api;
use crate::api::problem::Problem;
use crate::api::route::{Answer, Call, Outcome};
use crate::api::stream_body::{Part, stream_body};

/// A silent connection is kept by a comment.
const COMMENT_INTERVAL: Duration = Duration::from_secs(15);
/// How long a watcher may leave unread what was sent to it.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
const PARTS_MAX: usize = 16;

pub(in crate::api) async fn serve(api: Arc<Api>, call: Call) -> Outcome {
    poll::start(&api).await?;
    let Some((place, resumed)) = api.feed.enter(call.text("Last-Event-ID")) else {
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too_many", "too many watch already"));
    };
    // It may have stopped since, because nobody watched.
    poll::start(&api).await?;
    let (sender, body) = stream_body(PARTS_MAX);
    tokio::spawn(async move {
        let open = format!("id: {}\nevent: open\ndata: {{\"resumed\":{resumed}}}\n\n", place.id());
        if send(&sender, open).await {
            watch(place, sender).await;
        }
    });
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    Ok(Answer::Stream(response))
}

async fn watch(mut place: Place, sender: Sender<Part>) {
    let mut grew = place.feed.grew.subscribe();
    loop {
        if place.feed.is_closed() {
            return;
        }
        let first = place.at;
        match place.take() {
            Found::Lost => return,
            Found::Events(events) => {
                for (number, event) in (first..).zip(events) {
                    if !send(&sender, lines(&place.run, number, &event)).await {
                        return;
                    }
                }
            }
            Found::Nothing => match timeout(COMMENT_INTERVAL, grew.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return,
                Err(_) if send(&sender, ":\n\n".to_owned()).await => {}
                Err(_) => return,
            },
        }
    }
}

fn lines(run: &str, number: u64, event: &LiveEvent) -> String {
    // JSON has no line break outside its strings, and none in them unescaped.
    format!("id: {run}-{}\nevent: {}\ndata: {}\n\n", number + 1, event.name, event.data)
}

/// Whether the watcher still reads.
async fn send(sender: &Sender<Part>, text: String) -> bool {
    matches!(timeout(READ_TIMEOUT, sender.send(Ok(text.into()))).await, Ok(Ok(())))
}
