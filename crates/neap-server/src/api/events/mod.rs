//! What happens now, as server-sent events.
//!
//! Other processes write to the store, too, so it is looked at, four times a second and only while somebody watches.
//! What is new goes into a ring of the latest events, from which each watcher reads at its own pace: one that is too
//! slow is dropped, and no writer waits for any.

mod poll;
mod serve;
mod translate;

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use neap_core::base::ids::{Seq, StreamId};
use serde_json::Value;
use tokio::sync::watch;

pub(super) use serve::serve;
pub(super) use translate::event_ids;

/// Events kept for watchers that come back.
const KEPT_MAX: usize = 4_096;
const WATCHERS_MAX: usize = 128;

/// One event, as every watcher reads it.
#[derive(Debug, Clone)]
pub(super) struct LiveEvent {
    pub(super) name: &'static str,
    pub(super) data: Value,
}

#[derive(Debug, Default)]
struct Ring {
    /// Names the numbering: another one is not continued.
    run: String,
    /// The number of the next event.
    next: u64,
    kept: VecDeque<Arc<LiveEvent>>,
    watchers: usize,
    is_polled: bool,
    /// Where each stream was when it was last looked at; `None` before the first time.
    seen: Option<BTreeMap<StreamId, Seq>>,
    commits: u64,
    last_request: u64,
}

pub(crate) struct Feed {
    ring: Mutex<Ring>,
    /// The number of the next event.
    grew: watch::Sender<u64>,
    /// Held while the first watcher's start looks at the store.
    starting: tokio::sync::Mutex<()>,
    is_closed: AtomicBool,
}

/// A watcher's place in the ring; counts as a watcher until it is dropped.
struct Place {
    feed: Arc<Feed>,
    run: String,
    at: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.feed.ring().watchers -= 1;
    }
}

/// What a watcher finds at its place.
enum Found {
    Events(Vec<Arc<LiveEvent>>),
    Nothing,
    /// Its place is lost: it was too slow, or the numbering began anew.
    Lost,
}

impl Feed {
    pub(crate) fn new() -> Arc<Self> {
        let ring = Ring { run: new_run(), ..Ring::default() };
        let (ring, starting) = (Mutex::new(ring), tokio::sync::Mutex::default());
        Arc::new(Self { ring, grew: watch::Sender::new(0), starting, is_closed: AtomicBool::new(false) })
    }

    /// Ends all watchers' streams: they would stay open forever.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        self.grew.send_modify(|_| {});
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        // No change of it can panic halfway.
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a watcher that has seen the event of this id (the number of the one after it), and whether it misses nothing; `None` if there are too
    /// many watchers.
    fn enter(self: &Arc<Self>, last_id: Option<&str>) -> Option<(Place, bool)> {
        let mut ring = self.ring();
        if ring.watchers >= WATCHERS_MAX {
            return None;
        }
        ring.watchers += 1;
        let oldest = ring.next - ring.kept.len() as u64;
        let continued = last_id
            .and_then(|id| id.rsplit_once('-'))
            .filter(|(run, _)| *run == ring.run)
            .and_then(|(_, number)| number.parse::<u64>().ok())
            .filter(|next| (oldest..=ring.next).contains(next));
        let (run, at) = (ring.run.clone(), continued.unwrap_or(ring.next));
        Some((Place { feed: self.clone(), run, at }, continued.is_some()))
    }

    fn push(&self, events: Vec<LiveEvent>) {
        if events.is_empty() {
            return;
        }
        let next = {
            let mut ring = self.ring();
            ring.next += events.len() as u64;
            ring.kept.extend(events.into_iter().map(Arc::new));
            let surplus = ring.kept.len().saturating_sub(KEPT_MAX);
            ring.kept.drain(..surplus);
            ring.next
        };
        self.grew.send_replace(next);
    }

    /// Forgets everything: more happened than can be caught up with.
    fn begin_anew(&self, ring: &mut Ring) {
        ring.run = new_run();
        ring.kept.clear();
    }
}

impl Place {
    /// The id that leads here again.
    fn id(&self) -> String {
        format!("{}-{}", self.run, self.at)
    }

    fn take(&mut self) -> Found {
        let ring = self.feed.ring();
        let oldest = ring.next - ring.kept.len() as u64;
        if ring.run != self.run || self.at < oldest {
            return Found::Lost;
        }
        let skip = usize::try_from(self.at - oldest).unwrap_or(usize::MAX);
        let events: Vec<Arc<LiveEvent>> = ring.kept.iter().skip(skip).cloned().collect();
        self.at = ring.next;
        if events.is_empty() { Found::Nothing } else { Found::Events(events) }
    }
}

fn new_run() -> String {
    let mut random = [0; 6];
    // Two runs with one name would continue each other; the time tells them apart, too.
    let _ = getrandom::fill(&mut random);
    let at = super::sessions::now().0;
    let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{at:x}{hex}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(n: usize) -> LiveEvent {
        LiveEvent { name: "turn", data: json!(n) }
    }

    #[test]
    fn a_watcher_comes_back_to_its_place_as_long_as_it_is_kept() {
        let feed = Feed::new();
        let (mut place, resumed) = feed.enter(None).expect("room");
        assert!(!resumed);
        feed.push((0..3).map(event).collect());
        let first = place.id();
        let Found::Events(events) = place.take() else { panic!("three events") };
        assert_eq!(events.len(), 3);
        let seen = place.id();
        drop(place);
        feed.push((3..5).map(event).collect());
        let (mut place, resumed) = feed.enter(Some(&seen)).expect("room");
        let Found::Events(events) = place.take() else { panic!("two events") };
        assert!(resumed && events.iter().map(|event| &event.data).eq([&json!(3), &json!(4)]));
        let (mut again, resumed) = feed.enter(Some(&first)).expect("room");
        let Found::Events(events) = again.take() else { panic!("five events") };
        assert_eq!((resumed, events.len()), (true, 5));
        for other in ["x-3", "", "-", &format!("{}-99", place.run), &format!("{}-", place.run)] {
            assert!(!feed.enter(Some(other)).expect("room").1, "{other}");
        }
    }

    #[test]
    fn a_slow_watcher_is_dropped_and_the_ring_is_bounded() {
        let feed = Feed::new();
        let (mut slow, _) = feed.enter(None).expect("room");
        feed.push((0..KEPT_MAX + 1).map(event).collect());
        assert!(matches!(slow.take(), Found::Lost));
        assert_eq!(feed.ring().kept.len(), KEPT_MAX);
        let places: Vec<_> = (1..WATCHERS_MAX).map(|_| feed.enter(None).expect("room")).collect();
        assert!(feed.enter(None).is_none());
        drop(places);
        assert!(feed.enter(None).is_some());
    }
}
