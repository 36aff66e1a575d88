//! Costs of building, appending, searching and assembling a store of one size.
//!
//! All figures are of real commits to a real store. Embeddings are synthetic: the embedder's cost is not included.

mod size;
mod zipf_chat;

use serde::{Deserialize, Serialize};

pub use size::{build, search};

#[derive(Debug, Clone, Copy, Serialize)]
pub struct BuildFigures {
    /// Turns per second, durable and indexed by words.
    pub append_per_s: f64,
    /// Embeddings per second, durable.
    pub embed_per_s: f64,
    pub file_mib: f64,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct SearchFigures {
    pub open_ms: f64,
    /// The first search, which fills the caches.
    pub first_ms: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub rss_mib: f64,
}
