//! Which texts have which words. The index proposes by number; the words themselves are read from the stream.

use neap_core::ids::{EffortId, Seq, SessionId};
use neap_core::rank::{Candidate, Found, SearchRequest, around};
use rusqlite::{Connection, OptionalExtension, params};

use super::fault::Stop;
use super::reader::Reader;
use super::{events, read};
use crate::Stored;
use crate::numbers;
use crate::propose::{is_term, propose};
use crate::search::candidate;

pub(super) fn search(
    db: &Connection,
    session: Option<&SessionId>,
    request: &SearchRequest,
) -> Result<Vec<(SessionId, Found)>, Stop> {
    let asked: Vec<_> = match session {
        Some(id) => events::stream(db, id.as_str())?.map(|stream| (stream, id.clone())).into_iter().collect(),
        None => read::streams(db)?,
    };
    // Memories are not part of sessions.
    let asked = asked.into_iter().filter(|(_, id)| id.agent().is_none());
    let mut found = Vec::new();
    for (stream, id) in asked {
        found.push((id, search_one(db, stream, request)?));
    }
    Ok(found)
}

fn search_one(db: &Connection, stream: i64, request: &SearchRequest) -> rusqlite::Result<Found> {
    let texts: i64 =
        db.prepare_cached("SELECT texts FROM sessions WHERE stream = ?")?.query_row([stream], |row| row.get(0))?;
    let texts = texts.max(0) as u64;
    let efforts = having(db, &request.terms, numbers::effort_texts(stream))?;
    let messages = having(db, &request.terms, numbers::message_texts(stream))?;
    let texts_with = efforts.iter().zip(&messages).map(|(a, b)| (a.len() + b.len()) as u64).collect();
    let mut candidates = Vec::new();
    for text in propose(&efforts, texts, request.candidates_max) {
        candidates.extend(effort(db, text)?);
    }
    candidates.extend(said(db, stream, request, propose(&messages, texts, request.candidates_max))?);
    Ok(Found { candidates, texts, texts_with })
}

/// The messages that were proposed, in that order. They are read in the order of the stream, so that no block is
/// unpacked twice.
fn said(
    db: &Connection,
    stream: i64,
    request: &SearchRequest,
    proposed: Vec<u64>,
) -> rusqlite::Result<Vec<Candidate>> {
    let mut places: Vec<(Seq, usize)> = Vec::with_capacity(proposed.len());
    for (rank, text) in proposed.into_iter().enumerate() {
        places.push((Seq(numbers::message_seq(text as i64) as u64), rank));
    }
    places.sort_unstable();
    let mut reader = Reader::new(db, stream);
    let mut said = Vec::with_capacity(places.len());
    for (seq, rank) in places {
        for stored in reader.between(seq, seq, 1)? {
            let Stored::Event(recorded) = stored else { continue };
            let mut scope = Ok(None);
            let in_scope = |turn| {
                scope = read::scope_of(db, stream, turn);
                scope.as_ref().ok().cloned().flatten()
            };
            let found =
                candidate(&recorded.event, in_scope, |text| around(text, &request.terms, request.text_bytes_max));
            said.extend(found.into_iter().map(|found| (rank, found)));
            scope?;
        }
    }
    said.sort_by_key(|(rank, _)| *rank);
    Ok(said.into_iter().map(|(_, found)| found).collect())
}

/// For each term, the numbers within a range of the texts that have it.
pub(super) fn having(
    db: &Connection,
    terms: &[String],
    (first, last): (i64, i64),
) -> rusqlite::Result<Vec<Vec<u64>>> {
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

fn effort(db: &Connection, text: u64) -> rusqlite::Result<Option<Candidate>> {
    let id: Option<String> = db
        .prepare_cached("SELECT id FROM efforts WHERE text = ?")?
        .query_row([text as i64], |row| row.get(0))
        .optional()?;
    Ok(id.and_then(|id| EffortId::parse(&id).ok()).map(|id| Candidate::Effort { id }))
}
