//! Says that what passes through is not recorded: counted for those who watch, and on standard error, once a minute at most.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::out;

/// Between two lines on standard error.
const LINE_EVERY: Duration = Duration::from_secs(60);

/// What was not recorded in time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) requests: u64,
    pub(crate) replies: u64,
}

/// Counts it, and tells.
#[derive(Debug, Default)]
pub(crate) struct Unrecorded(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    all: Count,
    /// Since the last line.
    since: Count,
    line_at: Option<Instant>,
    /// Whether the last line said that nothing is recorded.
    said_failing: bool,
}

impl Unrecorded {
    /// A request went on that was not recorded.
    pub(crate) fn request(&self, reason: &str) {
        self.add(Count { requests: 1, replies: 0 }, reason);
    }

    /// An answer did.
    pub(crate) fn reply(&self, reason: &str) {
        self.add(Count { requests: 0, replies: 1 }, reason);
    }

    /// A request was recorded before it went on.
    pub(crate) fn recorded(&self) {
        let line = self.0.lock().unwrap_or_else(PoisonError::into_inner).recorded(Instant::now());
        line.into_iter().for_each(out::aside);
    }

    /// All of it.
    pub(crate) fn count(&self) -> Count {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).all
    }

    fn add(&self, more: Count, reason: &str) {
        tracing::warn!(target: "neap::proxy", reason, "not recorded in time");
        let line = self.0.lock().unwrap_or_else(PoisonError::into_inner).add(more, reason, Instant::now());
        line.into_iter().for_each(out::aside);
    }
}

impl State {
    fn is_time(&mut self, now: Instant) -> bool {
        let is_time = self.line_at.is_none_or(|at| now.duration_since(at) >= LINE_EVERY);
        if is_time {
            self.line_at = Some(now);
        }
        is_time
    }

    fn add(&mut self, more: Count, reason: &str, now: Instant) -> Option<String> {
        for count in [&mut self.all, &mut self.since] {
            count.requests += more.requests;
            count.replies += more.replies;
        }
        if !self.is_time(now) {
            return None;
        }
        self.said_failing = true;
        let Count { requests, replies } = std::mem::take(&mut self.since);
        let (requests, replies) = (out::count(requests, "request"), out::count(replies, "answer"));
        Some(format!(
            "not recorded: {reason} ({requests}, {replies}); they go on within the budget and are recorded when the store works again"
        ))
    }

    fn recorded(&mut self, now: Instant) -> Option<String> {
        if !self.said_failing || !self.is_time(now) {
            return None;
        }
        (self.said_failing, self.since) = (false, Count::default());
        Some("requests are recorded again".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: Count = Count { requests: 1, replies: 0 };
    const REPLY: Count = Count { requests: 0, replies: 1 };

    #[test]
    fn it_is_said_once_a_minute_with_how_many_there_were() {
        let (mut state, start) = (State::default(), Instant::now());
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let line = state.add(REQUEST, "read-only", at(0)).expect("at once");
        assert!(line.starts_with("not recorded: read-only (1 request, 0 answers)"), "{line}");
        for second in 1..60 {
            assert_eq!(state.add(if second % 3 == 0 { REPLY } else { REQUEST }, "read-only", at(second)), None);
        }
        let line = state.add(REPLY, "no space left", at(60)).expect("a minute later");
        assert!(line.starts_with("not recorded: no space left (40 requests, 20 answers)"), "{line}");
        assert_eq!(state.all, Count { requests: 41, replies: 20 });
    }

    #[test]
    fn that_it_works_again_is_said_once_and_in_its_time() {
        let (mut state, start) = (State::default(), Instant::now());
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        assert_eq!(state.recorded(at(0)), None, "nothing was wrong");
        state.add(REQUEST, "locked", at(0)).expect("a line");
        assert_eq!(state.recorded(at(59)), None);
        assert!(state.recorded(at(60)).is_some());
        assert_eq!(state.recorded(at(300)), None);
        assert!(state.add(REQUEST, "locked", at(301)).is_some());
    }
}
