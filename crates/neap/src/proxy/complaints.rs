//! What somebody should know of who started the proxy: said on standard error, but not for every request.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::out;

/// The same is said again only after this.
const EVERY: Duration = Duration::from_secs(60);

/// Says something at most once a minute, with how often it was passed over.
#[derive(Debug, Default)]
pub(crate) struct Complaints(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    last: Option<Instant>,
    passed_over: u64,
}

impl Complaints {
    pub(crate) fn say(&self, what: impl AsRef<str>) {
        if let Some(line) = self.line(what.as_ref(), Instant::now()) {
            out::aside(line);
        }
    }

    fn line(&self, what: &str, now: Instant) -> Option<String> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.last.is_some_and(|last| now.duration_since(last) < EVERY) {
            state.passed_over += 1;
            return None;
        }
        state.last = Some(now);
        let more = match std::mem::take(&mut state.passed_over) {
            0 => String::new(),
            more => format!(" ({more} more since this was last said)"),
        };
        Some(format!("warning: {what}{more}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_once_a_minute_with_how_often_it_was_not() {
        let (complaints, start) = (Complaints::default(), Instant::now());
        let said = |seconds: u64| complaints.line("over", start + Duration::from_secs(seconds));
        assert_eq!(said(0).as_deref(), Some("warning: over"));
        assert_eq!((said(1), said(59)), (None, None));
        assert_eq!(said(60).as_deref(), Some("warning: over (2 more since this was last said)"));
        assert_eq!(said(125).as_deref(), Some("warning: over"));
    }
}
