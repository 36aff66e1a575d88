//! Proofs of the design, evaluation of recall, and benchmarks: they measure the real engine over a real store in a
//! temporary folder and return figures, which the `neap` program prints. [`conformance`] adds to the MCP server what the
//! protocol's suite expects.

pub mod bench;
pub mod conformance;
mod error;
pub mod eval;
mod measure;
pub mod proof;

pub use error::LabError;
pub use measure::percentile;

/// Called as work goes on: what is counted, how much of it is done, and how much there is.
pub type OnProgress<'a> = &'a (dyn Fn(&str, u64, u64) + Sync);
