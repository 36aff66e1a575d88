//! An effort, and where it stands in the context.

use std::cmp::Reverse;

use neap_core::base::ids::{EffortId, TurnNo};
use neap_core::base::tokens::Tokens;
use neap_core::session::effort::{Effort, EffortStatus};
use neap_core::session::state::SessionState;
use serde::Serialize;

/// Where an effort stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EffortPlace {
    /// Open, and new messages go to it.
    Active,
    /// Open in the background.
    Open,
    /// Concluded, and its log is in the context.
    Expanded,
    /// Concluded, and its summary is in the context.
    Shown,
    /// Concluded, and not in the context.
    Evicted,
}

impl EffortPlace {
    /// As it is serialised.
    pub fn as_str(self) -> &'static str {
        match self {
            EffortPlace::Active => "active",
            EffortPlace::Open => "open",
            EffortPlace::Expanded => "expanded",
            EffortPlace::Shown => "shown",
            EffortPlace::Evicted => "evicted",
        }
    }
}

/// An effort of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EffortEntry {
    /// The slug that tools and commands name it by.
    pub id: EffortId,
    /// The name it was opened with.
    pub name: String,
    /// Open or concluded.
    pub status: EffortStatus,
    /// Where it stands.
    pub place: EffortPlace,
    /// Whether new messages go to it.
    pub active: bool,
    /// Whether its log is expanded.
    pub expanded: bool,
    /// Tokens of its whole log.
    pub raw_tokens: Tokens,
    /// Exchanges in its log.
    pub exchanges: u64,
    /// Its summary, if there is one.
    pub summary: Option<String>,
    /// The summary's tokens.
    pub summary_tokens: Option<Tokens>,
    /// What expanding it added to the context.
    pub expansion_cost_tokens: Option<Tokens>,
    /// The last turn that referred to it.
    pub last_referenced_turn: TurnNo,
}

impl EffortEntry {
    /// The entry of an effort of this session.
    pub fn of(state: &SessionState, effort: &Effort) -> Self {
        let place = place_of(state, effort);
        Self {
            id: effort.id.clone(),
            name: effort.name.clone(),
            status: effort.status,
            place,
            active: place == EffortPlace::Active,
            expanded: effort.expanded.is_some(),
            raw_tokens: effort.log.tokens,
            exchanges: effort.log.exchanges,
            summary: effort.summary.as_ref().map(|summary| summary.text.clone()),
            summary_tokens: effort.summary.as_ref().map(|summary| summary.tokens),
            expansion_cost_tokens: effort.expanded.map(|expansion| expansion.tokens_loaded),
            last_referenced_turn: effort.last_referenced,
        }
    }
}

/// Where an effort stands.
pub fn place_of(state: &SessionState, effort: &Effort) -> EffortPlace {
    match effort {
        e if state.active_effort().is_some_and(|active| active.id == e.id) => EffortPlace::Active,
        e if e.is_open() => EffortPlace::Open,
        e if e.expanded.is_some() => EffortPlace::Expanded,
        e if e.shown => EffortPlace::Shown,
        _ => EffortPlace::Evicted,
    }
}

/// A session's efforts: open ones first, then by last reference.
pub fn effort_entries(state: &SessionState) -> Vec<&Effort> {
    let mut efforts: Vec<&Effort> = state.efforts().collect();
    efforts.sort_by_key(|effort| Reverse(effort_place(effort)));
    efforts
}

/// Where [`effort_entries`] has an effort: the largest is first.
pub fn effort_place(effort: &Effort) -> (bool, TurnNo, EffortId) {
    (effort.is_open(), effort.last_referenced, effort.id.clone())
}
