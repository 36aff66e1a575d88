//! The newest part of each log that is in play, held in memory between turns.
//!
//! A cache, not truth: it is filled from the store on demand, grows with each turn, and is cut to what a
//! context could ever show. So a turn reads nothing from disk once its logs are here.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::effort::LogSize;
use crate::ids::TurnNo;
use crate::message::{Exchange, Scope};
use crate::tokens::Tokens;

/// From which end a log is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// Backwards from the exchange that ended last; they come in the order in which they ended.
    Newest,
    /// Forwards from the oldest turn; they come by turn, so that what is read is all there is up to its last turn.
    Oldest,
}

/// A wish for a part of a log. Whichever end it is read from, the exchanges come oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRequest {
    /// Which log.
    pub scope: Scope,
    /// Only exchanges of these turns, both included.
    pub turns: (TurnNo, TurnNo),
    /// Which end to begin with.
    pub from: From,
    /// Stop once this many tokens are reached; the exchange that reaches it is included.
    pub tokens_max: Tokens,
    /// Stop after this many exchanges.
    pub exchanges_max: usize,
}

impl LogRequest {
    /// The newest part of a log, by tokens alone.
    pub fn newest(scope: Scope, tokens_max: Tokens) -> Self {
        let turns = (TurnNo(0), TurnNo(u64::MAX));
        Self { scope, turns, from: From::Newest, tokens_max, exchanges_max: usize::MAX }
    }

    /// The oldest part of a log after a turn, by tokens alone.
    pub fn oldest(scope: Scope, after: TurnNo, tokens_max: Tokens) -> Self {
        let turns = (after.next(), TurnNo(u64::MAX));
        Self { scope, turns, from: From::Oldest, tokens_max, exchanges_max: usize::MAX }
    }

    /// Every exchange of a log between two turns, both included.
    pub fn turns(scope: Scope, first: TurnNo, last: TurnNo) -> Self {
        let (tokens_max, exchanges_max) = (Tokens(u64::MAX), usize::MAX);
        Self { scope, turns: (first, last), from: From::Oldest, tokens_max, exchanges_max }
    }
}

/// The newest exchanges of one log, oldest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Log {
    exchanges: VecDeque<Arc<Exchange>>,
    tokens: Tokens,
}

impl Log {
    /// From exchanges, oldest first.
    pub fn new(exchanges: impl IntoIterator<Item = Arc<Exchange>>) -> Self {
        let mut log = Self::default();
        for exchange in exchanges {
            log.push(exchange);
        }
        log
    }

    /// The exchanges held, oldest first.
    pub fn exchanges(&self) -> impl DoubleEndedIterator<Item = &Arc<Exchange>> + ExactSizeIterator {
        self.exchanges.iter()
    }

    /// How much is held.
    pub fn size(&self) -> LogSize {
        LogSize { exchanges: self.exchanges.len() as u64, tokens: self.tokens }
    }

    fn push(&mut self, exchange: Arc<Exchange>) {
        self.tokens += exchange.tokens();
        self.exchanges.push_back(exchange);
    }

    /// Forgets the oldest exchanges that a context of this size could not show anyway.
    fn trim(&mut self, tokens_max: Tokens) {
        while let Some(oldest) = self.exchanges.front() {
            if self.exchanges.len() < 2 || self.tokens - oldest.tokens() < tokens_max {
                return;
            }
            self.tokens -= oldest.tokens();
            self.exchanges.pop_front();
        }
    }
}

/// The logs in play.
#[derive(Debug, Clone, Default)]
pub struct Logs {
    by_scope: BTreeMap<Scope, Log>,
}

impl Logs {
    /// One log, if it is here.
    pub fn get(&self, scope: &Scope) -> Option<&Log> {
        self.by_scope.get(scope)
    }

    /// Puts a loaded log in place.
    pub fn put(&mut self, scope: Scope, log: Log) {
        self.by_scope.insert(scope, log);
    }

    /// Adds the exchange of a turn that just ended. A log that is not here stays away.
    pub fn push(&mut self, scope: &Scope, exchange: Arc<Exchange>, tokens_max: Tokens) {
        if let Some(log) = self.by_scope.get_mut(scope) {
            log.push(exchange);
            log.trim(tokens_max);
        }
    }

    /// Forgets every log that is not wanted any more.
    pub fn retain(&mut self, wanted: impl Fn(&Scope) -> bool) {
        self.by_scope.retain(|scope, _| wanted(scope));
    }

    /// How many exchanges are here.
    pub fn exchanges(&self) -> usize {
        self.by_scope.values().map(|log| log.exchanges.len()).sum()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.by_scope.clear();
    }
}
