//! Maps rowids of texts to their ids and content, and back.

use std::collections::BTreeMap;
use std::sync::Arc;

use neap_core::base::ids::{EffortId, Seq, StreamId};
use neap_core::base::message::Scope;
use neap_core::memory::Memory;
use neap_core::recall::{TextId, TextKey, UnembeddedText, message_end};
use neap_core::session::effort::Effort;
use neap_core::session::indexed_text;
use neap_core::session::project::effort_text;
use rusqlite::{Connection, OptionalExtension, params};

use super::db_error::DbError;
use super::derived_rows::to_sql;
use super::reader::StreamReader;
use super::{cards, events, memories, read, schema};
use neap_store::StoredEvent;
use neap_store::backend::rowids;

/// `None` if there is no such text.
pub(super) fn rowid_in(db: &Connection, stream: i64, key: &TextKey) -> rusqlite::Result<Option<i64>> {
    match key {
        TextKey::Message(Seq(seq)) => {
            let (first, last) = rowids::message_range(stream);
            Ok(i64::try_from(*seq).ok().filter(|seq| *seq <= last - first).map(|seq| first + seq))
        }
        TextKey::Effort(effort) => db
            .prepare_cached("SELECT text FROM efforts WHERE stream = ? AND id = ?")?
            .query_row(params![stream, effort.as_str()], |row| row.get(0))
            .optional(),
        TextKey::Memory(_) if !schema::has_memories(db)? => Ok(None),
        TextKey::Memory(memory) => memories::rowid_of(db, stream, *memory),
    }
}

/// Maps rowids to ids and back; looks up each existing stream once.
#[derive(Default)]
pub(super) struct IdCache {
    names: BTreeMap<i64, Option<StreamId>>,
    streams: BTreeMap<StreamId, i64>,
}

impl IdCache {
    pub(super) fn stream(&mut self, db: &Connection, name: &StreamId) -> rusqlite::Result<Option<i64>> {
        if let Some(stream) = self.streams.get(name) {
            return Ok(Some(*stream));
        }
        let stream = events::stream_number(db, name.as_str())?;
        if let Some(stream) = stream {
            self.streams.insert(name.clone(), stream);
            self.names.insert(stream, Some(name.clone()));
        }
        Ok(stream)
    }

    pub(super) fn rowid(&mut self, db: &Connection, id: &TextId) -> rusqlite::Result<Option<i64>> {
        let Some(stream) = self.stream(db, &id.stream)? else { return Ok(None) };
        rowid_in(db, stream, &id.key)
    }

    pub(super) fn id(&mut self, db: &Connection, text: i64) -> rusqlite::Result<Option<TextId>> {
        let stream = rowids::stream_of(text);
        let name = match self.names.get(&stream) {
            Some(name) => name.clone(),
            None => {
                let name: Option<String> = db
                    .prepare_cached("SELECT name FROM sessions WHERE stream = ?")?
                    .query_row([stream], |row| row.get(0))
                    .optional()?;
                let name = name.and_then(|name| StreamId::parse(&name).ok());
                self.streams.extend(name.clone().map(|name| (name, stream)));
                self.names.insert(stream, name.clone());
                name
            }
        };
        let Some(stream) = name else { return Ok(None) };
        let key = if rowids::is_message(text) {
            Some(TextKey::Message(Seq(rowids::message_seq(text) as u64)))
        } else if stream.agent().is_some() {
            rowids::memory_at_rowid(text).map(|(id, _)| TextKey::Memory(id))
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
    cache: &mut IdCache,
    ids: &[TextId],
) -> rusqlite::Result<Vec<Option<Arc<str>>>> {
    let mut rowids = Vec::with_capacity(ids.len());
    for id in ids {
        // No text has this rowid.
        rowids.push(cache.rowid(db, id)?.unwrap_or(-1));
    }
    text_contents(db, &rowids, false)
}

pub(super) fn scopes(db: &Connection, ids: &[TextId]) -> Result<Vec<Option<Scope>>, DbError> {
    let (mut cache, mut scopes) = (IdCache::default(), Vec::with_capacity(ids.len()));
    for id in ids {
        let meta = cache.rowid(db, id)?.map(|text| cards::kind_and_turn(db, text)).transpose()?.flatten();
        let stream = cache.stream(db, &id.stream)?;
        scopes.push(match meta.filter(|(kind, _)| kind.is_message()).zip(stream) {
            Some(((_, turn), stream)) => read::scope_of(db, stream, turn)?,
            None => None,
        });
    }
    Ok(scopes)
}

/// The content of texts, in this order. Reads in stream order, so that no block is unpacked twice.
pub(super) fn text_contents(
    db: &Connection,
    texts: &[i64],
    with_withheld: bool,
) -> rusqlite::Result<Vec<Option<Arc<str>>>> {
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_unstable_by_key(|at| texts[*at]);
    let mut contents = vec![None; texts.len()];
    let mut reader: Option<(i64, StreamReader<'_>)> = None;
    for at in order {
        let text = texts[at];
        if !rowids::is_message(text) || text < 0 {
            contents[at] = derived_text(db, text)?;
            continue;
        }
        let stream = rowids::stream_of(text);
        let reader = match &mut reader {
            Some((current, reader)) if *current == stream => reader,
            other => &mut other.insert((stream, StreamReader::new(db, stream))).1,
        };
        let seq = Seq(rowids::message_seq(text) as u64);
        let Some(StoredEvent::Whole(recorded)) = reader.between(seq, seq, 1)?.pop() else { continue };
        let Some(found) = indexed_text(recorded.seq, recorded.at, &recorded.event) else { continue };
        if with_withheld || !is_withheld(db, stream, found.turn.0)? {
            contents[at] = Some(found.text);
        }
    }
    Ok(contents)
}

/// What is embedded of these texts, without those that cannot be read.
pub(super) fn unembedded_texts(db: &Connection, texts: &[i64]) -> rusqlite::Result<Vec<UnembeddedText>> {
    let (mut speakers, mut before) = (Vec::with_capacity(texts.len()), Vec::with_capacity(texts.len()));
    for text in texts {
        let speaker = cards::speaker(db, *text)?;
        let message = if speaker.is_some() { cards::message_before(db, *text)? } else { None };
        // No text has this rowid.
        before.push(message.unwrap_or(-1));
        speakers.push(speaker);
    }
    let before = text_contents(db, &before, false)?;
    let contents = text_contents(db, texts, true)?;
    let (mut ids, mut found) = (IdCache::default(), Vec::with_capacity(texts.len()));
    for (((rowid, content), speaker), before) in texts.iter().zip(contents).zip(speakers).zip(before) {
        let Some((id, text)) = ids.id(db, *rowid)?.zip(content) else { continue };
        let before = before.map(|text| message_end(&text)).unwrap_or_default();
        found.push(UnembeddedText { id, text, speaker, before });
    }
    Ok(found)
}

fn is_withheld(db: &Connection, stream: i64, turn: u64) -> rusqlite::Result<bool> {
    db.prepare_cached("SELECT 1 FROM withheld WHERE stream = ? AND turn = ?")?.exists([stream, to_sql(turn)])
}

fn derived_text(db: &Connection, text: i64) -> rusqlite::Result<Option<Arc<str>>> {
    let effort: Option<Option<Effort>> = db
        .prepare_cached("SELECT body, sum FROM efforts WHERE text = ?")?
        .query_row([text], |row| Ok(read::checked_json(row, 0)))
        .optional()?;
    if let Some(effort) = effort.flatten() {
        return Ok(Some(effort_text(&effort).into()));
    }
    if !schema::has_memories(db)? {
        return Ok(None);
    }
    let memory: Option<Memory> = memories::load_rows(db, [text])?.pop();
    Ok(memory.filter(|memory| memory.status.is_searchable()).map(|memory| memory.search_text().into()))
}
