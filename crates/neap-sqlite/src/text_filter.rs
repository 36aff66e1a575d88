//! Finds the texts of a narrow filter that the index cannot answer: by speaker, by effort, or efforts only.

use neap_core::base::ids::EffortId;
use neap_core::base::message::Scope;
use neap_core::recall::Filter;
use rusqlite::{Connection, params};

use neap_store::backend::card::kind_from_number;
use neap_store::backend::rowids;
use neap_store::backend::scope_column::scope_name;

/// Sorted rowids that match the filter's speakers, effort and efforts-only part; `None` if it has none of these.
pub(super) fn matching_texts(
    db: &Connection,
    filter: &Filter,
    ranges: &[(i64, i64)],
) -> rusqlite::Result<Option<Vec<i64>>> {
    let from_speakers = filter.speakers.is_some().then(|| by_speaker(db, filter, ranges)).transpose()?;
    let in_effort = filter.effort.as_ref().map(|id| by_effort(db, id, ranges)).transpose()?;
    let efforts = filter.is_efforts_only().then(|| effort_texts(db, ranges)).transpose()?;
    Ok([from_speakers, in_effort, efforts].into_iter().flatten().reduce(|mut matching, other| {
        matching.retain(|text| other.binary_search(text).is_ok());
        matching
    }))
}

fn effort_texts(db: &Connection, ranges: &[(i64, i64)]) -> rusqlite::Result<Vec<i64>> {
    let mut statement = db.prepare_cached("SELECT text FROM efforts WHERE text BETWEEN ? AND ?")?;
    let mut found = Vec::new();
    for range in ranges {
        for text in statement.query_map(<[i64; 2]>::from(*range), |row| row.get(0))? {
            found.push(text?);
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn by_speaker(db: &Connection, filter: &Filter, ranges: &[(i64, i64)]) -> rusqlite::Result<Vec<i64>> {
    let mut statement =
        db.prepare_cached("SELECT text, who FROM cards WHERE who IS NOT NULL AND text BETWEEN ? AND ?")?;
    let mut found = Vec::new();
    for (first, last) in ranges {
        let mut rows = statement.query([first, last])?;
        while let Some(row) = rows.next()? {
            if filter.matches_speaker(Some(row.get_ref(1)?.as_str()?)) {
                found.push(row.get(0)?);
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// The text of an effort and its messages, in every session that has an effort of this name.
fn by_effort(db: &Connection, id: &EffortId, ranges: &[(i64, i64)]) -> rusqlite::Result<Vec<i64>> {
    let is_searched = |text: &i64| ranges.iter().any(|(first, last)| (first..=last).contains(&text));
    let mut named = db.prepare_cached("SELECT text, stream FROM efforts WHERE id = ?")?;
    let efforts: Vec<(i64, i64)> =
        named.query_map([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    let scope = Scope::Effort(id.clone());
    let mut messages = db.prepare_cached(
        "SELECT text, kind FROM cards WHERE text BETWEEN ? AND ?
         AND turn IN (SELECT turn FROM exchanges WHERE stream = ? AND scope = ?)",
    )?;
    let mut found = Vec::new();
    for (own, stream) in efforts.into_iter().filter(|(own, _)| is_searched(own)) {
        found.push(own);
        let (first, last) = rowids::message_range(stream);
        let mut rows = messages.query(params![first, last, stream, scope_name(&scope)])?;
        while let Some(row) = rows.next()? {
            if kind_from_number(row.get(1)?).is_some_and(|kind| kind.is_message()) {
                found.push(row.get(0)?);
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}
