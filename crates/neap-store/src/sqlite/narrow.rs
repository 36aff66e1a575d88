//! Which texts a filter leaves, where that is little and the index itself does not tell: whose words they are, in which effort they were
//! said, whether they are efforts' own.

use neap_core::ids::EffortId;
use neap_core::message::Scope;
use neap_core::recall::Filter;
use rusqlite::{Connection, params};

use super::effects::scope_name;
use crate::card::numbered_kind;
use crate::numbers;

/// The numbers of the texts within some ranges that are of those who are named, of the effort that is, and of efforts if these alone are
/// searched, in order; none where a filter asks for nothing of that.
pub(super) fn only(db: &Connection, filter: &Filter, ranges: &[(i64, i64)]) -> rusqlite::Result<Option<Vec<i64>>> {
    let said = filter.who.is_some().then(|| said_by(db, filter, ranges)).transpose()?;
    let within = filter.effort.as_ref().map(|id| of_effort(db, id, ranges)).transpose()?;
    let efforts = filter.is_of_efforts().then(|| efforts(db, ranges)).transpose()?;
    Ok([said, within, efforts].into_iter().flatten().reduce(|mut left, other| {
        left.retain(|text| other.binary_search(text).is_ok());
        left
    }))
}

/// The own texts of all efforts.
fn efforts(db: &Connection, ranges: &[(i64, i64)]) -> rusqlite::Result<Vec<i64>> {
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

fn said_by(db: &Connection, filter: &Filter, ranges: &[(i64, i64)]) -> rusqlite::Result<Vec<i64>> {
    let mut statement =
        db.prepare_cached("SELECT text, who FROM cards WHERE who IS NOT NULL AND text BETWEEN ? AND ?")?;
    let mut found = Vec::new();
    for (first, last) in ranges {
        let mut rows = statement.query([first, last])?;
        while let Some(row) = rows.next()? {
            if filter.admits_speaker(Some(row.get_ref(1)?.as_str()?)) {
                found.push(row.get(0)?);
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// An effort's own text, and what was said in it, of every session that has one of this name.
fn of_effort(db: &Connection, id: &EffortId, ranges: &[(i64, i64)]) -> rusqlite::Result<Vec<i64>> {
    let is_searched = |text: &i64| ranges.iter().any(|(first, last)| (first..=last).contains(&text));
    let mut named = db.prepare_cached("SELECT text, stream FROM efforts WHERE id = ?")?;
    let efforts: Vec<(i64, i64)> =
        named.query_map([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    let scope = Scope::Effort(id.clone());
    let mut said = db.prepare_cached(
        "SELECT text, kind FROM cards WHERE text BETWEEN ? AND ?
         AND turn IN (SELECT turn FROM exchanges WHERE stream = ? AND scope = ?)",
    )?;
    let mut found = Vec::new();
    for (own, stream) in efforts.into_iter().filter(|(own, _)| is_searched(own)) {
        found.push(own);
        let (first, last) = numbers::message_texts(stream);
        let mut rows = said.query(params![first, last, stream, scope_name(&scope)])?;
        while let Some(row) = rows.next()? {
            if numbered_kind(row.get(1)?).is_some_and(|kind| kind.is_said()) {
                found.push(row.get(0)?);
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}
