//! Which streams and texts a query searches.

use std::collections::BTreeSet;

use neap_core::base::ids::StreamId;
use neap_core::recall::{Filter, ProjectFilter};
use neap_store::backend::card::kind_from_number;
use neap_store::backend::counts::SESSIONS_SCOPE;
use neap_store::backend::rowids;

use crate::db_error::DbError;
use crate::sql::params;
use crate::texts::stream_numbers;
use crate::tx::Tx;

/// Streams that are searched one by one.
const RANGES_MAX: usize = 64;

#[derive(Clone)]
pub(super) struct Searched {
    /// The searched streams, sorted; `None` for all sessions.
    pub(super) streams: Option<Vec<i64>>,
    /// The scopes in which the searched texts are counted.
    pub(super) scopes: Vec<i64>,
    /// The rowids that the filter allows, sorted, if it is narrow; `None` for all.
    pub(super) allowed: Option<Vec<i64>>,
    pub(super) ranges: Ranges,
}

/// Ranges of rowids with all that is searched, each with the scope of its postings; a range may have more.
#[derive(Clone, Default)]
pub(super) struct Ranges {
    pub(super) scopes: Vec<i64>,
    pub(super) firsts: Vec<i64>,
    pub(super) lasts: Vec<i64>,
    /// Only these streams, where the ranges have more.
    pub(super) streams: Option<Vec<i64>>,
}

impl Ranges {
    fn push(&mut self, scope: i64, (first, last): (i64, i64)) {
        self.scopes.push(scope);
        self.firsts.push(first);
        self.lasts.push(last);
    }
}

impl Searched {
    pub(super) async fn of(tx: &Tx, filter: &Filter) -> Result<Self, DbError> {
        let named: BTreeSet<StreamId> = filter.streams.clone().unwrap_or_default();
        let (numbers, of_projects) =
            tokio::try_join!(biased; stream_numbers(tx, &named), streams_of_projects(tx, filter))?;
        let in_project = |stream: &i64| of_projects.as_ref().is_none_or(|of| of.binary_search(stream).is_ok());
        let mut ranges = Ranges::default();
        let (streams, scopes) = if filter.streams.is_some() {
            let (mut sessions, mut agents) = (Vec::new(), Vec::new());
            for (id, stream) in &numbers {
                if id.agent().is_some() {
                    agents.push(*stream);
                } else if in_project(stream) {
                    sessions.push(*stream);
                }
            }
            sessions.sort_unstable();
            for stream in &agents {
                ranges.push(*stream, rowids::text_range(*stream));
            }
            push_sessions(&mut ranges, &sessions, agents.is_empty());
            let has_sessions = named.iter().any(|id| id.agent().is_none());
            let mut scopes: Vec<i64> = if has_sessions { vec![SESSIONS_SCOPE] } else { Vec::new() };
            scopes.extend(&agents);
            let mut streams: Vec<i64> = sessions.into_iter().chain(agents).collect();
            streams.sort_unstable();
            (Some(streams), scopes)
        } else if let Some(of_projects) = of_projects {
            push_sessions(&mut ranges, &of_projects, true);
            (Some(of_projects), vec![SESSIONS_SCOPE])
        } else {
            ranges.push(SESSIONS_SCOPE, (0, i64::MAX));
            (None, vec![SESSIONS_SCOPE])
        };
        let mut searched = Self { streams, scopes, allowed: None, ranges };
        searched.allowed = allowed(tx, filter, &searched.ranges).await?;
        Ok(searched)
    }

    pub(super) fn is_allowed(&self, text: i64) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.binary_search(&text).is_ok())
    }

    /// Embeddings of other scopes are not scanned.
    pub(super) fn is_searched(&self, text: i64) -> bool {
        self.streams.as_ref().is_none_or(|streams| streams.binary_search(&rowids::stream_of(text)).is_ok())
    }
}

fn push_sessions(ranges: &mut Ranges, sessions: &[i64], are_all: bool) {
    match sessions {
        // One pass over everything is faster than many seeks for each term.
        [first, .., last] if are_all && sessions.len() > RANGES_MAX => {
            ranges.push(SESSIONS_SCOPE, (rowids::text_range(*first).0, rowids::text_range(*last).1));
            ranges.streams = Some(sessions.to_vec());
        }
        _ => sessions.iter().for_each(|stream| ranges.push(SESSIONS_SCOPE, rowids::text_range(*stream))),
    }
}

/// The sessions that a project filter leaves, sorted; `None` without one.
async fn streams_of_projects(tx: &Tx, filter: &Filter) -> Result<Option<Vec<i64>>, DbError> {
    let (condition, project) = match &filter.project {
        None => return Ok(None),
        Some(ProjectFilter::Only(project) | ProjectFilter::First(project)) => {
            ("(project IS NULL OR project = $2)", project)
        }
        Some(ProjectFilter::Others(project)) => ("project IS NOT NULL AND project <> $2", project),
    };
    let sql = format!(
        "SELECT stream FROM neap.sessions WHERE tenant = $1 AND {condition} AND NOT starts_with(name, '@')
         ORDER BY stream"
    );
    let rows = tx.query(&sql, params![&tx.tenant(), &project.as_str()]).await?;
    Ok(Some(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?))
}

/// Sorted rowids that match the filter's speakers, effort and efforts-only part; `None` if it has none of these.
async fn allowed(tx: &Tx, filter: &Filter, ranges: &Ranges) -> Result<Option<Vec<i64>>, DbError> {
    let from_speakers = match filter.speakers {
        Some(_) => Some(by_speaker(tx, filter, ranges).await?),
        None => None,
    };
    let in_effort = match &filter.effort {
        Some(id) => Some(by_effort(tx, id.as_str(), ranges).await?),
        None => None,
    };
    let efforts = if filter.is_efforts_only() { Some(effort_texts(tx, ranges).await?) } else { None };
    Ok([from_speakers, in_effort, efforts].into_iter().flatten().reduce(|mut matching, other| {
        matching.retain(|text| other.binary_search(text).is_ok());
        matching
    }))
}

async fn effort_texts(tx: &Tx, ranges: &Ranges) -> Result<Vec<i64>, DbError> {
    let sql = "SELECT e.text FROM unnest($2::bigint[], $3::bigint[]) q(first, last)
        JOIN neap.efforts e ON e.tenant = $1 AND e.text BETWEEN q.first AND q.last ORDER BY 1";
    let rows = tx.query(sql, params![&tx.tenant(), &ranges.firsts, &ranges.lasts]).await?;
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

async fn by_speaker(tx: &Tx, filter: &Filter, ranges: &Ranges) -> Result<Vec<i64>, DbError> {
    let sql = "SELECT c.text, c.who FROM unnest($2::bigint[], $3::bigint[]) q(first, last)
        JOIN neap.cards c ON c.tenant = $1 AND c.who IS NOT NULL AND c.text BETWEEN q.first AND q.last ORDER BY 1";
    let mut found = Vec::new();
    for row in tx.query(sql, params![&tx.tenant(), &ranges.firsts, &ranges.lasts]).await? {
        let who: &[u8] = row.try_get(1)?;
        if filter.matches_speaker(std::str::from_utf8(who).ok()) {
            found.push(row.try_get(0)?);
        }
    }
    Ok(found)
}

/// The text of an effort and its messages, in every session that has an effort of this name.
async fn by_effort(tx: &Tx, id: &str, ranges: &Ranges) -> Result<Vec<i64>, DbError> {
    let sql = "SELECT e.text AS text, NULL::bigint AS kind FROM neap.efforts e WHERE e.tenant = $1 AND e.id = $2
        UNION ALL
        SELECT c.text, c.kind FROM neap.efforts e
        JOIN neap.exchanges x ON x.tenant = $1 AND x.stream = e.stream AND x.scope = $2
        JOIN neap.cards c ON c.tenant = $1 AND c.stream = e.stream AND c.turn = x.turn AND c.nth > 0
        WHERE e.tenant = $1 AND e.id = $2";
    let mut found = Vec::new();
    for row in tx.query(sql, params![&tx.tenant(), &id]).await? {
        let (text, kind): (i64, Option<i64>) = (row.try_get(0)?, row.try_get(1)?);
        let is_searched = ranges.firsts.iter().zip(&ranges.lasts).any(|(a, b)| (*a..=*b).contains(&text));
        let is_message = |kind: i64| kind_from_number(kind).is_some_and(|kind| kind.is_message());
        if is_searched && kind.is_none_or(is_message) {
            found.push(text);
        }
    }
    found.sort_unstable();
    Ok(found)
}
