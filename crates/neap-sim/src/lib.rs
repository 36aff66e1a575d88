//! A seeded simulation of Neap with faults, and checks of every invariant after every step.
//!
//! [`simulate`] runs one seed: people who open, switch, ramble, refer back, close and reopen ([`user`]); models
//! that are good, forgetful or hostile ([`model`]); programs that come through the proxy, by hooks, by imports and
//! over MCP (`clients`); a store that crashes before or after durability, and rival processes that commit first
//! ([`store`], [`rival`]). After every step the [`check`]s verify everything from outside. The same seed gives the
//! same run, byte for byte, on every backend.
//!
//! A failing seed is printed and joins [`KNOWN_SEEDS`]. Deliberate faults ([`plant`]) prove that the checks can
//! fail.

pub mod agent;
pub mod check;
mod clients;
pub mod digest;
pub mod disk;
pub mod host;
mod keys;
mod labels;
pub mod model;
pub mod plant;
pub mod rival;
pub mod rng;
mod run;
mod session;
mod settings;
pub mod soak;
mod steps;
pub mod store;
pub mod summarizer;
pub mod trace;
mod transcript;
mod turns;
pub mod user;
mod wire;
pub mod words;
mod world;

pub use run::{Config, Failure, Report, simulate};

/// Seeds that failed once, with the turns it took; they always run.
pub const KNOWN_SEEDS: &[(u64, u64)] =
    &[(31, 20), (36, 67), (45, 87), (54, 40), (61, 165), (179, 121), (353, 180), (456, 67), (487, 50), (657, 54)];
