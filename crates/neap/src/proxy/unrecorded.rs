//! Says that what passes through is not recorded: counted for those who watch, and on standard error, once a minute at most.

use std::ops::AddAssign;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::complaints::Complaints;
use crate::out;

/// What was not recorded in time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) requests: u64,
    pub(crate) replies: u64,
}

impl AddAssign for Count {
    fn add_assign(&mut self, more: Self) {
        self.requests += more.requests;
        self.replies += more.replies;
    }
}

const REQUEST: Count = Count { requests: 1, replies: 0 };
const REPLY: Count = Count { requests: 0, replies: 1 };

/// Counts it, and tells.
#[derive(Debug, Default)]
pub(crate) struct Unrecorded {
    all: Mutex<Count>,
    complaints: Complaints<Count>,
    /// Whether the last line said that nothing is recorded.
    said_failing: AtomicBool,
}

impl Unrecorded {
    /// A request went on that was not recorded.
    pub(crate) fn request(&self, reason: &str) {
        self.add(REQUEST, reason, Instant::now()).into_iter().for_each(out::aside);
    }

    /// An answer did.
    pub(crate) fn reply(&self, reason: &str) {
        self.add(REPLY, reason, Instant::now()).into_iter().for_each(out::aside);
    }

    /// A request was recorded before it went on.
    pub(crate) fn recorded(&self) {
        self.works_again(Instant::now()).into_iter().for_each(out::aside);
    }

    /// All of it.
    pub(crate) fn count(&self) -> Count {
        *self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, more: Count, reason: &str, now: Instant) -> Option<String> {
        tracing::warn!(target: "neap::proxy", reason, "not recorded in time");
        *self.all.lock().unwrap_or_else(PoisonError::into_inner) += more;
        let told = |Count { requests, replies }| {
            self.said_failing.store(true, Ordering::Relaxed);
            let (requests, replies) = (out::count(requests, "request"), out::count(replies, "answer"));
            format!(
                "not recorded: {reason} ({requests}, {replies}); they go on within the budget and are recorded when the store works again"
            )
        };
        self.complaints.line(now, |since| *since += more, told)
    }

    fn works_again(&self, now: Instant) -> Option<String> {
        if !self.said_failing.load(Ordering::Relaxed) {
            return None;
        }
        let told = |_| {
            self.said_failing.store(false, Ordering::Relaxed);
            "requests are recorded again".to_owned()
        };
        self.complaints.line(now, |_| {}, told)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn it_is_said_once_a_minute_with_how_many_there_were() {
        let (told, start) = (Unrecorded::default(), Instant::now());
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let line = told.add(REQUEST, "read-only", at(0)).expect("at once");
        assert!(line.starts_with("not recorded: read-only (1 request, 0 answers)"), "{line}");
        for second in 1..60 {
            assert_eq!(told.add(if second % 3 == 0 { REPLY } else { REQUEST }, "read-only", at(second)), None);
        }
        let line = told.add(REPLY, "no space left", at(60)).expect("a minute later");
        assert!(line.starts_with("not recorded: no space left (40 requests, 20 answers)"), "{line}");
        assert_eq!(told.count(), Count { requests: 41, replies: 20 });
    }

    #[test]
    fn that_it_works_again_is_said_once_and_in_its_time() {
        let (told, start) = (Unrecorded::default(), Instant::now());
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        assert_eq!(told.works_again(at(0)), None, "nothing was wrong");
        told.add(REQUEST, "locked", at(0)).expect("a line");
        assert_eq!(told.works_again(at(59)), None);
        assert!(told.works_again(at(60)).is_some());
        assert_eq!(told.works_again(at(300)), None);
        assert!(told.add(REQUEST, "locked", at(301)).is_some());
    }
}
