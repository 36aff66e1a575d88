//! What somebody should know who started the proxy: said on standard error, but not for every request.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::out;

/// The same is said again only after this.
const EVERY: Duration = Duration::from_secs(60);

/// Says something at most once a minute, with what came together since it was last said.
#[derive(Debug, Default)]
pub(crate) struct Complaints<T>(Mutex<State<T>>);

#[derive(Debug, Default)]
struct State<T> {
    last: Option<Instant>,
    since: T,
}

impl<T: Default> Complaints<T> {
    /// Adds to what came together; gives the line to say if it is time for one.
    pub(super) fn line(
        &self,
        now: Instant,
        add: impl FnOnce(&mut T),
        told: impl FnOnce(T) -> String,
    ) -> Option<String> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        add(&mut state.since);
        if state.last.is_some_and(|last| now.duration_since(last) < EVERY) {
            return None;
        }
        state.last = Some(now);
        Some(told(std::mem::take(&mut state.since)))
    }
}

impl Complaints<u64> {
    /// Warns of something, with how often it was passed over.
    pub(crate) fn warn(&self, what: impl AsRef<str>) {
        self.warning(what.as_ref(), Instant::now()).into_iter().for_each(out::aside);
    }

    fn warning(&self, what: &str, now: Instant) -> Option<String> {
        let told = |times: u64| match times - 1 {
            0 => format!("warning: {what}"),
            more => format!("warning: {what} ({more} more since this was last said)"),
        };
        self.line(now, |times| *times += 1, told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_once_a_minute_with_how_often_it_was_not() {
        let (complaints, start) = (Complaints::default(), Instant::now());
        let said = |seconds: u64| complaints.warning("over", start + Duration::from_secs(seconds));
        assert_eq!(said(0).as_deref(), Some("warning: over"));
        assert_eq!((said(1), said(59)), (None, None));
        assert_eq!(said(60).as_deref(), Some("warning: over (2 more since this was last said)"));
        assert_eq!(said(125).as_deref(), Some("warning: over"));
    }
}
