//! Maps ids of texts to their rowids and content, and back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use neap_core::base::ids::{EffortId, Seq, StreamId, TurnNo};
use neap_core::base::message::Scope;
use neap_core::recall::{TextId, TextKey};
use neap_core::session::effort::Effort;
use neap_core::session::indexed_text;
use neap_core::session::project::effort_text;
use neap_store::StoredEvent;
use neap_store::backend::card::kind_from_number;
use neap_store::backend::event_row::checked_json;
use neap_store::backend::rowids;
use neap_store::backend::scope_column::parse_scope;

use crate::commit::message_rowid;
use crate::db_error::DbError;
use crate::events::event;
use crate::memories::{by_rowid, memory_rowids};
use crate::sql::params;
use crate::tx::Tx;

/// The numbers of streams by name; unknown names are left out.
pub(crate) async fn stream_numbers<'a>(
    tx: &Tx,
    names: impl IntoIterator<Item = &'a StreamId>,
) -> Result<BTreeMap<StreamId, i64>, DbError> {
    let names: BTreeSet<&str> = names.into_iter().map(StreamId::as_str).collect();
    let names: Vec<&str> = names.into_iter().collect();
    if names.is_empty() {
        return Ok(BTreeMap::new());
    }
    let sql = "SELECT name, stream FROM neap.sessions WHERE tenant = $1 AND name = ANY($2)";
    let mut streams = BTreeMap::new();
    for row in tx.query(sql, params![&tx.tenant(), &names]).await? {
        let stream: i64 = row.try_get(1)?;
        streams.extend(StreamId::parse(row.try_get(0)?).ok().map(|id| (id, stream)));
    }
    Ok(streams)
}

/// The rowid of each text, in this order; `None` if there is no such text (of a message: no such stream).
pub(crate) async fn rowids_of(tx: &Tx, ids: &[TextId]) -> Result<Vec<Option<i64>>, DbError> {
    let (mut effort_names, mut effort_ids) = (Vec::new(), Vec::new());
    let (mut memory_names, mut offsets) = (Vec::new(), Vec::new());
    for id in ids {
        match &id.key {
            TextKey::Effort(effort) => {
                effort_names.push(id.stream.as_str());
                effort_ids.push(effort.as_str());
            }
            TextKey::Memory(memory) => {
                for offset in memory_rowids(0, *memory) {
                    memory_names.push(id.stream.as_str());
                    offsets.push(offset);
                }
            }
            TextKey::Message(_) => {}
        }
    }
    let efforts = "SELECT s.name, e.id, e.text FROM unnest($2::text[], $3::text[]) q(name, id)
        JOIN neap.sessions s ON s.tenant = $1 AND s.name = q.name
        JOIN neap.efforts e ON e.tenant = $1 AND e.id = q.id AND e.stream = s.stream";
    let memories = "SELECT s.name, m.text FROM unnest($2::text[], $3::bigint[]) q(name, offset_)
        JOIN neap.sessions s ON s.tenant = $1 AND s.name = q.name
        JOIN neap.memories m ON m.tenant = $1 AND m.text = (s.stream << 32) + q.offset_";
    let tenant = tx.tenant();
    let optional = async |is_wanted: bool, sql: &str, params| {
        if is_wanted { tx.query(sql, params).await } else { Ok(Vec::new()) }
    };
    let (streams, efforts, memories) = tokio::try_join!(
        biased;
        stream_numbers(tx, ids.iter().map(|id| &id.stream)),
        optional(!effort_ids.is_empty(), efforts, params![&tenant, &effort_names, &effort_ids]),
        optional(!offsets.is_empty(), memories, params![&tenant, &memory_names, &offsets]),
    )?;
    let (mut of_efforts, mut of_memories) = (BTreeMap::new(), BTreeMap::new());
    for row in &efforts {
        of_efforts.insert((row.try_get::<_, &str>(0)?, row.try_get::<_, &str>(1)?), row.try_get::<_, i64>(2)?);
    }
    for row in &memories {
        let text: i64 = row.try_get(1)?;
        let id = rowids::memory_at_rowid(text).map(|(id, _)| id);
        of_memories.insert((row.try_get::<_, &str>(0)?, id), text);
    }
    let rowid = |id: &TextId| match &id.key {
        TextKey::Message(seq) => message_rowid(*streams.get(&id.stream)?, *seq),
        TextKey::Effort(effort) => of_efforts.get(&(id.stream.as_str(), effort.as_str())).copied(),
        TextKey::Memory(memory) => of_memories.get(&(id.stream.as_str(), Some(*memory))).copied(),
    };
    Ok(ids.iter().map(rowid).collect())
}

/// The id of a text from the name of its stream and, for an effort's, its id.
pub(crate) fn text_id(text: i64, name: &str, effort: Option<&str>) -> Option<TextId> {
    let stream = StreamId::parse(name).ok()?;
    let key = if rowids::is_message(text) {
        TextKey::Message(Seq(rowids::message_seq(text) as u64))
    } else if stream.agent().is_some() {
        TextKey::Memory(rowids::memory_at_rowid(text)?.0)
    } else {
        TextKey::Effort(EffortId::parse(effort?).ok()?)
    };
    Some(TextId { stream, key })
}

/// The ids of texts; unknown ones are left out.
pub(crate) async fn ids_of(tx: &Tx, texts: &Vec<i64>) -> Result<BTreeMap<i64, TextId>, DbError> {
    let sql = "SELECT q.text, s.name, e.id FROM unnest($2::bigint[]) q(text)
        JOIN neap.sessions s ON s.tenant = $1 AND s.stream = q.text >> 32
        LEFT JOIN neap.efforts e ON e.tenant = $1 AND e.text = q.text";
    let mut ids = BTreeMap::new();
    for row in tx.query(sql, params![&tx.tenant(), texts]).await? {
        let text: i64 = row.try_get(0)?;
        ids.extend(text_id(text, row.try_get(1)?, row.try_get(2)?).map(|id| (text, id)));
    }
    Ok(ids)
}

pub(crate) async fn texts(tx: &Tx, ids: &[TextId]) -> Result<Vec<Option<Arc<str>>>, DbError> {
    let rowids = rowids_of(tx, ids).await?;
    let found = contents(tx, rowids.iter().flatten().copied(), false).await?;
    Ok(rowids.into_iter().map(|text| found.get(&text?).cloned()).collect())
}

/// The content of texts; those without are left out.
pub(crate) async fn contents(
    tx: &Tx,
    texts: impl IntoIterator<Item = i64>,
    with_withheld: bool,
) -> Result<BTreeMap<i64, Arc<str>>, DbError> {
    let texts: BTreeSet<i64> = texts.into_iter().collect();
    let (messages, derived): (Vec<i64>, Vec<i64>) = texts.into_iter().partition(|text| rowids::is_message(*text));
    let streams: BTreeSet<i64> = messages.iter().map(|text| rowids::stream_of(*text)).collect();
    let streams: Vec<i64> = streams.into_iter().collect();
    let events = "SELECT q.text, e.seq, e.at, e.sum, e.body FROM unnest($2::bigint[]) q(text)
        JOIN neap.events e ON e.tenant = $1 AND e.stream = q.text >> 32 AND e.seq = q.text & 2147483647";
    let withheld = "SELECT stream, turn FROM neap.withheld WHERE tenant = $1 AND stream = ANY($2)";
    let efforts = "SELECT text, body, sum FROM neap.efforts WHERE tenant = $1 AND text = ANY($2)";
    let tenant = tx.tenant();
    let optional = async |is_wanted: bool, sql: &str, params| {
        if is_wanted { tx.query(sql, params).await } else { Ok(Vec::new()) }
    };
    let has_messages = !messages.is_empty();
    let (events, withheld, efforts) = tokio::try_join!(
        biased;
        optional(has_messages, events, params![&tenant, &messages]),
        optional(has_messages && !with_withheld, withheld, params![&tenant, &streams]),
        optional(!derived.is_empty(), efforts, params![&tenant, &derived]),
    )?;
    let mut hidden: BTreeSet<(i64, u64)> = BTreeSet::new();
    for row in &withheld {
        hidden.insert((row.try_get(0)?, row.try_get::<_, i64>(1)? as u64));
    }
    let mut found = BTreeMap::new();
    for row in &events {
        let text: i64 = row.try_get(0)?;
        let StoredEvent::Whole(recorded) = event(row, 1)? else { continue };
        let Some(content) = indexed_text(recorded.seq, recorded.at, &recorded.event) else { continue };
        if !hidden.contains(&(rowids::stream_of(text), content.turn.0)) {
            found.insert(text, content.text);
        }
    }
    for row in &efforts {
        let effort: Option<Effort> = checked_json(row.try_get(1)?, Some(row.try_get(2)?));
        let text: i64 = row.try_get(0)?;
        found.extend(effort.map(|effort| (text, effort_text(&effort).into())));
    }
    // What is not an effort's is a memory's.
    let rest: Vec<i64> = derived.into_iter().filter(|text| !found.contains_key(text)).collect();
    let memories = by_rowid(tx, &rest).await?.into_iter().filter(|(_, memory)| memory.status.is_searchable());
    found.extend(memories.map(|(text, memory)| (text, memory.search_text().into())));
    Ok(found)
}

pub(crate) async fn scopes(tx: &Tx, ids: &[TextId]) -> Result<Vec<Option<Scope>>, DbError> {
    let rowids = rowids_of(tx, ids).await?;
    let texts: Vec<i64> = rowids.iter().flatten().copied().filter(|text| rowids::is_message(*text)).collect();
    let sql = "SELECT c.text, c.kind, x.scope FROM unnest($2::bigint[]) q(text)
        JOIN neap.cards c ON c.tenant = $1 AND c.text = q.text
        JOIN neap.exchanges x ON x.tenant = $1 AND x.stream = c.stream AND x.turn = c.turn";
    let mut found = BTreeMap::new();
    for row in tx.query(sql, params![&tx.tenant(), &texts]).await? {
        let (text, kind): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        let is_message = kind_from_number(kind).is_some_and(|kind| kind.is_message());
        found.extend(parse_scope(row.try_get(2)?).filter(|_| is_message).map(|scope| (text, scope)));
    }
    Ok(rowids.into_iter().map(|text| found.get(&text?).cloned()).collect())
}

/// The number of a stored turn.
pub(crate) fn turn_no(turn: i64) -> TurnNo {
    TurnNo(turn as u64)
}
