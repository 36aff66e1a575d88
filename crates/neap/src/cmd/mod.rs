//! One file, or one folder, per command.

pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod efforts;
pub(crate) mod explain;
pub(crate) mod keys;
pub(crate) mod original;
pub(crate) mod proof;
pub(crate) mod rebuild;
pub(crate) mod receipts;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod search;
pub(crate) mod session;
pub(crate) mod settings;
