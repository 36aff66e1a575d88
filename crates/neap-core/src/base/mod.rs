//! The vocabulary that everything else is written in: ids, tokens, messages, handles, policy, and the texts that models read.

pub mod access;
pub(crate) mod calendar;
pub mod cost;
pub mod digest;
pub(crate) mod event_family;
pub mod handle;
pub mod ids;
pub mod ledger;
pub mod memory_id;
pub mod message;
pub mod model_name;
pub mod policy;
pub mod project_id;
pub mod prompt;
pub mod provenance;
pub mod refusal;
mod stamp_format;
pub mod tenant;
pub mod testing;
pub mod token_ratio;
pub mod tokens;
