//! What commands print with `--json` and the HTTP API answers: one form for one thing.

mod effort;
mod memory;
mod original;
mod question;
mod report;
mod session;

pub use effort::{EffortEntry, EffortPlace, effort_entries, effort_place, place_of};
pub use memory::{MemoryChange, MemoryErasure, MemoryOutcome, MemoryStatus, VersionEntry, forget_reason};
pub use original::{Original, OriginalMessage, text_part};
pub use question::{ContextCandidate, ContextSection, QuestionForm};
pub use report::{ModelTotals, ProjectTotals, SessionReport, StoreReport, TotalTokens};
pub use session::{SessionDetail, SessionErasure};
