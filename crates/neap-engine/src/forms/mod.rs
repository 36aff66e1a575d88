//! What commands print with `--json` and the HTTP API answers: one form for one thing.

mod effort;
mod memory;
mod question;
mod report;
mod session;

pub use effort::{EffortEntry, EffortPlace, effort_entries, place_of};
pub use memory::{MemoryChange, MemoryErasure, MemoryOutcome, MemoryStatus, VersionEntry, forget_reason};
pub use question::{ContextCandidate, ContextSection, QuestionForm};
pub use report::{SessionReport, StoreReport};
pub use session::{SessionDetail, SessionErasure};
