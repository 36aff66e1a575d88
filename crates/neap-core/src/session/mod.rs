//! One conversation: its events, the state that they fold to, efforts, logs, windows and summaries.

mod append;
pub mod coverage;
pub mod decay;
pub mod effort;
pub mod event;
mod event_text;
pub mod import;
pub mod live_message;
pub mod log;
mod mask_event;
mod mask_exported;
pub mod memory_op;
pub mod project;
pub mod report;
pub mod request_account;
pub mod request_cost;
pub mod resume;
pub mod route;
pub mod spending;
pub mod state;
pub mod summary;
pub mod summary_account;
pub mod validate;
pub mod window;

pub use append::{append_message, begin_exchange};
pub use event_text::indexed_text;
pub(crate) use mask_event::mask_event;
pub use mask_exported::mask_exported;
