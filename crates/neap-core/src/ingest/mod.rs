//! A client's request against what is known: whose conversation is it, what kind of request, what is new in it, and what
//! of it goes on to the model.
//!
//! Clients send their whole history each time. [`Heard`] is such a request without its wire format. It belongs to a
//! session by what the client says of itself ([`Signals`]) or by what it has said before ([`Chain`]); [`classify`] tells turns
//! from the errands that clients run beside them, [`judge`] what became of the history since the last time. While all of it
//! fits, it goes on as it came. When it does not, [`decide`] cuts it once, and keeps to that cut for as long as it can:
//! what was sent before stays as it was, and only grows at its end.

mod atoms;
mod blocks;
mod bound;
mod caller;
mod canon;
mod chain;
mod checkpoint;
mod class;
mod compaction;
mod credential_names;
mod credential_values;
mod credentials;
mod cut;
mod heard;
mod layout;
mod ours;
mod overflow;
mod passed;
mod phrase;
mod shorten;
mod shrink;
mod signals;
mod tell;
mod topics;
mod verdict;

pub use blocks::Blocks;
pub use bound::{Bounds, Decision, decide};
pub use caller::{Caller, Callers};
pub use canon::canonical;
pub use chain::{Chain, Digest, Line, Link, Tenant};
pub use checkpoint::{Reach, checkpoint};
pub use class::{Class, classify};
pub use compaction::{compaction_room, in_short};
pub use credentials::{path_of, percent_decoded, percent_decoded_bytes};
pub use cut::Cut;
pub use heard::{Api, Block, Endpoint, Heard, Item, Reply, Speaker, first_answered, first_spoken};
pub use layout::{Changes, Costs, Frozen, Layout, OnWire, Piece};
pub use ours::{Shadow, offered_tools, steers_efforts};
pub use overflow::Overflow;
pub use passed::{Passed, PassedSum, Used};
pub use signals::{BodySignals, Identity, SessionName, Signals, Source};
pub use tell::{messages, open, tell};
pub use topics::{Sign, Topics, says_over};
pub use verdict::{Verdict, judge};

#[cfg(test)]
mod tests;
