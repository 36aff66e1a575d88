//! Counts requests and responses that could not be recorded in time, and reports them at most once a minute.

use std::ops::AddAssign;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use neap_core::text::figures::plural;

use super::throttled_log::ThrottledLog;
use crate::Notify;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct UnrecordedCount {
    pub(crate) requests: u64,
    pub(crate) replies: u64,
}

impl AddAssign for UnrecordedCount {
    fn add_assign(&mut self, more: Self) {
        self.requests += more.requests;
        self.replies += more.replies;
    }
}

const ONE_REQUEST: UnrecordedCount = UnrecordedCount { requests: 1, replies: 0 };
const ONE_REPLY: UnrecordedCount = UnrecordedCount { requests: 0, replies: 1 };

#[derive(Debug)]
pub(crate) struct UnrecordedLog {
    total: Mutex<UnrecordedCount>,
    log: ThrottledLog<UnrecordedCount>,
    is_failure_logged: AtomicBool,
}

impl UnrecordedLog {
    pub(crate) fn new(notify: Notify) -> Self {
        let log = ThrottledLog::new(notify);
        Self { total: Mutex::default(), log, is_failure_logged: AtomicBool::new(false) }
    }

    pub(crate) fn add_request(&self, reason: &str) {
        self.log.notify(self.add(ONE_REQUEST, reason, Instant::now()));
    }

    pub(crate) fn add_reply(&self, reason: &str) {
        self.log.notify(self.add(ONE_REPLY, reason, Instant::now()));
    }

    /// A request was recorded before it was forwarded.
    pub(crate) fn mark_recorded(&self) {
        self.log.notify(self.recovery_line(Instant::now()));
    }

    pub(crate) fn count(&self) -> UnrecordedCount {
        *self.total.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, more: UnrecordedCount, reason: &str, now: Instant) -> Option<String> {
        tracing::warn!(target: "neap::proxy", reason, "not recorded in time");
        *self.total.lock().unwrap_or_else(PoisonError::into_inner) += more;
        let notice = |UnrecordedCount { requests, replies }| {
            self.is_failure_logged.store(true, Ordering::Relaxed);
            let (requests, replies) = (plural(requests, "request"), plural(replies, "answer"));
            format!(
                "not recorded: {reason} ({requests}, {replies}); neap forwards them within the budget and \
                 records them when the store works again"
            )
        };
        self.log.record(now, |since| *since += more, notice)
    }

    fn recovery_line(&self, now: Instant) -> Option<String> {
        if !self.is_failure_logged.load(Ordering::Relaxed) {
            return None;
        }
        let notice = |_| {
            self.is_failure_logged.store(false, Ordering::Relaxed);
            "requests are recorded again".to_owned()
        };
        self.log.record(now, |_| {}, notice)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn it_is_said_once_a_minute_with_how_many_there_were() {
        let (told, start) = (UnrecordedLog::new(drop), Instant::now());
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let line = told.add(ONE_REQUEST, "read-only", at(0)).expect("at once");
        assert!(line.starts_with("not recorded: read-only (1 request, 0 answers)"), "{line}");
        for second in 1..60 {
            assert_eq!(
                told.add(if second % 3 == 0 { ONE_REPLY } else { ONE_REQUEST }, "read-only", at(second)),
                None
            );
        }
        let line = told.add(ONE_REPLY, "no space left", at(60)).expect("a minute later");
        assert!(line.starts_with("not recorded: no space left (40 requests, 20 answers)"), "{line}");
        assert_eq!(told.count(), UnrecordedCount { requests: 41, replies: 20 });
    }

    #[test]
    fn that_it_works_again_is_said_once_and_in_its_time() {
        let (told, start) = (UnrecordedLog::new(drop), Instant::now());
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        assert_eq!(told.recovery_line(at(0)), None, "nothing was wrong");
        told.add(ONE_REQUEST, "locked", at(0)).expect("a line");
        assert_eq!(told.recovery_line(at(59)), None);
        assert!(told.recovery_line(at(60)).is_some());
        assert_eq!(told.recovery_line(at(300)), None);
        assert!(told.add(ONE_REQUEST, "locked", at(301)).is_some());
    }
}
