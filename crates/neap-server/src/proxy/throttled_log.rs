//! Throttled notices for whoever runs the proxy.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::Notify;

const INTERVAL: Duration = Duration::from_secs(60);

/// Emits a notice at most once per minute, accumulating `T` in between.
#[derive(Debug)]
pub struct ThrottledLog<T> {
    state: Mutex<State<T>>,
    notify: Notify,
}

#[derive(Debug, Default)]
struct State<T> {
    last: Option<Instant>,
    since: T,
}

impl<T: Default> ThrottledLog<T> {
    pub fn new(notify: Notify) -> Self {
        Self { state: Mutex::default(), notify }
    }

    /// Accumulates; returns the notice if one is due.
    pub(super) fn record(
        &self,
        now: Instant,
        add: impl FnOnce(&mut T),
        format_notice: impl FnOnce(T) -> String,
    ) -> Option<String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        add(&mut state.since);
        if state.last.is_some_and(|last| now.duration_since(last) < INTERVAL) {
            return None;
        }
        state.last = Some(now);
        Some(format_notice(std::mem::take(&mut state.since)))
    }
}

impl<T> ThrottledLog<T> {
    pub(super) fn notify(&self, notice: Option<String>) {
        notice.into_iter().for_each(self.notify);
    }
}

impl ThrottledLog<u64> {
    /// Warns, with the number of warnings suppressed since the last one.
    pub(crate) fn warn(&self, text: impl AsRef<str>) {
        self.notify(self.warning(text.as_ref(), Instant::now()));
    }

    fn warning(&self, text: &str, now: Instant) -> Option<String> {
        let format_notice = |times: u64| match times - 1 {
            0 => format!("warning: {text}"),
            more => format!("warning: {text} ({more} more since the last warning)"),
        };
        self.record(now, |times| *times += 1, format_notice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_once_a_minute_with_how_often_it_was_not() {
        let (complaints, start) = (ThrottledLog::new(drop), Instant::now());
        let said = |seconds: u64| complaints.warning("over", start + Duration::from_secs(seconds));
        assert_eq!(said(0).as_deref(), Some("warning: over"));
        assert_eq!((said(1), said(59)), (None, None));
        assert_eq!(said(60).as_deref(), Some("warning: over (2 more since the last warning)"));
        assert_eq!(said(125).as_deref(), Some("warning: over"));
    }
}
