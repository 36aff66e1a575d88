//! Cuts histories that do not fit, or that cost more to carry than to cut.
//!
//! [`forward`] decides whether; [`limits`] says how much may stay, from the [`room`], [`prices`] and what was spent so
//! far ([`spending`], [`economy`]); [`choose`] selects what goes, by the history's [`outline`] and what is [`stale`]; a
//! [`plan`] is the result, which [`shrink`] makes fit if it must, and which holds until the next cut.

mod bounds;
mod choose;
mod economy;
mod forward;
mod history_cut;
mod limits;
mod outline;
mod plan;
mod points;
mod prices;
mod room;
mod shorten;
mod shrink;
mod spending;
mod stale;

pub use bounds::Bounds;
pub use forward::{ForwardDecision, decide_forward, recall_budget};
pub use history_cut::HistoryCut;
pub use plan::{Changes, CutInputs, CutPlan, HistoryPart, JsonTokenCounter, RenderedHistory};
pub use prices::Prices;
