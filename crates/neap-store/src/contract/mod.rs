//! The guarantees of [`Store`] as tests, one suite for every backend; each test takes an empty store. What only
//! one backend can suffer (a flipped byte, a full disk) is tested with that backend.

mod access;
mod candidates;
mod commits;
mod embeddings;
mod erasures;
mod filters;
mod fixture;
mod links;
mod lists;
mod logs;
mod memories;
mod neighbours;
mod projects;
mod repairs;
mod searches;
mod texts;

pub use access::*;
pub use candidates::*;
pub use commits::*;
pub use embeddings::*;
pub use erasures::*;
pub use filters::*;
pub use fixture::*;
pub use links::*;
pub use lists::*;
pub use logs::*;
pub use memories::*;
pub use neighbours::*;
pub use projects::*;
pub use repairs::*;
pub use searches::*;
pub use texts::*;

use crate::{Finding, Severity, Store};

/// Findings of an examination above [`Severity::Note`].
pub async fn faults(store: &dyn Store) -> Vec<Finding> {
    let findings = store.examine(None).await.expect("an examination can be made");
    findings.into_iter().filter(|finding| finding.severity > Severity::Note).collect()
}
