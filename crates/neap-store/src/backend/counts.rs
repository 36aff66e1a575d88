//! Document frequencies of terms and sizes of scopes, as changes to what is stored.
//!
//! Sessions are counted together, each agent separately: a scope is 0, or the number of an agent's stream.

use std::collections::BTreeMap;

use super::card::TermCounts;

/// Where all sessions' texts are counted.
pub const SESSIONS_SCOPE: i64 = 0;

/// `length` is the number of terms, `sum` the sum of the hashes of each text's distinct terms: a checksum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScopeCounts {
    pub texts: i64,
    pub length: i64,
    pub sum: i64,
}

/// Changes to the counts, collected during a transaction and written at its end.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CountChanges {
    /// By [`frequency_key`].
    pub terms: BTreeMap<i64, i64>,
    pub scopes: BTreeMap<i64, ScopeCounts>,
}

/// The scope in the upper 32 bits, the hash below.
pub fn frequency_key(scope: i64, hash: u32) -> i64 {
    scope << 32 | i64::from(hash)
}

impl CountChanges {
    pub fn count(&mut self, scope: i64, terms: &TermCounts, length: u32, by: i64) {
        let counts = self.scopes.entry(scope).or_default();
        counts.texts += by;
        counts.length += by * i64::from(length);
        for hash in terms.hashes() {
            counts.sum += by * i64::from(hash);
            *self.terms.entry(frequency_key(scope, hash)).or_default() += by;
        }
    }

    pub fn add(&mut self, other: CountChanges) {
        for (term, by) in other.terms {
            *self.terms.entry(term).or_default() += by;
        }
        for (scope, ScopeCounts { texts, length, sum }) in other.scopes {
            let counts = self.scopes.entry(scope).or_default();
            counts.texts += texts;
            counts.length += length;
            counts.sum += sum;
        }
    }
}
