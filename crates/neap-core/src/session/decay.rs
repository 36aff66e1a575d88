//! What leaves the context after a turn: first references are updated, then expansions collapse, then summaries
//! are evicted (seeds 001 and 000). Only expansions decay and only summaries are evicted; both stay stored,
//! searchable and expandable (I6). Open efforts are never touched.

use std::collections::BTreeSet;

use crate::base::ids::EffortId;
use crate::session::effort::Effort;
use crate::session::state::SessionState;
use crate::text::reference::{each_keyword, keywords};

/// Concluded efforts that a turn referenced: named or recognised in either message, or used in a tool call.
pub fn referenced_efforts(
    state: &SessionState,
    texts: &[&str],
    touched_by_tools: &BTreeSet<EffortId>,
) -> Vec<EffortId> {
    let policy = state.policy();
    let mut found: BTreeSet<EffortId> = touched_by_tools.clone();
    for text in texts {
        found.extend(
            state.keywords().mentioned_efforts(text, policy.min_keyword_overlap, policy.keyword_efforts_max),
        );
        // Expanded efforts are few and in view, so every keyword counts for them, however common.
        let recognised = |effort: &&Effort| shared_keywords(effort, text) >= policy.min_keyword_overlap;
        found.extend(state.expanded_efforts().filter(recognised).map(|effort| effort.id.clone()));
    }
    found.retain(|id| state.effort(id).is_some_and(|effort| effort.is_concluded()));
    found.into_iter().collect()
}

/// How many keywords of the effort's summary occur in a text.
fn shared_keywords(effort: &Effort, text: &str) -> u64 {
    let summary = effort.summary.as_ref().map_or("", |summary| summary.text.as_str());
    let mut unseen = keywords(summary);
    let all = unseen.len();
    for keyword in each_keyword(text) {
        unseen.remove(&keyword);
    }
    (all - unseen.len()) as u64
}

/// Expansions unreferenced for at least `decay_threshold` turns, with the number of those turns.
pub fn decayed_expansions(state: &SessionState) -> Vec<(EffortId, u64)> {
    let threshold = state.policy().decay_threshold;
    state
        .expanded_efforts()
        .map(|effort| (effort.id.clone(), state.turn().since(effort.last_referenced)))
        .filter(|(_, inactive)| *inactive >= threshold)
        .collect()
}

/// Expansions over the quota, longest unreferenced first.
pub fn excess_expansions(state: &SessionState) -> Vec<EffortId> {
    let quota = usize::try_from(state.policy().expanded_efforts_max).unwrap_or(usize::MAX);
    let mut expanded: Vec<&Effort> = state.expanded_efforts().collect();
    expanded.sort_by_key(|effort| (effort.last_referenced, effort.expanded.map(|x| x.since), &effort.id));
    let over = expanded.len().saturating_sub(quota);
    expanded.into_iter().take(over).map(|effort| effort.id.clone()).collect()
}

/// Shown summaries unreferenced for at least `summary_eviction_threshold` turns.
pub fn evictable_summaries(state: &SessionState) -> Vec<EffortId> {
    let threshold = state.policy().summary_eviction_threshold;
    state
        .shown_efforts()
        .take_while(|effort| state.turn().since(effort.last_referenced) >= threshold)
        .filter(|effort| effort.expanded.is_none())
        .map(|effort| effort.id.clone())
        .collect()
}
