//! Which streams and texts a query searches.

use neap_core::recall::{Filter, ProjectFilter};
use rusqlite::{Connection, params};

use super::super::cards::{self, SESSIONS_SCOPE};
use super::super::text_filter;
use super::super::texts::IdCache;
use neap_store::backend::candidates::Visit;
use neap_store::backend::rowids;

/// Streams that are searched one by one.
const RANGES_MAX: usize = 64;

pub(super) struct SearchedStreams {
    /// The searched streams, sorted; `None` for all sessions.
    pub(super) streams: Option<Vec<i64>>,
    agents: Vec<i64>,
    /// The scopes in which the searched texts are counted.
    pub(super) scopes: Vec<i64>,
    /// The rowids that the filter allows, sorted, if it is narrow; `None` for all.
    allowed: Option<Vec<i64>>,
}

impl SearchedStreams {
    pub(super) fn of(db: &Connection, ids: &mut IdCache, filter: &Filter) -> rusqlite::Result<Self> {
        let agents = cards::agent_streams(db)?;
        let of_projects = filter.project.as_ref().map(|filter| streams_of_projects(db, filter)).transpose()?;
        let Some(named) = &filter.streams else {
            let streams = of_projects.map(|mut streams| {
                streams.retain(|stream| agents.binary_search(stream).is_err());
                streams
            });
            return Self { streams, agents, scopes: vec![SESSIONS_SCOPE], allowed: None }.narrowed(db, filter);
        };
        let mut streams = Vec::with_capacity(named.len());
        for id in named {
            streams.extend(ids.stream(db, id)?);
        }
        if let Some(of_projects) = of_projects {
            streams.retain(|stream| {
                of_projects.binary_search(stream).is_ok() || agents.binary_search(stream).is_ok()
            });
        }
        streams.sort_unstable();
        let has_sessions = named.iter().any(|id| id.agent().is_none());
        let mut scopes: Vec<i64> = if has_sessions { vec![SESSIONS_SCOPE] } else { Vec::new() };
        scopes.extend(streams.iter().copied().filter(|stream| agents.binary_search(stream).is_ok()));
        Self { streams: Some(streams), agents, scopes, allowed: None }.narrowed(db, filter)
    }

    fn narrowed(self, db: &Connection, filter: &Filter) -> rusqlite::Result<Self> {
        let allowed = text_filter::matching_texts(db, filter, &self.ranges())?;
        Ok(Self { allowed, ..self })
    }

    pub(super) fn is_allowed(&self, text: i64) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.binary_search(&text).is_ok())
    }

    pub(super) fn is_searched(&self, text: i64) -> bool {
        let stream = rowids::stream_of(text);
        match &self.streams {
            Some(streams) => streams.binary_search(&stream).is_ok(),
            None => self.agents.binary_search(&stream).is_err(),
        }
    }

    /// Ranges of rowids, newest first, with all that is searched; a range may have more.
    fn ranges(&self) -> Vec<(i64, i64)> {
        match self.streams.as_deref() {
            None => vec![(i64::MIN, i64::MAX)],
            // One pass over everything is faster than many seeks for each term.
            Some([first, .., last]) if self.is_many() => {
                vec![(rowids::text_range(*first).0, rowids::text_range(*last).1)]
            }
            Some(streams) => streams.iter().rev().map(|stream| rowids::text_range(*stream)).collect(),
        }
    }

    fn is_many(&self) -> bool {
        self.streams.as_ref().is_some_and(|streams| streams.len() > RANGES_MAX)
    }

    /// Sorted rowids of the texts with a term.
    pub(super) fn texts_with_term(&self, db: &Connection, term: &str, visit: Visit) -> rusqlite::Result<Vec<u64>> {
        let (query, max) = match visit {
            Visit::All => ("SELECT rowid FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ?", usize::MAX),
            Visit::Newest(max) => {
                ("SELECT rowid FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC", max)
            }
        };
        let mut statement = db.prepare_cached(query)?;
        // Quoted, any word is a plain term, also `near` and `or`.
        let term = format!("\"{term}\"");
        let mut texts = Vec::new();
        for (first, last) in self.ranges() {
            let mut rows = statement.query(params![term, first, last])?;
            while texts.len() < max
                && let Some(row) = rows.next()?
            {
                let text: i64 = row.get(0)?;
                let is_here = match &self.streams {
                    Some(_) => !self.is_many() || self.is_searched(text),
                    None => self.agents.is_empty() || self.is_searched(text),
                };
                if is_here && self.is_allowed(text) {
                    texts.push(text as u64);
                }
            }
        }
        texts.sort_unstable();
        Ok(texts)
    }
}

/// Sorted, agents' streams included.
fn streams_of_projects(db: &Connection, filter: &ProjectFilter) -> rusqlite::Result<Vec<i64>> {
    let (query, project) = match filter {
        ProjectFilter::Only(project) | ProjectFilter::First(project) => {
            ("SELECT stream FROM sessions WHERE project IS NULL OR project = ? ORDER BY stream", project)
        }
        ProjectFilter::Others(project) => {
            ("SELECT stream FROM sessions WHERE project IS NOT NULL AND project <> ? ORDER BY stream", project)
        }
    };
    db.prepare_cached(query)?.query_map([project.as_str()], |row| row.get(0))?.collect()
}
