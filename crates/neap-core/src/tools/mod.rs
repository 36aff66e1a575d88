//! Our tools, eight for efforts and one for originals: what a model may ask for, what it gets, and how it is refused.
//!
//! Reading a call ([`Call::parse`]) and checking it against the state ([`plan()`]) are here; carrying it out
//! over several steps is [`perform`](crate::turn)'s. A senseless call is never an error of ours: it is a
//! [`Refusal`] that the model reads.

mod arguments;
mod banner;
mod call;
mod host;
mod memory;
mod original;
mod plan;
mod reply;
mod spec;

pub use banner::Banner;
pub use call::{Call, Refusal, TextToSummarize};
pub use host::HostCall;
pub use memory::MemoryCall;
pub use original::{fetched, told, words};
pub use plan::{Plan, plan};
pub use reply::{SearchMatch, status, success};
pub use spec::{ToolSet, ToolSpec};
