//! Neap's own tools, eight for efforts and one for originals, plus those for memories and hosts.
//!
//! [`OwnToolCall::parse`] reads a call and [`plan_call`] checks it against the state; [`crate::turn`] runs it. An
//! invalid call is never an error of the program: it is a [`Refusal`](crate::base::refusal::Refusal) that the model reads.

mod arguments;
mod banner;
mod call;
mod host;
mod memory;
mod original;
mod plan;
mod results;

pub use banner::Banner;
pub use call::{OwnToolCall, TextToSummarize};
pub use host::HostCall;
pub use memory::MemoryCall;
pub use original::{original_page, original_text, quoted_original};
pub use plan::{CallPlan, plan_call};
pub use results::{SearchMatch, effort_result, effort_status};
