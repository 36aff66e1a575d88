//! Accepts each envelope once per session.

use std::collections::BTreeSet;

use neap_core::base::ids::Stamp;

use super::seal::CLOCK_SKEW_MS;

const ACCEPTED_MAX: usize = 4_096;

/// Remembers accepted envelopes, up to a limit. Everything issued up to the newest forgotten one could be a replay
/// and is refused.
#[derive(Debug, Clone, Default)]
pub struct ReplayGuard {
    accepted: BTreeSet<(Stamp, String)>,
    forgotten_until: Option<Stamp>,
    issued_from: Option<Stamp>,
}

impl ReplayGuard {
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the time of the current call: an envelope issued earlier, within clock skew, answers an earlier call,
    /// even one that another process accepted.
    pub fn set_call_time(&mut self, moment: Stamp) {
        self.issued_from = Some(Stamp(moment.0.saturating_sub(CLOCK_SKEW_MS)));
    }

    pub fn len(&self) -> usize {
        self.accepted.len()
    }

    pub fn is_empty(&self) -> bool {
        self.accepted.is_empty()
    }

    /// Forgets what would be refused as expired anyway. The mark moves only as far as something was forgotten: a
    /// clock that ran ahead for a moment must not make everything look old.
    pub(super) fn forget_before(&mut self, moment: Stamp) {
        let remaining = self.accepted.split_off(&(moment, String::new()));
        let forgotten = std::mem::replace(&mut self.accepted, remaining);
        if let Some((newest, _)) = forgotten.last() {
            self.forget_until(*newest);
        }
    }

    /// Records an envelope; returns whether it is new.
    pub(super) fn insert_new(&mut self, issued_at: Stamp, nonce: &str) -> bool {
        let is_earlier = self.issued_from.is_some_and(|call_time| issued_at < call_time);
        if is_earlier || self.forgotten_until.is_some_and(|mark| issued_at <= mark) {
            return false;
        }
        let is_new = self.accepted.insert((issued_at, nonce.to_owned()));
        while self.accepted.len() > ACCEPTED_MAX
            && let Some((oldest, _)) = self.accepted.pop_first()
        {
            self.forget_until(oldest);
        }
        is_new
    }

    fn forget_until(&mut self, moment: Stamp) {
        self.forgotten_until = self.forgotten_until.max(Some(moment));
    }
}
