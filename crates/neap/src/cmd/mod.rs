//! One file, or one folder, per command.

pub(crate) mod bench;
pub(crate) mod censor;
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod context;
pub(crate) mod decide;
pub(crate) mod doctor;
pub(crate) mod efforts;
pub(crate) mod eval;
pub(crate) mod explain;
pub(crate) mod frames;
pub(crate) mod keys;
pub(crate) mod memory;
pub(crate) mod original;
pub(crate) mod proof;
pub(crate) mod rebuild;
pub(crate) mod recall;
pub(crate) mod receipts;
pub(crate) mod remember;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod session;
pub(crate) mod settings;
