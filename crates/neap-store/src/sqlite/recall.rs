//! Which memories have which words, or are the newest. One query for each term, whatever the kinds.

use std::cmp::Reverse;

use neap_core::ids::SessionId;
use neap_core::memory::{MemoryKind, RecallRequest, Recalled};
use rusqlite::{Connection, params};

use super::effects::number;
use super::fault::Stop;
use super::memories;
use crate::numbers;
use crate::propose::is_term;
use crate::recall::{Having, Place, Searched, limits, proposed, texts_with};

pub(super) fn recall(db: &Connection, agent: &SessionId, request: &RecallRequest) -> Result<Recalled, Stop> {
    let Some(stream) = memories::stream(db, agent)? else {
        return Ok(Recalled { texts_with: vec![0; request.terms.len()], ..Recalled::default() });
    };
    let limits = limits(request);
    let places = Place::searched(request);
    let span = span(request);
    let is_bounded = request.from.is_some() || request.until.is_some();
    let mut searched = Searched::new();
    for kind in limits.keys() {
        let mut of_kind = 0;
        for place in places {
            let shelf = numbers::shelf(stream, *kind, *place);
            of_kind += if is_bounded { count(db, shelf, span)? } else { memories::on_shelf(db, shelf)? };
        }
        searched.insert(*kind, of_kind);
    }
    let texts = searched.values().sum();
    if request.terms.is_empty() {
        let mut newest = Vec::new();
        for (kind, max) in limits {
            newest.extend(newest_of(db, stream, kind, places, span, max)?);
        }
        let memories = memories::bodies(db, newest)?;
        return Ok(Recalled { memories, texts, ..Recalled::default() });
    }
    let mut by_kind: Having = limits.keys().map(|kind| (*kind, vec![Vec::new(); request.terms.len()])).collect();
    let mut hits = having(db, &request.terms, numbers::searched_texts(stream, places))?;
    hits.iter_mut().for_each(|texts| texts.sort_unstable());
    for (kind, of_kind) in &mut by_kind {
        for place in places {
            let shelf = numbers::shelf(stream, *kind, *place);
            let within = if is_bounded { Some(texts_within(db, shelf, span)?) } else { None };
            let (first, last) = numbers::shelf_texts(shelf);
            for (texts, numbers) in hits.iter().zip(&mut *of_kind) {
                let start = texts.partition_point(|text| (*text as i64) < first);
                let end = texts.partition_point(|text| (*text as i64) <= last);
                let is_within = |text: &&u64| {
                    within.as_ref().is_none_or(|within| within.binary_search(&(**text as i64)).is_ok())
                };
                numbers.extend(texts[start..end].iter().filter(is_within).map(|text| text - first as u64));
            }
        }
        of_kind.iter_mut().for_each(|numbers| numbers.sort_unstable());
    }
    let mut found = Vec::new();
    for id in proposed(&by_kind, &searched, &limits) {
        found.extend(memories::text_of(db, stream, id)?);
    }
    let memories = memories::bodies(db, found)?;
    let texts_with = texts_with(&by_kind, request.terms.len());
    Ok(Recalled { memories, texts, texts_with, ..Recalled::default() })
}

/// The first and the last moment that is searched.
fn span(request: &RecallRequest) -> (i64, i64) {
    let first = request.from.map_or(i64::MIN, |from| from.0);
    (first, request.until.map_or(i64::MAX, |until| until.0.saturating_sub(1)))
}

fn count(db: &Connection, shelf: i64, (first, last): (i64, i64)) -> rusqlite::Result<u64> {
    let count: i64 = db
        .prepare_cached("SELECT count(*) FROM memories WHERE shelf = ? AND at BETWEEN ? AND ?")?
        .query_row([shelf, first, last], |row| row.get(0))?;
    Ok(count as u64)
}

/// The texts of a shelf that were written in a span, in order.
fn texts_within(db: &Connection, shelf: i64, (first, last): (i64, i64)) -> rusqlite::Result<Vec<i64>> {
    db.prepare_cached("SELECT text FROM memories WHERE shelf = ? AND at BETWEEN ? AND ? ORDER BY text")?
        .query_map([shelf, first, last], |row| row.get(0))?
        .collect()
}

/// The rows of the newest memories of a kind, newest first.
fn newest_of(
    db: &Connection,
    stream: i64,
    kind: MemoryKind,
    places: &[Place],
    (first, last): (i64, i64),
    max: usize,
) -> rusqlite::Result<Vec<i64>> {
    let mut found = Vec::new();
    for place in places {
        let shelf = numbers::shelf(stream, kind, *place);
        let mut statement = db.prepare_cached(
            "SELECT at, text FROM memories WHERE shelf = ? AND at BETWEEN ? AND ?
             ORDER BY at DESC, text DESC LIMIT ?",
        )?;
        let mut rows = statement.query(params![shelf, first, last, number(max as u64)])?;
        while let Some(row) = rows.next()? {
            let (at, text): (i64, i64) = (row.get(0)?, row.get(1)?);
            found.push((at, text - numbers::shelf_texts(shelf).0, text));
        }
    }
    found.sort_unstable_by_key(|(at, number, _)| Reverse((*at, *number)));
    found.truncate(max);
    Ok(found.into_iter().map(|(_, _, text)| text).collect())
}

/// For each term, the numbers within a range of the texts that have it.
fn having(db: &Connection, terms: &[String], (first, last): (i64, i64)) -> rusqlite::Result<Vec<Vec<u64>>> {
    let mut statement =
        db.prepare_cached("SELECT rowid FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ?")?;
    let mut all = Vec::with_capacity(terms.len());
    for term in terms {
        let mut texts = Vec::new();
        if is_term(term) {
            // In quotation marks a word is a word, also `near` and `or`.
            let mut rows = statement.query(params![format!("\"{term}\""), first, last])?;
            while let Some(row) = rows.next()? {
                texts.push(row.get::<_, i64>(0)? as u64);
            }
        }
        all.push(texts);
    }
    Ok(all)
}
