//! Receipts: what a summary kept of its original, told by probes that need no model.
//!
//! Probes ([`probes`]) are taken from the original: identifiers, paths, numbers with units, dates, addresses,
//! denials, commitments, questions left open. Each is *retained* in the summary, *recoverable* by a handle that
//! leads to the original, or *missing* ([`receipt()`]). A value that the summary has and the original has not is
//! *changed*; [`repair()`] puts the original one back or leaves the sentence out. The same texts give the same
//! receipt. What no probe looks for, a receipt says nothing about: meaning is not measured here.

mod change;
mod clause;
mod compare;
mod date;
mod fold;
mod hard;
mod number;
mod probe;
mod repair;
mod said;
#[cfg(test)]
mod tests;
mod words;

pub use compare::{Change, EXAMPLES_MAX, Original, Receipt, Tally, receipt};
pub use probe::{PROBES_PER_KIND_MAX, Probe, ProbeKind, VALUE_CHARS_MAX, probes};
pub use repair::{Repaired, Unrepairable, repair};
