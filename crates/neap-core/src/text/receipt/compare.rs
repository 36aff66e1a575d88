//! Compares a summary with its original.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::change::{LocatedChange, ValueInContext, collect_values, find_changes};
use super::index::{ClauseIndex, ValueIndex, is_retained};
use super::probe::{KeyedProbe, Probe, ProbeKind, collect_affirmative_clauses, find_probes, truncate_value};
use crate::base::message::Message;

/// Most examples in each list of a receipt.
pub const EXAMPLES_MAX: usize = 8;

/// Probe counts of one kind. `found` is the sum of the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    pub found: u32,
    pub retained: u32,
    /// Not in the summary, but reachable by the handle.
    pub recoverable: u32,
    pub missing: u32,
}

impl Tally {
    /// Permille of `found`; 1000 if nothing was found.
    pub fn retained_permille(&self) -> u32 {
        (self.retained * 1000).checked_div(self.found).unwrap_or(1000)
    }
}

/// A value in the summary that the original does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueChange {
    pub kind: ProbeKind,
    /// The nearest value of the original; empty if it was invented.
    pub from: String,
    pub to: String,
}

impl fmt::Display for ValueChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.from.as_str() {
            "" => write!(f, "{} '{}' was never said", self.kind.as_str(), self.to),
            from => write!(f, "{} '{from}' became '{}'", self.kind.as_str(), self.to),
        }
    }
}

/// What a summary retains of its original; bounded, since it is stored with the summary.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Kinds without probes are absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kinds: BTreeMap<ProbeKind, Tally>,
    /// Examples that only the handle leads to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recoverable: Vec<Probe>,
    /// Examples that are lost without the original.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Probe>,
    /// Examples still in the summary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<ValueChange>,
    /// Examples that repair removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repaired: Vec<ValueChange>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
}

impl Receipt {
    pub fn tally(&self, kind: ProbeKind) -> Tally {
        self.kinds.get(&kind).copied().unwrap_or_default()
    }

    pub fn total(&self) -> Tally {
        self.kinds.values().fold(Tally::default(), |sum, tally| Tally {
            found: sum.found + tally.found,
            retained: sum.retained + tally.retained,
            recoverable: sum.recoverable + tally.recoverable,
            missing: sum.missing + tally.missing,
        })
    }
}

/// Compares a summary with its original; `handle` leads back to the original, if anything does.
pub fn receipt(messages: &[Message], summary: &str, handle: Option<&str>) -> Receipt {
    Original::new(messages).receipt(summary, handle)
}

/// An original, analysed once for any number of summaries.
pub struct Original<'a> {
    messages: &'a [Message],
    pub(super) probes: Vec<KeyedProbe>,
    pub(super) values: ValueIndex<'a>,
    values_in_context: OnceCell<Vec<ValueInContext>>,
    affirmative_clauses: OnceCell<Vec<BTreeSet<String>>>,
}

impl<'a> Original<'a> {
    pub fn new(messages: &'a [Message]) -> Self {
        let (probes, values) = (find_probes(messages), ValueIndex::from_messages(messages));
        Self { messages, probes, values, values_in_context: OnceCell::new(), affirmative_clauses: OnceCell::new() }
    }

    /// Allows summaries to use a name that the messages do not contain.
    pub fn with_known_name(mut self, name: &'a str) -> Self {
        self.values.add_text(name);
        self
    }

    /// See [`receipt()`].
    pub fn receipt(&self, summary: &str, handle: Option<&str>) -> Receipt {
        let (values, clauses) = (ValueIndex::from_text(summary), ClauseIndex::from_summary(summary));
        let mut out = Receipt { handle: handle.map(str::to_owned), ..Receipt::default() };
        let mut left: Vec<(u32, &Probe)> = Vec::new();
        for KeyedProbe { probe, key } in &self.probes {
            let tally = out.kinds.entry(probe.kind).or_default();
            tally.found += 1;
            if is_retained(probe.kind, &probe.value, key, &values, &clauses) {
                tally.retained += 1;
                continue;
            }
            match handle {
                Some(_) => tally.recoverable += 1,
                None => tally.missing += 1,
            }
            left.push((tally.recoverable + tally.missing, probe));
        }
        // The first of each kind before the second of any.
        left.sort_by_key(|(nth, probe)| (*nth, probe.kind));
        let examples: Vec<Probe> = left.into_iter().take(EXAMPLES_MAX).map(|(_, probe)| probe.clone()).collect();
        match handle {
            Some(_) => out.recoverable = examples,
            None => out.missing = examples,
        }
        out.changed = receipt_changes(summary, &find_changes(self, summary));
        out
    }

    pub(super) fn values_in_context(&self) -> &[ValueInContext] {
        self.values_in_context.get_or_init(|| collect_values(self.messages))
    }

    pub(super) fn affirmative_clauses(&self) -> &[BTreeSet<String>] {
        self.affirmative_clauses.get_or_init(|| collect_affirmative_clauses(self.messages))
    }
}

pub(super) fn receipt_changes(summary: &str, changes: &[LocatedChange]) -> Vec<ValueChange> {
    let to_value_change = |change: &LocatedChange| ValueChange {
        kind: change.kind,
        from: truncate_value(change.nearest.text()),
        to: truncate_value(&summary[change.range.clone()]),
    };
    changes.iter().take(EXAMPLES_MAX).map(to_value_change).collect()
}
