//! A seeded simulation of Neap with faults, and checks of every invariant after every step.
//!
//! [`simulate`] runs one seed: people who open, switch, ramble, refer back, close and reopen ([`user`]); models
//! that are good, forgetful or hostile ([`model`]); a store that crashes before or after durability, and other
//! processes that come first ([`store`], [`visitor`]). After every step the [`check`]s look at everything from
//! outside. The same seed gives the same run, byte for byte, on every backend.
//!
//! A seed that fails is printed and joins [`KNOWN_SEEDS`]. That the checks can turn red is shown by faults that
//! are put in on purpose ([`plant`]).

pub mod agent;
pub mod check;
pub mod digest;
pub mod disk;
pub mod host;
mod keys;
pub mod model;
pub mod plant;
pub mod rng;
mod run;
mod settings;
pub mod soak;
mod steps;
pub mod store;
pub mod summarizer;
mod talk;
pub mod tape;
pub mod user;
pub mod visitor;
pub mod words;
mod world;

pub use run::{Config, Failure, Report, simulate};

/// Seeds that failed once, with the turns it took; they always run.
pub const KNOWN_SEEDS: &[(u64, u64)] = &[(54, 40), (61, 165), (353, 180)];
