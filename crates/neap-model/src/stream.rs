//! Streams the text of built-in models, so that they can be watched and cancelled like any other.

use std::future::poll_fn;
use std::task::Poll;

use crate::OnText;

/// Emits the text word by word and yields in between; dropping the future stops it there.
pub(crate) async fn stream_words(text: &str, on_text: OnText<'_>) {
    for piece in text.split_inclusive(char::is_whitespace) {
        on_text(piece);
        yield_once().await;
    }
}

async fn yield_once() {
    let mut waited = false;
    poll_fn(|context| {
        if waited {
            return Poll::Ready(());
        }
        waited = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
