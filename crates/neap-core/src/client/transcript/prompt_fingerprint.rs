//! Identifies prompts without an id by session, text and number of occurrence. A hook reports such a prompt before
//! its program writes it down; the count shows that both are the same. The same text again is another prompt; the
//! same event delivered again is not, and arrives within seconds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::base::digest::Digest;
use crate::base::ids::{SessionId, Stamp};

/// Hook events with the same session and text within this time are one event, delivered again.
const DELIVERY_MS: i64 = 5_000;

/// The digest of a prompt's session and text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PromptFingerprint(Digest);

impl PromptFingerprint {
    pub fn of(session: &SessionId, text: &str) -> Self {
        Self(Digest::of("saying", &[session.as_str().as_bytes(), text.trim().as_bytes()]))
    }

    /// The key of its `nth` occurrence, from 1.
    pub fn nth_key(&self, nth: u64) -> Digest {
        Digest::of("said", &[self.0.bytes(), &nth.to_le_bytes()])
    }

    /// Says that a hook reported its `nth` occurrence. A transcript that is imported first has only the other key.
    pub fn reported_key(&self, nth: u64) -> Digest {
        Digest::of("reported", &[self.0.bytes(), &nth.to_le_bytes()])
    }

    /// Keys of an event at a time, when the transcript had the text `before` times. Events within five seconds of
    /// each other share one, whichever is recorded first; those twice as far apart, or with the text in between, do not.
    pub fn delivery_keys(&self, at: Stamp, before: u64) -> [Digest; 2] {
        let (window, count) = (at.0.div_euclid(DELIVERY_MS), before.to_le_bytes());
        let key = |window: i64| match before {
            0 => Digest::of("delivered", &[self.0.bytes(), &window.to_le_bytes()]),
            _ => Digest::of("delivered", &[self.0.bytes(), &window.to_le_bytes(), &count]),
        };
        [key(window), key(window + 1)]
    }
}

/// How often a prompt is in a transcript; zero without one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TranscriptCount {
    /// When the hook was called.
    pub before: u64,
    /// By now.
    pub read: u64,
}

/// Positions of the prompts without an id in a transcript.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PromptOccurrences(BTreeMap<PromptFingerprint, Vec<u64>>);

impl PromptOccurrences {
    /// Adds an occurrence and returns its key. Positions only grow.
    pub fn add(&mut self, session: &SessionId, text: &str, position: u64) -> Digest {
        let fingerprint = PromptFingerprint::of(session, text);
        let places = self.0.entry(fingerprint).or_default();
        places.push(position);
        fingerprint.nth_key(places.len() as u64)
    }

    /// How often it occurs before a position, and altogether.
    pub fn count(&self, fingerprint: &PromptFingerprint, position: u64) -> TranscriptCount {
        self.0.get(fingerprint).map_or_else(TranscriptCount::default, |places| TranscriptCount {
            before: places.partition_point(|at| *at < position) as u64,
            read: places.len() as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_words_are_counted_by_session_and_place() {
        let session = |name: &str| SessionId::from_name(name).expect("a name");
        let (one, other) = (session("one"), session("other"));
        let mut occurrences = PromptOccurrences::default();
        let fingerprint = PromptFingerprint::of(&one, " go on\n");
        assert_eq!(occurrences.add(&one, "go on", 10), fingerprint.nth_key(1));
        assert_eq!(occurrences.add(&other, "go on", 20), PromptFingerprint::of(&other, "go on").nth_key(1));
        assert_eq!(occurrences.add(&one, "go on ", 30), fingerprint.nth_key(2));
        let counts: Vec<u64> =
            [0, 10, 11, 30, 31, u64::MAX].map(|position| occurrences.count(&fingerprint, position).before).into();
        assert_eq!(counts, [0, 0, 1, 1, 2, 2]);
        let json = serde_json::to_string(&occurrences).expect("JSON");
        assert_eq!(serde_json::from_str::<PromptOccurrences>(&json).expect("the same"), occurrences);
    }

    #[test]
    fn an_event_delivered_again_is_known_within_seconds() {
        let fingerprint = PromptFingerprint::of(&SessionId::from_name("s").expect("a name"), "go on");
        let is_known = |first: i64, second: i64| {
            let recorded = fingerprint.delivery_keys(Stamp(first), 0);
            let again = fingerprint.delivery_keys(Stamp(second), 1);
            assert!(!again.iter().any(|key| recorded.contains(key)), "the transcript has the first");
            fingerprint.delivery_keys(Stamp(second), 0).iter().any(|key| recorded.contains(key))
        };
        for first in [0, 1, 4_999, 5_000, -1, 1_700_000_000_123] {
            assert!((-5_000..=5_000).all(|apart| is_known(first, first + apart)), "{first}");
            assert!(!is_known(first, first + 10_000) && !is_known(first, first - 10_000));
        }
    }
}
