//! Metrics of the proxy: counts only, no names (I11).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

use neap_core::client::{RequestAccount, RequestTotals};
use neap_engine::RecordingStatus;
use neap_model::usage::Usage;

use super::unrecorded::UnrecordedCount;

#[derive(Debug, Clone, Default)]
struct Counters {
    /// Keyed by endpoint and the first digit of the status.
    requests: BTreeMap<(&'static str, u16), u64>,
    changed: u64,
    over_budget: u64,
    broken_off: u64,
    used: Usage,
    traffic: ProxyTraffic,
}

/// What came through a proxy since it started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProxyTraffic {
    /// Requests of any kind, whatever became of them.
    pub received: u64,
    /// Requests that a model answered.
    pub answered: RequestTotals,
}

#[derive(Debug, Default)]
pub(crate) struct ProxyMetrics {
    counters: Mutex<Counters>,
    waiting: Waiting,
}

/// Requests that wait for the head of their response.
#[derive(Debug, Default)]
pub(crate) struct Waiting(AtomicI64);

pub(crate) struct InFlight<'a>(&'a Waiting);

impl Waiting {
    /// Counts the request as waiting until the guard is dropped.
    pub(crate) fn start(&self) -> InFlight<'_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        InFlight(self)
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed).max(0).unsigned_abs()
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ProxyMetrics {
    fn update(&self, change: impl FnOnce(&mut Counters)) {
        change(&mut self.counters.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub(crate) fn start_request(&self) -> InFlight<'_> {
        self.waiting.start()
    }

    pub(crate) fn count_response(&self, name: &'static str, status: u16, is_changed: bool) {
        self.update(|counters| {
            *counters.requests.entry((name, status / 100)).or_default() += 1;
            counters.changed += u64::from(is_changed);
        });
    }

    pub(crate) fn count_received(&self) {
        self.update(|counters| counters.traffic.received += 1);
    }

    pub(crate) fn add_account(&self, account: &RequestAccount) {
        self.update(|counters| counters.traffic.answered += account);
    }

    pub(crate) fn traffic(&self) -> ProxyTraffic {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner).traffic
    }

    pub(crate) fn count_over_budget(&self) {
        self.update(|counters| counters.over_budget += 1);
    }

    pub(crate) fn add_usage(&self, usage: Option<Usage>, is_complete: bool) {
        self.update(|counters| {
            counters.used += usage.unwrap_or_default();
            counters.broken_off += u64::from(!is_complete);
        });
    }

    pub(crate) fn to_prometheus(&self, unrecorded: UnrecordedCount, recording: &RecordingStatus) -> String {
        let Counters { requests, changed, over_budget, broken_off, used, traffic: _ } =
            self.counters.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut text = String::from("# TYPE neap_requests_total counter\n");
        for ((name, class), count) in requests {
            let _ = writeln!(text, "neap_requests_total{{asks=\"{name}\",status=\"{class}xx\"}} {count}");
        }
        let waiting = self.waiting.count();
        let rows = [
            ("neap_requests_waiting", "gauge", waiting),
            ("neap_requests_changed_total", "counter", changed),
            ("neap_requests_over_budget_total", "counter", over_budget),
            ("neap_answers_broken_off_total", "counter", broken_off),
            ("neap_store_ok", "gauge", u64::from(recording.failing.is_none())),
            ("neap_requests_unrecorded_total", "counter", unrecorded.requests),
            ("neap_answers_unrecorded_total", "counter", unrecorded.replies),
            ("neap_recordings_waiting", "gauge", recording.waiting as u64),
            ("neap_recordings_dropped_total", "counter", recording.dropped),
            ("neap_tokens_input_total", "counter", used.input.0),
            ("neap_tokens_cached_total", "counter", used.cached.0),
            ("neap_tokens_cache_written_total", "counter", used.cache_written.0),
            ("neap_tokens_output_total", "counter", used.output.0),
        ];
        for (name, kind, value) in rows {
            let _ = writeln!(text, "# TYPE {name} {kind}\n{name} {value}");
        }
        text
    }
}
