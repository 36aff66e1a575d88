//! What the state says belongs in the context, before any budget is looked at.

use crate::effort::Effort;
use crate::log::LogRequest;
use crate::message::Scope;
use crate::policy::Policy;
use crate::state::SessionState;
use crate::tokens::Tokens;

/// The efforts to show, each in the form it is shown.
#[derive(Debug, Clone)]
pub struct Selection<'a> {
    /// Concluded efforts shown as summaries, most recently referenced first.
    pub summaries: Vec<&'a Effort>,
    /// Concluded efforts shown whole, longest expanded first.
    pub expanded: Vec<&'a Effort>,
    /// Open efforts in the background, longest inactive first.
    pub open: Vec<&'a Effort>,
    /// Open efforts that have been idle for so long that they are only named.
    pub idle: Vec<&'a Effort>,
    /// The active effort.
    pub active: Option<&'a Effort>,
    /// How many concluded efforts are not shown at all.
    pub evicted: usize,
}

impl<'a> Selection<'a> {
    /// What the state calls for.
    pub fn of(state: &'a SessionState) -> Self {
        let active = state.active();
        let mut expanded: Vec<&Effort> = state.expanded().collect();
        expanded.sort_by_key(|e| (e.expanded.map(|x| x.since), &e.id));
        let mut open: Vec<&Effort> = state.open().filter(|e| active.is_none_or(|a| a.id != e.id)).collect();
        open.sort_by_key(|e| (e.last_active, &e.id));
        let raw_max = usize::try_from(state.policy().open_raw_max).unwrap_or(usize::MAX);
        let raw = open.split_off(open.len().saturating_sub(raw_max));
        let (idle, open) = (open, raw);
        let summaries = state.shown().rev().filter(|e| e.expanded.is_none()).collect();
        Self { summaries, expanded, open, idle, active, evicted: state.evicted().len() }
    }

    /// The same with one more effort expanded.
    pub(crate) fn with_expanded(mut self, effort: &'a Effort) -> Self {
        self.evicted -= usize::from(effort.is_evicted());
        self.summaries.retain(|e| e.id != effort.id);
        self.expanded.push(effort);
        self
    }

    /// The same with an effort back to its summary.
    pub(crate) fn with_collapsed(mut self, effort: &'a Effort) -> Self {
        self.expanded.retain(|e| e.id != effort.id);
        self.summaries.insert(0, effort);
        self
    }

    /// What all its summaries cost under a heading of this cost.
    pub(crate) fn summaries_tokens(&self, heading: Tokens) -> Tokens {
        let lines: Tokens = self.summaries.iter().map(|e| summary_tokens(e)).sum();
        if self.summaries.is_empty() { Tokens::ZERO } else { heading + lines }
    }

    /// The logs it shows.
    pub fn scopes(&self) -> impl Iterator<Item = Scope> {
        let efforts = self.expanded.iter().chain(&self.open).chain(&self.active);
        std::iter::once(Scope::Ambient).chain(efforts.map(|e| Scope::Effort(e.id.clone())))
    }

    /// Requests for the logs that `is_here` does not have: no more of each than a context can show.
    pub fn requests(&self, policy: &Policy, is_here: impl Fn(&Scope) -> bool) -> Vec<LogRequest> {
        let ambient_window = usize::try_from(policy.ambient_window).unwrap_or(usize::MAX);
        let request = |scope: Scope| LogRequest {
            exchanges_max: if scope == Scope::Ambient { ambient_window } else { usize::MAX },
            ..LogRequest::newest(scope, policy.context_budget())
        };
        self.scopes().filter(|scope| !is_here(scope)).map(request).collect()
    }
}

/// What an effort's summary line costs.
pub(crate) fn summary_tokens(effort: &Effort) -> Tokens {
    effort.summary.as_ref().map_or(Tokens::ZERO, |summary| summary.tokens)
}
