//! Receipts: what a summary retains of its original, measured by probes that need no model.
//!
//! Probes ([`probes`]) are taken from the original: identifiers, paths, numbers with units, dates, URLs,
//! negations, commitments, open questions. Each is *retained* in the summary, *recoverable* by a handle to the
//! original, or *missing* ([`receipt()`]). A value that only the summary has is *changed*; [`Original::repair`] restores
//! the original value or drops the sentence. Receipts are deterministic, and do not measure meaning beyond the
//! probes.

mod change;
mod clause;
mod compare;
mod date;
mod exact_values;
mod fold;
mod index;
mod number;
mod probe;
mod repair;
#[cfg(test)]
mod tests;
mod words;

pub use compare::{EXAMPLES_MAX, Original, Receipt, Tally, ValueChange, receipt};
pub use probe::{PROBES_PER_KIND_MAX, Probe, ProbeKind, VALUE_CHARS_MAX, probes};
pub use repair::{Repaired, Unrepairable};
