//! The promise of [`Store`] as tests, one suite for every backend. Each takes a store that is empty.
//!
//! A backend's own tests call these; what only one backend can suffer (a flipped byte, a full disk) is tested
//! there.

mod around;
mod commits;
mod links;
mod lists;
mod logs;
mod memories;
mod narrowing;
mod proposals;
mod repairs;
mod searches;
mod told;

pub use around::*;
pub use commits::*;
pub use links::*;
pub use lists::*;
pub use logs::*;
pub use memories::*;
pub use narrowing::*;
pub use proposals::*;
pub use repairs::*;
pub use searches::*;
pub use told::*;

use crate::{Finding, Severity, Store};

/// What an examination found that is more than a note.
pub async fn faults(store: &dyn Store) -> Vec<Finding> {
    let findings = store.examine(None).await.expect("an examination can be made");
    findings.into_iter().filter(|finding| finding.severity > Severity::Note).collect()
}
