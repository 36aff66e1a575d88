//! What fades after a turn: references first, then expansions, then summaries (seeds 001 and 000).
//!
//! Only expansions decay and only summaries are evicted; both stay stored, findable and expandable (I6).
//! Open efforts are never touched.

use std::collections::BTreeSet;

use crate::effort::Effort;
use crate::ids::EffortId;
use crate::reference::keywords;
use crate::state::SessionState;

/// Concluded efforts that a turn referenced: named or recognised in either message, or touched by a tool.
pub fn referenced(state: &SessionState, texts: &[&str], touched_by_tools: &BTreeSet<EffortId>) -> Vec<EffortId> {
    let policy = state.policy();
    let mut found: BTreeSet<EffortId> = touched_by_tools.clone();
    for text in texts {
        found.extend(state.keywords().mentioned(text, policy.min_keyword_overlap, policy.keyword_efforts_max));
        // Expanded efforts are few and in view: for them every keyword counts, however common.
        let said = keywords(text);
        let recognised = |effort: &&Effort| shared(effort, &said) >= policy.min_keyword_overlap;
        found.extend(state.expanded().filter(recognised).map(|effort| effort.id.clone()));
    }
    found.retain(|id| state.effort(id).is_some_and(|effort| effort.is_concluded()));
    found.into_iter().collect()
}

/// How many of these keywords the effort's summary has.
fn shared(effort: &Effort, said: &BTreeSet<String>) -> u64 {
    let summary = effort.summary.as_ref().map_or("", |summary| summary.text.as_str());
    keywords(summary).intersection(said).count() as u64
}

/// Expansions that nothing has referenced for `decay_threshold` turns, with how many it has been.
pub fn decayed(state: &SessionState) -> Vec<(EffortId, u64)> {
    let threshold = state.policy().decay_threshold;
    state
        .expanded()
        .map(|effort| (effort.id.clone(), state.turn().since(effort.last_referenced)))
        .filter(|(_, inactive)| *inactive >= threshold)
        .collect()
}

/// Expansions over the quota: the longest unreferenced ones.
pub fn crowded(state: &SessionState) -> Vec<EffortId> {
    let quota = usize::try_from(state.policy().expanded_efforts_max).unwrap_or(usize::MAX);
    let mut expanded: Vec<&Effort> = state.expanded().collect();
    expanded.sort_by_key(|effort| (effort.last_referenced, effort.expanded.map(|x| x.since), &effort.id));
    let over = expanded.len().saturating_sub(quota);
    expanded.into_iter().take(over).map(|effort| effort.id.clone()).collect()
}

/// Shown summaries that nothing has referenced for `summary_eviction_threshold` turns.
pub fn evicted(state: &SessionState) -> Vec<EffortId> {
    let threshold = state.policy().summary_eviction_threshold;
    state
        .shown()
        .take_while(|effort| state.turn().since(effort.last_referenced) >= threshold)
        .filter(|effort| effort.expanded.is_none())
        .map(|effort| effort.id.clone())
        .collect()
}
