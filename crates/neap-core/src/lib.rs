//! Neap's rules: pure and synchronous, without I/O, clock, environment or hash order. The same input gives the
//! same bytes.
//!
//! Eight rooms, from the bottom up; a room uses only those below it. [`base`]: ids, tokens, messages, policy.
//! [`text`]: reading and masking text. [`recall`]: search. [`memory`]: what an agent knows. [`session`]: events and the
//! state that they fold to. [`context`]: what a model sees. [`turn`]: the machines that the engine
//! drives. [`client`]: conversations that other programs hold: requests, transcripts, hooks.

pub mod base;
pub mod client;
pub mod context;
pub mod memory;
pub mod recall;
pub mod session;
pub mod text;
pub mod turn;
