//! Which spans need summaries so that everything omitted from a client's history has one.

use std::collections::BTreeMap;

use super::state::SessionState;
use super::window::{CompactionRequest, run_to_merge, spans_tokens};
use crate::base::ids::TurnNo;
use crate::base::message::Scope;
use crate::base::tokens::Tokens;

/// A summary covers at least this much.
const SPAN_TOKENS_MIN: Tokens = Tokens(1_024);
/// About how many summaries cover what is omitted.
const SPANS: u64 = 12;
/// Most summaries of one log; beyond it they are merged.
const SPANS_MAX: usize = 24;
const LINE_TOKENS_MAX: Tokens = Tokens(256);
const LINE_TOKENS_MIN: Tokens = Tokens(40);

/// How far summaries must reach in each log so that everything omitted has one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SummaryCoverage {
    /// The first tokens of each log that summaries must cover.
    tokens_upto: BTreeMap<Scope, Tokens>,
    span_tokens: Tokens,
    budget: Tokens,
}

impl SummaryCoverage {
    /// `uncovered` maps each log to its omitted tokens that have no summary yet.
    pub fn new(state: &SessionState, uncovered: &BTreeMap<Scope, Tokens>, budget: Tokens) -> Self {
        let total: Tokens = uncovered.values().copied().sum();
        let span_tokens = Tokens(total.0 / SPANS).max(SPAN_TOKENS_MIN);
        let upto = uncovered
            .iter()
            .map(|(scope, tokens)| (scope.clone(), state.window(scope).covered_size().tokens + *tokens));
        Self { tokens_upto: upto.collect(), span_tokens, budget }
    }

    /// Ambient chat and every open effort, each with the last turn that a summary covers (zero if none).
    pub fn coverable_logs(state: &SessionState) -> Vec<(Scope, TurnNo)> {
        let open = state.open_efforts().map(|effort| Scope::Effort(effort.id.clone()));
        std::iter::once(Scope::Ambient)
            .chain(open)
            .map(|scope| {
                let covered = state.window(&scope).last_covered_turn();
                (scope, covered)
            })
            .collect()
    }

    /// Covers what has no summary first, then merges summaries while they are too many or too long.
    pub(crate) fn next_request(
        &self,
        state: &SessionState,
        is_given_up: impl Fn(&Scope) -> bool,
    ) -> Option<CompactionRequest> {
        let line_tokens_max = Tokens(self.budget.0 / SPANS).max(LINE_TOKENS_MIN).min(LINE_TOKENS_MAX);
        for (scope, upto) in self.tokens_upto.iter().filter(|(scope, _)| !is_given_up(scope)) {
            let window = state.window(scope);
            let left = upto.saturating_sub(window.covered_size().tokens);
            if left > Tokens::ZERO {
                let tokens = left.min(self.span_tokens);
                return Some(CompactionRequest::Compact {
                    scope: scope.clone(),
                    after: window.last_covered_turn(),
                    tokens_min: tokens,
                    tokens_max: tokens,
                    line_tokens_max,
                });
            }
        }
        let lines = |scope: &Scope| spans_tokens(state.window(scope).spans());
        let all: Tokens = self.tokens_upto.keys().map(lines).sum();
        let mut logs: Vec<&Scope> = self.tokens_upto.keys().filter(|scope| !is_given_up(scope)).collect();
        logs.sort_by_key(|scope| std::cmp::Reverse(state.window(scope).spans().len()));
        logs.into_iter().find_map(|scope| {
            let spans = state.window(scope).spans();
            let run = &spans[run_to_merge(spans).filter(|_| all > self.budget || spans.len() > SPANS_MAX)?];
            let (first, last) = (run.first()?.first, run.last()?.last);
            Some(CompactionRequest::Merge { scope: scope.clone(), first, last, line_tokens_max })
        })
    }
}
