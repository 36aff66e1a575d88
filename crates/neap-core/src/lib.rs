//! The rules of Neap: what should happen?
//!
//! Pure and synchronous: no I/O, no clock, no environment, no hash order. The same input gives the same
//! bytes. Start with [`turn`], the machine that takes one message through; [`assemble`] is what it shows to
//! the model, [`event`] what it leaves behind, [`state`] the fold of that.

pub mod account;
pub mod assemble;
pub mod brief;
mod calendar;
pub mod censor;
pub mod cost;
pub mod decay;
pub mod effort;
pub mod epoch;
pub mod event;
pub mod excerpt;
pub mod frame;
pub mod handle;
pub mod hook;
pub mod ids;
pub mod import;
pub mod ingest;
pub mod knowledge;
pub mod learn;
pub mod ledger;
pub mod log;
pub mod memory;
pub mod memory_op;
pub mod memory_tool;
pub mod message;
pub mod policy;
pub mod project;
pub mod prompt;
pub mod recall;
pub mod receipt;
pub mod reference;
pub mod render;
pub mod report;
pub mod resume;
pub mod route;
pub mod secrets;
pub mod standing;
pub mod state;
pub mod summary;
pub mod terms;
pub mod testing;
pub mod tokens;
pub mod told;
pub mod tools;
pub mod transcript;
pub mod turn;
pub mod vet;
pub mod window;
