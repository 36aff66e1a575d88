//! Neap's rules: pure and synchronous, without I/O, clock, environment or hash order. The same input gives the
//! same bytes.
//!
//! Eight rooms, from the bottom up; a room uses only those below it. [`base`]: ids, tokens, messages, policy.
//! [`text`]: reading and masking text. [`recall`]: search. [`memory`]: what an agent knows. [`session`]: events and the
//! state that they fold to. [`context`]: what a model sees. [`turn`]: the machine that runs a turn. [`client`]: requests
//! of a proxy's clients.

pub mod base;
pub mod client;
pub mod context;
pub mod memory;
pub mod recall;
pub mod session;
pub mod text;
pub mod turn;
