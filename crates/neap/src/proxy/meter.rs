//! Figures for those who watch: counts only, and nobody's name in them (I11).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

use neap_engine::RecordingStatus;
use neap_model::usage::Usage;

use super::unrecorded::Count;

#[derive(Debug, Clone, Default)]
struct Counted {
    /// By what was asked and the first digit of the status.
    requests: BTreeMap<(&'static str, u16), u64>,
    changed: u64,
    over_budget: u64,
    broken_off: u64,
    used: Usage,
}

/// Counts requests.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    counted: Mutex<Counted>,
    in_flight: AtomicI64,
}

/// A request that is under way.
pub(crate) struct InFlight<'a>(&'a Meter);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Meter {
    fn change(&self, change: impl FnOnce(&mut Counted)) {
        change(&mut self.counted.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// A request waits for its answer's head.
    pub(crate) fn begin(&self) -> InFlight<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(self)
    }

    /// Requests that wait.
    pub(crate) fn waiting(&self) -> u64 {
        self.in_flight.load(Ordering::Relaxed).max(0).unsigned_abs()
    }

    /// It has one.
    pub(crate) fn answered(&self, name: &'static str, status: u16, is_changed: bool) {
        self.change(|counted| {
            *counted.requests.entry((name, status / 100)).or_default() += 1;
            counted.changed += u64::from(is_changed);
        });
    }

    /// A request goes on although it is over its budget.
    pub(crate) fn over_budget(&self) {
        self.change(|counted| counted.over_budget += 1);
    }

    /// An answer is over.
    pub(crate) fn used(&self, usage: Option<Usage>, is_whole: bool) {
        self.change(|counted| {
            counted.used += usage.unwrap_or_default();
            counted.broken_off += u64::from(!is_whole);
        });
    }

    /// As Prometheus reads it.
    pub(crate) fn written(&self, unrecorded: Count, recording: &RecordingStatus) -> String {
        let Counted { requests, changed, over_budget, broken_off, used } =
            self.counted.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut text = String::from("# TYPE neap_requests_total counter\n");
        for ((name, class), count) in requests {
            let _ = writeln!(text, "neap_requests_total{{asks=\"{name}\",status=\"{class}xx\"}} {count}");
        }
        let waiting = self.waiting();
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
