//! Prompts that their program gives no id: known by their session, their words, and which time it is that these are said there.
//!
//! A hook tells such a prompt before its program writes it down; by the same count both are known to be the same. The same words said
//! again are another prompt; the same event delivered again is not, and comes within seconds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{SessionId, Stamp};
use crate::ingest::Digest;

/// The same words of the same session within this long, told by hooks, are one event that was delivered again.
const DELIVERY_MS: i64 = 5_000;

/// Stands for a prompt by its session and its words alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Saying(Digest);

impl Saying {
    /// Of a prompt.
    pub fn of(session: &SessionId, words: &str) -> Self {
        Self(Digest::of("saying", &[session.as_str().as_bytes(), words.trim().as_bytes()]))
    }

    /// What it is known by when it is said for the `nth` time, from 1 on.
    pub fn key(&self, nth: u64) -> Digest {
        Digest::of("said", &[self.0.bytes(), &nth.to_le_bytes()])
    }

    /// What an event is known by that told it at a moment, and what one is known by that told it just before.
    pub fn deliveries(&self, at: Stamp) -> [Digest; 2] {
        let window = at.0.div_euclid(DELIVERY_MS);
        [window, window - 1].map(|window| Digest::of("delivered", &[self.0.bytes(), &window.to_le_bytes()]))
    }
}

/// Where in a transcript prompts without an id stand, by their words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sayings(BTreeMap<Saying, Vec<u64>>);

impl Sayings {
    /// Takes down one that stands at a place; gives what it is known by. Places only grow.
    pub fn add(&mut self, session: &SessionId, words: &str, place: u64) -> Digest {
        let saying = Saying::of(session, words);
        let places = self.0.entry(saying).or_default();
        places.push(place);
        saying.key(places.len() as u64)
    }

    /// How often it stands before a place.
    pub fn before(&self, saying: &Saying, place: u64) -> u64 {
        self.0.get(saying).map_or(0, |places| places.partition_point(|at| *at < place) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_words_are_counted_by_session_and_place() {
        let session = |name: &str| SessionId::from_name(name).expect("a name");
        let (one, other) = (session("one"), session("other"));
        let mut sayings = Sayings::default();
        let saying = Saying::of(&one, " go on\n");
        assert_eq!(sayings.add(&one, "go on", 10), saying.key(1));
        assert_eq!(sayings.add(&other, "go on", 20), Saying::of(&other, "go on").key(1));
        assert_eq!(sayings.add(&one, "go on ", 30), saying.key(2));
        let counts: Vec<u64> = [0, 10, 11, 30, 31, u64::MAX].map(|place| sayings.before(&saying, place)).into();
        assert_eq!(counts, [0, 0, 1, 1, 2, 2]);
        let json = serde_json::to_string(&sayings).expect("JSON");
        assert_eq!(serde_json::from_str::<Sayings>(&json).expect("the same"), sayings);
    }

    #[test]
    fn an_event_delivered_again_is_known_within_seconds() {
        let saying = Saying::of(&SessionId::from_name("s").expect("a name"), "go on");
        let is_known = |first: i64, second: i64| {
            let [delivered, _] = saying.deliveries(Stamp(first));
            saying.deliveries(Stamp(second)).contains(&delivered)
        };
        for first in [0, 1, 4_999, 5_000, -1, 1_700_000_000_123] {
            assert!((0..=5_000).all(|later| is_known(first, first + later)), "{first}");
            assert!(!is_known(first, first + 10_000));
        }
    }
}
