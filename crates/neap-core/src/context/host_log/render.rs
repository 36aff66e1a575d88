//! Renders a host's conversation within a budget, counted exactly (I1): summaries of older spans, the newest
//! exchanges verbatim, and the exchange in flight. Nothing is added but the lines around a record.

use std::sync::Arc;

use super::fit::fit_exchange;
use crate::base::ids::TurnNo;
use crate::base::message::{CountedMessage, Exchange, Message, Scope, total_tokens};
use crate::base::prompt;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::context::budget::newest_within;
use crate::session::effort::LogSize;
use crate::session::log::Log;
use crate::session::state::SessionState;
use crate::session::window::fit::{Fit, WindowedLog, fit};
use crate::session::window::{CompactionRequest, Span};
use crate::text::excerpt::EXCERPT_TOKENS_MIN;

/// The smallest budget that shows anything: an excerpt of one message.
pub const BUDGET_MIN: Tokens = EXCERPT_TOKENS_MIN;

/// Share of the budget that the exchange in flight may take where there is a history.
const IN_FLIGHT_PERCENT: u64 = 75;

#[derive(Clone, Copy)]
pub struct HostLog<'a> {
    pub state: &'a SessionState,
    /// The newest part of the ambient log, at least as much as the budget holds.
    pub log: &'a Log,
    pub in_flight: &'a [CountedMessage],
    pub counter: &'a dyn TokenCounter,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RenderedLog {
    pub messages: Vec<CountedMessage>,
    /// Index of the first message in flight.
    pub in_flight_at: usize,
    /// The first turn that is shown verbatim; none if no text of a turn is.
    pub raw_from: Option<TurnNo>,
    /// Whether everything ever said is shown verbatim.
    pub is_whole: bool,
    /// The summary that would improve the result.
    pub compaction: Option<CompactionRequest>,
}

impl RenderedLog {
    pub fn tokens(&self) -> Tokens {
        total_tokens(&self.messages)
    }
}

impl HostLog<'_> {
    pub fn render(&self, budget: Tokens) -> RenderedLog {
        let turn = self.state.turn();
        let max = if self.size().exchanges == 0 {
            budget
        } else {
            budget.percent(IN_FLIGHT_PERCENT).max(BUDGET_MIN.min(budget))
        };
        let current = fit_exchange(self.counter, turn, self.in_flight, max);
        let is_cut = total_tokens(&current) < total_tokens(self.in_flight);
        let mut rendered = self.render_history(budget - total_tokens(&current));
        if !current.is_empty() {
            rendered.raw_from = Some(rendered.raw_from.unwrap_or(turn));
        }
        rendered.is_whole &= !is_cut;
        rendered.in_flight_at = rendered.messages.len();
        rendered.messages.extend(current);
        assert!(rendered.tokens() <= budget, "I1: what is shown exceeds its room");
        rendered
    }

    fn size(&self) -> LogSize {
        // Another process may have added exchanges that the state does not have yet.
        self.state.log_size(&Scope::Ambient).max(self.log.size())
    }

    fn render_history(&self, budget: Tokens) -> RenderedLog {
        let (size, loaded) = (self.size(), self.log.size());
        if size.tokens <= budget && loaded.exchanges == size.exchanges {
            let messages = self.log.exchanges().flat_map(|exchange| exchange.messages.iter().cloned()).collect();
            let raw_from = self.log.exchanges().next().map(|exchange| exchange.turn);
            return RenderedLog { messages, in_flight_at: 0, raw_from, is_whole: true, compaction: None };
        }
        let window = self.state.window(&Scope::Ambient);
        let spans_percent = self.state.policy().window_summaries_percent;
        let windowed = WindowedLog { window, size, raw_max: u64::MAX, spans_percent };
        let overhead = self.render_record(size.exchanges, &[]).tokens;
        let fit = fit(windowed, budget.saturating_sub(overhead));
        let newest = self.newest_fitting(&fit);
        let whole = LogSize {
            exchanges: newest.len() as u64,
            tokens: self.uncovered(&fit).take(newest.len()).map(|exchange| exchange.tokens()).sum(),
        };
        let compaction = windowed.compaction_request(&Scope::Ambient, &fit, whole);
        let raw_from = newest.last().map(|exchange| exchange.turn);
        let raw: Vec<CountedMessage> =
            newest.iter().rev().flat_map(|exchange| exchange.messages.clone()).collect();
        let left_out = fit.raw.exchanges.saturating_sub(whole.exchanges);
        let record = self.fit_record(
            &window.spans()[..fit.spans.end],
            fit.spans.start,
            left_out,
            budget - total_tokens(&raw),
        );
        let messages = record.into_iter().chain(raw).collect();
        RenderedLog { messages, in_flight_at: 0, raw_from, is_whole: false, compaction }
    }

    /// Exchanges that no span covers, newest first.
    fn uncovered(&self, fit: &Fit) -> impl Iterator<Item = &Arc<Exchange>> {
        self.log.exchanges().rev().filter(|exchange| exchange.turn > fit.after)
    }

    /// The newest exchanges that fit, newest first; if not even one does, that one is cut.
    fn newest_fitting(&self, fit: &Fit) -> Vec<Arc<Exchange>> {
        let cut = |exchange: &Exchange, room: Tokens| {
            (room >= BUDGET_MIN).then(|| fit_exchange(self.counter, exchange.turn, &exchange.messages, room))
        };
        let newest = newest_within(self.uncovered(fit).cloned(), fit.raw_room, cut);
        newest.into_iter().map(|(exchange, _)| exchange).collect()
    }

    /// The newest summaries that fit, as one record; none if not even its frame fits.
    fn fit_record(&self, spans: &[Span], first: usize, left_out: u64, budget: Tokens) -> Option<CountedMessage> {
        (first..=spans.len()).find_map(|first| {
            let missing = left_out + spans[..first].iter().map(|span| span.size.exchanges).sum::<u64>();
            let record = self.render_record(missing, &spans[first..]);
            (record.tokens <= budget && (missing > 0 || first < spans.len())).then_some(record)
        })
    }

    fn render_record(&self, left_out: u64, spans: &[Span]) -> CountedMessage {
        let lines = spans.iter().map(|span| format!("[{}] {}", span.handle(&Scope::Ambient), span.text));
        CountedMessage::new(self.counter, Message::user(render_past(left_out, lines)))
    }
}

/// What came before, a line each, between our marks; `left_out` exchanges are older than that.
pub(crate) fn render_past(left_out: u64, lines: impl Iterator<Item = String>) -> String {
    let older = match left_out {
        0 => String::new(),
        n => prompt::fill(prompt::HOST_LOG_OLDER, &[("count", &n.to_string())]),
    };
    let mut text = prompt::fill(prompt::HOST_LOG_BEFORE, &[("older", &older)]);
    for line in lines {
        text.push('\n');
        text.push_str(&line);
    }
    text.push('\n');
    text.push_str(&prompt::fill(prompt::HOST_LOG_END, &[]));
    text
}
