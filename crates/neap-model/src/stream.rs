//! Saying a text piece by piece, so that built-in models can be watched and stopped like any other.

use std::future::poll_fn;
use std::task::Poll;

use crate::OnText;

/// Hands a text over word by word and lets others run in between: dropping the future stops it there.
pub(crate) async fn say(text: &str, on_text: OnText<'_>) {
    for piece in text.split_inclusive(char::is_whitespace) {
        on_text(piece);
        pause().await;
    }
}

/// Gives way once.
async fn pause() {
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
