//! Caches the newest part of each active log between turns. A log is loaded from the store on demand, grows with
//! each turn, and is trimmed to what a context could ever show. So a turn reads nothing from disk once its logs
//! are cached.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::base::ids::TurnNo;
use crate::base::message::{Exchange, Scope};
use crate::base::tokens::Tokens;
use crate::session::effort::LogSize;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadFrom {
    /// Backwards from the exchange that ended last; sorted by when they ended.
    Newest,
    /// Forwards from the oldest turn; sorted by turn, so that nothing is missing up to the last one read.
    Oldest,
}

/// A request for part of a log. Exchanges come oldest first, from whichever end it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRequest {
    pub scope: Scope,
    /// Only these turns, both included.
    pub turns: (TurnNo, TurnNo),
    pub from: ReadFrom,
    /// The exchange that reaches this is included.
    pub tokens_max: Tokens,
    pub exchanges_max: usize,
}

impl LogRequest {
    pub fn newest(scope: Scope, tokens_max: Tokens) -> Self {
        let turns = (TurnNo(0), TurnNo(u64::MAX));
        Self { scope, turns, from: ReadFrom::Newest, tokens_max, exchanges_max: usize::MAX }
    }

    pub fn oldest(scope: Scope, after: TurnNo, tokens_max: Tokens) -> Self {
        let turns = (after.next(), TurnNo(u64::MAX));
        Self { scope, turns, from: ReadFrom::Oldest, tokens_max, exchanges_max: usize::MAX }
    }

    /// All exchanges between two turns, both included.
    pub fn turns(scope: Scope, first: TurnNo, last: TurnNo) -> Self {
        let (tokens_max, exchanges_max) = (Tokens(u64::MAX), usize::MAX);
        Self { scope, turns: (first, last), from: ReadFrom::Oldest, tokens_max, exchanges_max }
    }
}

/// The newest exchanges of one log, oldest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Log {
    exchanges: VecDeque<Arc<Exchange>>,
    tokens: Tokens,
}

impl Log {
    pub fn new(exchanges: impl IntoIterator<Item = Arc<Exchange>>) -> Self {
        let mut log = Self::default();
        for exchange in exchanges {
            log.push(exchange);
        }
        log
    }

    /// Oldest first.
    pub fn exchanges(&self) -> impl DoubleEndedIterator<Item = &Arc<Exchange>> + ExactSizeIterator {
        self.exchanges.iter()
    }

    pub fn size(&self) -> LogSize {
        LogSize { exchanges: self.exchanges.len() as u64, tokens: self.tokens }
    }

    fn push(&mut self, exchange: Arc<Exchange>) {
        self.tokens += exchange.tokens();
        self.exchanges.push_back(exchange);
    }

    /// Drops the oldest exchanges that a context of this size could not show anyway.
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

#[derive(Debug, Clone, Default)]
pub struct LogCache {
    by_scope: BTreeMap<Scope, Log>,
}

impl LogCache {
    pub fn get(&self, scope: &Scope) -> Option<&Log> {
        self.by_scope.get(scope)
    }

    pub fn put(&mut self, scope: Scope, log: Log) {
        self.by_scope.insert(scope, log);
    }

    /// Adds the exchange of a turn that just ended, if the log is cached.
    pub fn push(&mut self, scope: &Scope, exchange: Arc<Exchange>, tokens_max: Tokens) {
        if let Some(log) = self.by_scope.get_mut(scope) {
            log.push(exchange);
            log.trim(tokens_max);
        }
    }

    pub fn retain(&mut self, wanted: impl Fn(&Scope) -> bool) {
        self.by_scope.retain(|scope, _| wanted(scope));
    }

    pub fn exchanges(&self) -> usize {
        self.by_scope.values().map(|log| log.exchanges.len()).sum()
    }

    pub fn clear(&mut self) {
        self.by_scope.clear();
    }
}
