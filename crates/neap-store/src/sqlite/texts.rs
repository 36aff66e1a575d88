//! From the number of a text to its id and its words, and back.

use std::collections::BTreeMap;
use std::sync::Arc;

use neap_core::effort::Effort;
use neap_core::ids::{EffortId, Seq, SessionId};
use neap_core::memory::Memory;
use neap_core::message::Scope;
use neap_core::project::effort_text;
use neap_core::recall::{TextId, TextKey, text_of};
use rusqlite::{Connection, OptionalExtension, params};

use super::effects::number;
use super::fault::Stop;
use super::reader::Reader;
use super::{cards, events, memories, read, schema};
use crate::{Stored, numbers};

/// The number of a text of a stream, if there is one.
pub(super) fn number_in(db: &Connection, stream: i64, key: &TextKey) -> rusqlite::Result<Option<i64>> {
    match key {
        TextKey::Message(Seq(seq)) => {
            let (first, last) = numbers::message_texts(stream);
            Ok(i64::try_from(*seq).ok().filter(|seq| *seq <= last - first).map(|seq| first + seq))
        }
        TextKey::Effort(effort) => db
            .prepare_cached("SELECT text FROM efforts WHERE stream = ? AND id = ?")?
            .query_row(params![stream, effort.as_str()], |row| row.get(0))
            .optional(),
        TextKey::Memory(_) if !schema::has_memories(db)? => Ok(None),
        TextKey::Memory(memory) => memories::text_of(db, stream, *memory),
    }
}

/// From numbers to ids and back; a stream that is there is looked up once.
#[derive(Default)]
pub(super) struct Names {
    names: BTreeMap<i64, Option<SessionId>>,
    streams: BTreeMap<SessionId, i64>,
}

impl Names {
    /// The number of a stream, if there is one.
    pub(super) fn stream(&mut self, db: &Connection, name: &SessionId) -> rusqlite::Result<Option<i64>> {
        if let Some(stream) = self.streams.get(name) {
            return Ok(Some(*stream));
        }
        let stream = events::stream(db, name.as_str())?;
        if let Some(stream) = stream {
            self.streams.insert(name.clone(), stream);
            self.names.insert(stream, Some(name.clone()));
        }
        Ok(stream)
    }

    /// The number of a text, if there is one.
    pub(super) fn number(&mut self, db: &Connection, id: &TextId) -> rusqlite::Result<Option<i64>> {
        let Some(stream) = self.stream(db, &id.stream)? else { return Ok(None) };
        number_in(db, stream, &id.key)
    }

    /// The id of the text with this number.
    pub(super) fn id(&mut self, db: &Connection, text: i64) -> rusqlite::Result<Option<TextId>> {
        let stream = numbers::stream_of(text);
        let name = match self.names.get(&stream) {
            Some(name) => name.clone(),
            None => {
                let name: Option<String> = db
                    .prepare_cached("SELECT name FROM sessions WHERE stream = ?")?
                    .query_row([stream], |row| row.get(0))
                    .optional()?;
                let name = name.and_then(|name| SessionId::stored(&name).ok());
                self.streams.extend(name.clone().map(|name| (name, stream)));
                self.names.insert(stream, name.clone());
                name
            }
        };
        let Some(stream) = name else { return Ok(None) };
        let key = if numbers::is_message(text) {
            Some(TextKey::Message(Seq(numbers::message_seq(text) as u64)))
        } else if stream.agent().is_some() {
            numbers::memory_of(text).map(|(id, _)| TextKey::Memory(id))
        } else {
            let id: Option<String> = db
                .prepare_cached("SELECT id FROM efforts WHERE text = ?")?
                .query_row([text], |row| row.get(0))
                .optional()?;
            id.and_then(|id| EffortId::parse(&id).ok()).map(TextKey::Effort)
        };
        Ok(key.map(|key| TextId { stream, key }))
    }
}

pub(super) fn texts(
    db: &Connection,
    names: &mut Names,
    ids: &[TextId],
) -> rusqlite::Result<Vec<Option<Arc<str>>>> {
    let mut asked = Vec::with_capacity(ids.len());
    for id in ids {
        // No text has this number.
        asked.push(names.number(db, id)?.unwrap_or(-1));
    }
    words(db, &asked, false)
}

/// The logs that texts are in.
pub(super) fn scopes(db: &Connection, ids: &[TextId]) -> Result<Vec<Option<Scope>>, Stop> {
    let (mut names, mut scopes) = (Names::default(), Vec::with_capacity(ids.len()));
    for id in ids {
        let said = names.number(db, id)?.map(|text| cards::turn(db, text)).transpose()?.flatten();
        let stream = names.stream(db, &id.stream)?;
        scopes.push(match said.filter(|(kind, _)| kind.is_said()).zip(stream) {
            Some(((_, turn), stream)) => read::scope_of(db, stream, turn)?,
            None => None,
        });
    }
    Ok(scopes)
}

/// The words of texts, in this order. They are read in the order of their streams, so that no block is unpacked twice.
pub(super) fn words(
    db: &Connection,
    texts: &[i64],
    with_withheld: bool,
) -> rusqlite::Result<Vec<Option<Arc<str>>>> {
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_unstable_by_key(|at| texts[*at]);
    let mut words = vec![None; texts.len()];
    let mut reader: Option<(i64, Reader<'_>)> = None;
    for at in order {
        let text = texts[at];
        if !numbers::is_message(text) || text < 0 {
            words[at] = derived(db, text)?;
            continue;
        }
        let stream = numbers::stream_of(text);
        let reader = match &mut reader {
            Some((of, reader)) if *of == stream => reader,
            other => &mut other.insert((stream, Reader::new(db, stream))).1,
        };
        let seq = Seq(numbers::message_seq(text) as u64);
        let Some(Stored::Event(recorded)) = reader.between(seq, seq, 1)?.pop() else { continue };
        let Some(found) = text_of(recorded.seq, recorded.at, &recorded.event) else { continue };
        if with_withheld || !is_withheld(db, stream, found.turn.0)? {
            words[at] = Some(found.text);
        }
    }
    Ok(words)
}

fn is_withheld(db: &Connection, stream: i64, turn: u64) -> rusqlite::Result<bool> {
    db.prepare_cached("SELECT 1 FROM withheld WHERE stream = ? AND turn = ?")?.exists([stream, number(turn)])
}

/// What an effort or a memory says.
fn derived(db: &Connection, text: i64) -> rusqlite::Result<Option<Arc<str>>> {
    let effort: Option<Option<Effort>> = db
        .prepare_cached("SELECT body, sum FROM efforts WHERE text = ?")?
        .query_row([text], |row| Ok(read::json(row, 0)))
        .optional()?;
    if let Some(effort) = effort.flatten() {
        return Ok(Some(effort_text(&effort).into()));
    }
    if !schema::has_memories(db)? {
        return Ok(None);
    }
    let memory: Option<Memory> = memories::bodies(db, [text])?.pop();
    Ok(memory.filter(|memory| memory.status.is_searched()).map(|memory| memory.text().into()))
}
