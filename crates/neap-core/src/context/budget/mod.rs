//! The budgeter: divides tokens among parts, chooses the newest exchanges that fit and cuts what is longer than its
//! share. Prompts, hosts' logs and clients' requests are all rendered with it.

mod cut;
mod newest;
mod shares;

pub(crate) use cut::{CutExchange, CutTemplates, cut_exchange};
pub(crate) use newest::newest_within;
pub(crate) use shares::{LayerDemand, allocate, fair_share, weighted_share};
