//! What is shown of a told conversation: summaries of its older spans, the newest exchanges as they were said,
//! and the one in flight; within a room, counted exactly (I1). Nothing of ours but the lines around a record.

use std::sync::Arc;

use super::fit::{fit_exchange, sum};
use crate::effort::LogSize;
use crate::excerpt::EXCERPT_TOKENS_MIN;
use crate::ids::TurnNo;
use crate::log::Log;
use crate::message::{Counted, Exchange, Message, Scope};
use crate::prompt;
use crate::state::SessionState;
use crate::tokens::{TokenCounter, Tokens};
use crate::window::fit::{Fit, Framed, fit};
use crate::window::{Span, Wish};

/// The smallest room in which something can be shown: an excerpt of one message.
pub const LEAST: Tokens = EXCERPT_TOKENS_MIN;

/// Most of the room that the exchange in flight may take from what came before it, in per cent.
const IN_FLIGHT_PERCENT: u64 = 75;

/// A told conversation.
#[derive(Clone, Copy)]
pub struct Told<'a> {
    /// The session's state.
    pub state: &'a SessionState,
    /// The newest part of its ambient log, at least as much as the room holds.
    pub log: &'a Log,
    /// The exchange in flight; empty if there is none.
    pub in_flight: &'a [Counted],
    /// How tokens are counted.
    pub counter: &'a dyn TokenCounter,
}

/// What is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// The messages, oldest first.
    pub messages: Vec<Counted>,
    /// Where the exchange in flight begins among them.
    pub in_flight_at: usize,
    /// The first turn that is shown in its own words; none if no word of a turn is.
    pub raw_from: Option<TurnNo>,
    /// Whether everything that was ever said is shown, in its own words.
    pub is_whole: bool,
    /// The summary that would serve it better.
    pub wish: Option<Wish>,
}

impl Shown {
    /// What it costs.
    pub fn tokens(&self) -> Tokens {
        sum(&self.messages)
    }
}

impl Told<'_> {
    /// Shows it in a room.
    pub fn show(&self, room: Tokens) -> Shown {
        let turn = self.state.turn();
        let max =
            if self.size().exchanges == 0 { room } else { room.percent(IN_FLIGHT_PERCENT).max(LEAST.min(room)) };
        let current = fit_exchange(self.counter, turn, self.in_flight, max);
        let is_cut = sum(&current) < sum(self.in_flight);
        let mut shown = self.history(room - sum(&current));
        if !current.is_empty() {
            shown.raw_from = Some(shown.raw_from.unwrap_or(turn));
        }
        shown.is_whole &= !is_cut;
        shown.in_flight_at = shown.messages.len();
        shown.messages.extend(current);
        assert!(shown.tokens() <= room, "I1: what is shown exceeds its room");
        shown
    }

    fn size(&self) -> LogSize {
        // Another process may have added exchanges that the state does not know of yet.
        self.state.log_size(&Scope::Ambient).max(self.log.size())
    }

    fn history(&self, room: Tokens) -> Shown {
        let (size, held) = (self.size(), self.log.size());
        if size.tokens <= room && held.exchanges == size.exchanges {
            let messages = self.log.exchanges().flat_map(|exchange| exchange.messages.iter().cloned()).collect();
            let raw_from = self.log.exchanges().next().map(|exchange| exchange.turn);
            return Shown { messages, in_flight_at: 0, raw_from, is_whole: true, wish: None };
        }
        let window = self.state.window(&Scope::Ambient);
        let spans_percent = self.state.policy().window_summaries_percent;
        let framed = Framed { window, size, raw_max: u64::MAX, spans_percent };
        let around = self.record(size.exchanges, &[]).tokens;
        let fit = fit(framed, room.saturating_sub(around));
        let newest = self.newest(&fit);
        let whole = LogSize {
            exchanges: newest.len() as u64,
            tokens: self.after(&fit).take(newest.len()).map(|exchange| exchange.tokens()).sum(),
        };
        let wish = framed.wish(&Scope::Ambient, &fit, whole);
        let raw_from = newest.last().map(|exchange| exchange.turn);
        let raw: Vec<Counted> = newest.iter().rev().flat_map(|exchange| exchange.messages.clone()).collect();
        let left_out = fit.raw.exchanges.saturating_sub(whole.exchanges);
        let record = self.preface(&window.spans()[..fit.spans.end], fit.spans.start, left_out, room - sum(&raw));
        let messages = record.into_iter().chain(raw).collect();
        Shown { messages, in_flight_at: 0, raw_from, is_whole: false, wish }
    }

    /// What no span stands for, newest first.
    fn after(&self, fit: &Fit) -> impl Iterator<Item = &Arc<Exchange>> {
        self.log.exchanges().rev().filter(|exchange| exchange.turn > fit.after)
    }

    /// The newest exchanges that fit, newest first; if not even one does, that one cut.
    fn newest(&self, fit: &Fit) -> Vec<Arc<Exchange>> {
        let mut room = fit.raw_room;
        let mut shown: Vec<Arc<Exchange>> = Vec::new();
        for exchange in self.after(fit) {
            if exchange.tokens() <= room {
                room -= exchange.tokens();
                shown.push(exchange.clone());
                continue;
            }
            if shown.is_empty() && room >= LEAST {
                let messages = fit_exchange(self.counter, exchange.turn, &exchange.messages, room);
                shown.push(Arc::new(Exchange { turn: exchange.turn, at: exchange.at, messages }));
            }
            break;
        }
        shown
    }

    /// The newest summaries that fit, in a record of their own; none if not even its lines fit.
    fn preface(&self, spans: &[Span], first: usize, left_out: u64, room: Tokens) -> Option<Counted> {
        (first..=spans.len()).find_map(|first| {
            let missing = left_out + spans[..first].iter().map(|span| span.size.exchanges).sum::<u64>();
            let record = self.record(missing, &spans[first..]);
            (record.tokens <= room && (missing > 0 || first < spans.len())).then_some(record)
        })
    }

    fn record(&self, left_out: u64, spans: &[Span]) -> Counted {
        let older = match left_out {
            0 => String::new(),
            n => prompt::fill(prompt::TOLD_OLDER, &[("count", &n.to_string())]),
        };
        let mut text = prompt::fill(prompt::TOLD_BEFORE, &[("older", &older)]);
        for span in spans {
            text.push_str(&format!("\n[{}] {}", span.handle(&Scope::Ambient), span.text));
        }
        text.push('\n');
        text.push_str(&prompt::fill(prompt::TOLD_END, &[]));
        Counted::new(self.counter, Message::user(text))
    }
}
