//! Where a question is looked for.

use neap_core::recall::Filter;
use rusqlite::{Connection, params};

use super::super::cards::{self, SESSIONS};
use super::super::narrow;
use super::super::texts::Names;
use crate::numbers;
use crate::propose::Visit;

/// What is searched, by numbers.
pub(super) struct Where {
    /// The streams that are searched, in order; none for all but agents'.
    pub(super) streams: Option<Vec<i64>>,
    /// Agents' streams, in order.
    agents: Vec<i64>,
    /// Where what is searched is counted.
    pub(super) scopes: Vec<i64>,
    /// What the filter leaves of them, in order, where that is little; none for all.
    only: Option<Vec<i64>>,
}

impl Where {
    pub(super) fn of(db: &Connection, names: &mut Names, filter: &Filter) -> rusqlite::Result<Self> {
        let agents = cards::agents(db)?;
        let Some(named) = &filter.streams else {
            let all = Self { streams: None, agents, scopes: vec![SESSIONS], only: None };
            return all.narrowed(db, filter);
        };
        let mut streams = Vec::with_capacity(named.len());
        for id in named {
            streams.extend(names.stream(db, id)?);
        }
        streams.sort_unstable();
        let has_sessions = named.iter().any(|id| id.agent().is_none());
        let mut scopes: Vec<i64> = if has_sessions { vec![SESSIONS] } else { Vec::new() };
        scopes.extend(streams.iter().copied().filter(|stream| agents.binary_search(stream).is_ok()));
        Self { streams: Some(streams), agents, scopes, only: None }.narrowed(db, filter)
    }

    fn narrowed(self, db: &Connection, filter: &Filter) -> rusqlite::Result<Self> {
        let only = narrow::only(db, filter, &self.ranges())?;
        Ok(Self { only, ..self })
    }

    /// Whether the filter leaves a text, as far as it leaves little.
    pub(super) fn leaves(&self, text: i64) -> bool {
        self.only.as_ref().is_none_or(|only| only.binary_search(&text).is_ok())
    }

    pub(super) fn has(&self, text: i64) -> bool {
        let stream = numbers::stream_of(text);
        match &self.streams {
            Some(streams) => streams.binary_search(&stream).is_ok(),
            None => self.agents.binary_search(&stream).is_err(),
        }
    }

    /// Ranges of numbers that are searched, the newest first.
    fn ranges(&self) -> Vec<(i64, i64)> {
        match &self.streams {
            Some(streams) => streams.iter().rev().map(|stream| numbers::all_texts(*stream)).collect(),
            None => vec![(i64::MIN, i64::MAX)],
        }
    }

    /// The texts that have a term, in order.
    pub(super) fn having(&self, db: &Connection, term: &str, visit: Visit) -> rusqlite::Result<Vec<u64>> {
        let (query, max) = match visit {
            Visit::All => ("SELECT rowid FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ?", usize::MAX),
            Visit::Newest(max) => {
                ("SELECT rowid FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC", max)
            }
        };
        let mut statement = db.prepare_cached(query)?;
        // In quotation marks a word is a word, also `near` and `or`.
        let term = format!("\"{term}\"");
        let mut texts = Vec::new();
        for (first, last) in self.ranges() {
            let mut rows = statement.query(params![term, first, last])?;
            while texts.len() < max
                && let Some(row) = rows.next()?
            {
                let text: i64 = row.get(0)?;
                let is_here = self.streams.is_some() || self.agents.is_empty() || self.has(text);
                if is_here && self.leaves(text) {
                    texts.push(text as u64);
                }
            }
        }
        texts.sort_unstable();
        Ok(texts)
    }
}
