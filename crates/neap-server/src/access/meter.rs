//! What each key has used: requests and bytes in a minute, and answers that are being sent. Counted by each process.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use neap_core::base::access::{KeyId, KeyLimits};

const WINDOW: Duration = Duration::from_secs(60);
/// When a limit of streams is reached, one may end at any moment.
const STREAM_RETRY: Duration = Duration::from_secs(1);

/// What a key has used up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedUp {
    pub what: &'static str,
    pub most: u64,
    pub retry_after: Duration,
}

#[derive(Debug)]
struct Meter {
    since: Instant,
    requests: u64,
    bytes: u64,
    streams: Arc<AtomicU64>,
}

#[derive(Debug, Default)]
pub(super) struct Meters(Mutex<BTreeMap<KeyId, Meter>>);

/// An answer that is being sent; it counts until it is dropped.
#[derive(Debug)]
pub(crate) struct StreamPermit(Arc<AtomicU64>);

impl Drop for StreamPermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Meters {
    /// Counts a request with so many bytes, unless the key has used up what it may.
    pub(super) fn admit(
        &self,
        key: &KeyId,
        limits: &KeyLimits,
        bytes: u64,
        now: Instant,
    ) -> Result<StreamPermit, UsedUp> {
        let mut meters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Meter { since: now, requests: 0, bytes: 0, streams: Arc::default() };
        let meter = meters.entry(key.clone()).or_insert_with(new);
        if now.duration_since(meter.since) >= WINDOW {
            (meter.since, meter.requests, meter.bytes) = (now, 0, 0);
        }
        let left = WINDOW.saturating_sub(now.duration_since(meter.since));
        let over = |limit: Option<u64>, used: u64| limit.filter(|most| used > *most);
        let used_up = |what, most, retry_after| Err(UsedUp { what, most, retry_after });
        if let Some(most) = over(limits.requests_per_minute, meter.requests + 1) {
            return used_up("requests in a minute", most, left);
        }
        if let Some(most) = over(limits.bytes_per_minute, meter.bytes.saturating_add(bytes)) {
            return used_up("bytes in a minute", most, left);
        }
        if let Some(most) = over(limits.streams, meter.streams.load(Ordering::Relaxed) + 1) {
            return used_up("answers at once", most, STREAM_RETRY);
        }
        meter.requests += 1;
        meter.bytes = meter.bytes.saturating_add(bytes);
        meter.streams.fetch_add(1, Ordering::Relaxed);
        Ok(StreamPermit(meter.streams.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_uses_no_more_than_it_may_at_the_limit_and_one_beyond() {
        let (meters, start) = (Meters::default(), Instant::now());
        let [one, other] = ["0123456789ab", "0123456789ac"].map(|id| id.parse::<KeyId>().expect("an id"));
        let limits =
            KeyLimits { requests_per_minute: Some(2), bytes_per_minute: Some(10), ..KeyLimits::default() };
        let at = |seconds| start + Duration::from_secs(seconds);
        let what = |key: &KeyId, limits: &KeyLimits, bytes, now| {
            meters.admit(key, limits, bytes, now).map(drop).map_err(|used| (used.what, used.retry_after.as_secs()))
        };
        assert_eq!(what(&one, &limits, 11, at(0)), Err(("bytes in a minute", 60)));
        assert_eq!(what(&one, &limits, 10, at(0)), Ok(()), "what is refused does not count");
        assert_eq!(what(&one, &limits, 1, at(1)), Err(("bytes in a minute", 59)));
        assert_eq!(what(&one, &limits, 0, at(2)), Ok(()));
        assert_eq!(what(&one, &limits, 0, at(20)), Err(("requests in a minute", 40)));
        assert_eq!(what(&other, &limits, 0, at(20)), Ok(()), "another key is not its affair");
        assert_eq!(what(&one, &limits, 10, at(60)), Ok(()));
        let streams = KeyLimits { streams: Some(1), ..KeyLimits::default() };
        let first = meters.admit(&one, &streams, 0, at(60)).expect("the first");
        assert_eq!(what(&one, &streams, 0, at(60)), Err(("answers at once", 1)));
        drop(first);
        assert_eq!(what(&one, &streams, 0, at(60)), Ok(()));
    }
}
