//! Selects what the state calls for in the context, before any budget applies.

use crate::base::message::Scope;
use crate::base::policy::Policy;
use crate::base::tokens::Tokens;
use crate::session::effort::Effort;
use crate::session::log::LogRequest;
use crate::session::state::SessionState;

/// The efforts to show, each in its form.
#[derive(Debug, Clone)]
pub struct Selection<'a> {
    /// Shown as summaries, most recently referenced first.
    pub summaries: Vec<&'a Effort>,
    /// Shown whole, longest expanded first.
    pub expanded: Vec<&'a Effort>,
    /// Open in the background, longest inactive first.
    pub open: Vec<&'a Effort>,
    /// Open, but idle for so long that no raw log is shown.
    pub idle: Vec<&'a Effort>,
    pub active: Option<&'a Effort>,
    /// How many concluded efforts are not shown at all.
    pub evicted: usize,
}

impl<'a> Selection<'a> {
    pub fn of(state: &'a SessionState) -> Self {
        let active = state.active_effort();
        let mut expanded: Vec<&Effort> = state.expanded_efforts().collect();
        expanded.sort_by_key(|e| (e.expanded.map(|x| x.since), &e.id));
        let mut open: Vec<&Effort> =
            state.open_efforts().filter(|e| active.is_none_or(|a| a.id != e.id)).collect();
        open.sort_by_key(|e| (e.last_active, &e.id));
        let raw_max = usize::try_from(state.policy().open_raw_max).unwrap_or(usize::MAX);
        let raw = open.split_off(open.len().saturating_sub(raw_max));
        let (idle, open) = (open, raw);
        let summaries = state.shown_efforts().rev().filter(|e| e.expanded.is_none()).collect();
        Self { summaries, expanded, open, idle, active, evicted: state.evicted_efforts().len() }
    }

    pub(crate) fn with_expanded(mut self, effort: &'a Effort) -> Self {
        self.evicted -= usize::from(effort.is_evicted());
        self.summaries.retain(|e| e.id != effort.id);
        self.expanded.push(effort);
        self
    }

    pub(crate) fn with_collapsed(mut self, effort: &'a Effort) -> Self {
        self.expanded.retain(|e| e.id != effort.id);
        self.summaries.insert(0, effort);
        self
    }

    /// The cost of all its summaries under a heading of this cost.
    pub(crate) fn summaries_tokens(&self, heading: Tokens) -> Tokens {
        let lines: Tokens = self.summaries.iter().map(|e| summary_tokens(e)).sum();
        if self.summaries.is_empty() { Tokens::ZERO } else { heading + lines }
    }

    pub fn scopes(&self) -> impl Iterator<Item = Scope> {
        let efforts = self.expanded.iter().chain(&self.open).chain(&self.active);
        std::iter::once(Scope::Ambient).chain(efforts.map(|e| Scope::Effort(e.id.clone())))
    }

    /// Requests for the logs that are not loaded, no more of each than a context can show.
    pub fn log_requests(&self, policy: &Policy, is_loaded: impl Fn(&Scope) -> bool) -> Vec<LogRequest> {
        let ambient_window = usize::try_from(policy.ambient_window).unwrap_or(usize::MAX);
        let request = |scope: Scope| LogRequest {
            exchanges_max: if scope == Scope::Ambient { ambient_window } else { usize::MAX },
            ..LogRequest::newest(scope, policy.context_budget())
        };
        self.scopes().filter(|scope| !is_loaded(scope)).map(request).collect()
    }
}

pub(crate) fn summary_tokens(effort: &Effort) -> Tokens {
    effort.summary.as_ref().map_or(Tokens::ZERO, |summary| summary.tokens)
}
