//! Which envelopes a session has accepted: none is accepted twice.

use std::collections::BTreeSet;

use neap_core::ids::Stamp;

use super::seal::CLOCK_SKEW_MS;

/// Most envelopes remembered at once.
const SEEN_MAX: usize = 4_096;

/// A session's memory of accepted envelopes. It is bounded: what is forgotten leaves a mark in time, and what was
/// issued up to that mark cannot be told from a replay any more, so it is refused.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    accepted: BTreeSet<(Stamp, String)>,
    forgotten: Option<Stamp>,
    asked: Option<Stamp>,
}

impl Seen {
    /// A memory that knows of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next answers are to a call of this moment: what was issued before it, as far as clocks can tell, answers
    /// an earlier one, also if that was taken in by another process.
    pub fn asked_at(&mut self, moment: Stamp) {
        self.asked = Some(Stamp(moment.0.saturating_sub(CLOCK_SKEW_MS)));
    }

    /// How many are remembered.
    pub fn len(&self) -> usize {
        self.accepted.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.accepted.is_empty()
    }

    /// Forgets what is refused as expired anyway. The mark is set only as far as something was forgotten: a clock that
    /// ran ahead for a moment must not make everything look old.
    pub(super) fn forget_before(&mut self, moment: Stamp) {
        let kept = self.accepted.split_off(&(moment, String::new()));
        let forgotten = std::mem::replace(&mut self.accepted, kept);
        if let Some((newest, _)) = forgotten.last() {
            self.mark(*newest);
        }
    }

    /// Remembers an envelope, and tells whether it is new.
    pub(super) fn is_first(&mut self, issued_at: Stamp, nonce: &str) -> bool {
        let is_earlier = self.asked.is_some_and(|asked| issued_at < asked);
        if is_earlier || self.forgotten.is_some_and(|mark| issued_at <= mark) {
            return false;
        }
        let is_new = self.accepted.insert((issued_at, nonce.to_owned()));
        while self.accepted.len() > SEEN_MAX
            && let Some((oldest, _)) = self.accepted.pop_first()
        {
            self.mark(oldest);
        }
        is_new
    }

    fn mark(&mut self, moment: Stamp) {
        self.forgotten = self.forgotten.max(Some(moment));
    }
}
