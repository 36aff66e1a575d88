//! A summary held against its original.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::change::{Changed, Near, all_near, changes};
use super::probe::{Probe, ProbeKind, Sought, cut, plain_clauses, sought};
use super::said::{Said, Told, is_retained};
use crate::message::Message;

/// Examples that a receipt names in each of its lists, at most.
pub const EXAMPLES_MAX: usize = 8;

/// What became of the probes of one kind. `found` is the sum of the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// In the original.
    pub found: u32,
    /// In the summary, too.
    pub retained: u32,
    /// Not in the summary; the handle leads to it.
    pub recoverable: u32,
    /// Not in the summary, and no handle leads to it.
    pub missing: u32,
}

impl Tally {
    /// The share retained, in thousandths; all, where nothing was found.
    pub fn retained_permille(&self) -> u32 {
        (self.retained * 1000).checked_div(self.found).unwrap_or(1000)
    }
}

/// A value that the summary has otherwise than the original.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// What sort of thing.
    pub kind: ProbeKind,
    /// The nearest that the original has; empty if it was made up.
    pub from: String,
    /// What the summary has.
    pub to: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.from.as_str() {
            "" => write!(f, "{} '{}' was never said", self.kind.as_str(), self.to),
            from => write!(f, "{} '{from}' became '{}'", self.kind.as_str(), self.to),
        }
    }
}

/// What a summary kept of its original, small enough to be stored with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// By kind, where anything of the kind was found.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kinds: BTreeMap<ProbeKind, Tally>,
    /// Examples of what only the handle leads to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recoverable: Vec<Probe>,
    /// Examples of what is lost to whoever has only the summary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Probe>,
    /// What the summary has otherwise than the original.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<Change>,
    /// What it had otherwise until it was mended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repaired: Vec<Change>,
    /// What leads to the original.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
}

impl Receipt {
    /// What became of the probes of one kind.
    pub fn of(&self, kind: ProbeKind) -> Tally {
        self.kinds.get(&kind).copied().unwrap_or_default()
    }

    /// What became of all probes together.
    pub fn total(&self) -> Tally {
        self.kinds.values().fold(Tally::default(), |sum, tally| Tally {
            found: sum.found + tally.found,
            retained: sum.retained + tally.retained,
            recoverable: sum.recoverable + tally.recoverable,
            missing: sum.missing + tally.missing,
        })
    }

    /// The share of all probes that was retained, in thousandths.
    pub fn retained_permille(&self) -> u32 {
        self.total().retained_permille()
    }
}

/// Holds a summary against its original; `handle` is what leads back to that, if anything does.
pub fn receipt(messages: &[Message], summary: &str, handle: Option<&str>) -> Receipt {
    Original::new(messages).receipt(summary, handle)
}

/// What was said, looked through once for any number of summaries.
pub struct Original<'a> {
    messages: &'a [Message],
    pub(super) sought: Vec<Sought>,
    pub(super) said: Said<'a>,
    near: OnceCell<Vec<Near>>,
    plain: OnceCell<Vec<BTreeSet<String>>>,
}

impl<'a> Original<'a> {
    /// Looks through what was said.
    pub fn new(messages: &'a [Message]) -> Self {
        let (sought, said) = (sought(messages), Said::by(messages));
        Self { messages, sought, said, near: OnceCell::new(), plain: OnceCell::new() }
    }

    /// With a name that was given to it and may be used, though it was never said.
    pub fn knowing(mut self, name: &'a str) -> Self {
        self.said.also(name);
        self
    }

    /// Holds a summary against it; see [`receipt()`].
    pub fn receipt(&self, summary: &str, handle: Option<&str>) -> Receipt {
        let (said, told) = (Said::in_text(summary), Told::by(summary));
        let mut out = Receipt { handle: handle.map(str::to_owned), ..Receipt::default() };
        let mut left: Vec<(u32, &Probe)> = Vec::new();
        for Sought { probe, by } in &self.sought {
            let tally = out.kinds.entry(probe.kind).or_default();
            tally.found += 1;
            if is_retained(probe.kind, &probe.value, by, &said, &told) {
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
        left.sort_by_key(|(place, probe)| (*place, probe.kind));
        let examples: Vec<Probe> = left.into_iter().take(EXAMPLES_MAX).map(|(_, probe)| probe.clone()).collect();
        match handle {
            Some(_) => out.recoverable = examples,
            None => out.missing = examples,
        }
        out.changed = listed(summary, &changes(self, summary));
        out
    }

    /// Its values with the words around them.
    pub(super) fn near(&self) -> &[Near] {
        self.near.get_or_init(|| all_near(self.messages))
    }

    /// Its clauses that deny nothing.
    pub(super) fn plain(&self) -> &[BTreeSet<String>] {
        self.plain.get_or_init(|| plain_clauses(self.messages))
    }
}

/// Changes as a receipt tells them.
pub(super) fn listed(summary: &str, changes: &[Changed]) -> Vec<Change> {
    let change = |changed: &Changed| Change {
        kind: changed.kind,
        from: cut(changed.nearest.text()),
        to: cut(&summary[changed.range.clone()]),
    };
    changes.iter().take(EXAMPLES_MAX).map(change).collect()
}
