//! Lists events of given kinds, newest first.

use neap_core::base::ids::{Seq, StreamId};
use rusqlite::{Connection, params};

use super::db_error::DbError;
use super::derived_rows::to_sql;
use super::reader::StreamReader;
use super::{events, schema};
use neap_store::StoredEvent;

const BY_LOOKING_BACK: &str =
    "SELECT seq FROM events WHERE stream = ? AND kind = ? AND seq < ? ORDER BY seq DESC LIMIT ?";
/// Repeats the condition of the partial index; otherwise SQLite would not use it.
const BY_INDEX: &str = "SELECT seq FROM events WHERE stream = ? AND kind = ? AND seq < ?
     AND kind NOT IN ('turn_started', 'turn_completed', 'efforts_referenced') ORDER BY seq DESC LIMIT ?";

/// Does not read packed bodies.
const IN_BLOCKS: &str = "SELECT first_seq, last_seq, kinds FROM blocks WHERE stream = ? AND first_seq < ?
     ORDER BY last_seq DESC";

pub(super) fn events_of(
    db: &Connection,
    session: &StreamId,
    kinds: &[String],
    before: Option<Seq>,
    max: usize,
) -> Result<Vec<StoredEvent>, DbError> {
    let Some(stream) = events::stream_number(db, session.as_str())? else { return Ok(Vec::new()) };
    let before = before.map_or(i64::MAX, |seq| to_sql(seq.0));
    let mut reader = StreamReader::new(db, stream);
    let mut found = NewestEvents { newest: Vec::new(), max };
    for kind in kinds {
        let of_every_turn = schema::KINDS_OF_EVERY_TURN.contains(&kind.as_str());
        let mut statement = db.prepare_cached(if of_every_turn { BY_LOOKING_BACK } else { BY_INDEX })?;
        let mut rows = statement.query(params![stream, kind, before, to_sql(max as u64)])?;
        while let Some(row) = rows.next()? {
            let seq = Seq(row.get::<_, i64>(0)? as u64);
            for stored in reader.between(seq, seq, 1)? {
                found.add(seq, stored);
            }
        }
    }
    let mut statement = db.prepare_cached(IN_BLOCKS)?;
    let mut rows = statement.query(params![stream, before])?;
    while let Some(row) = rows.next()? {
        let (first, last) = (Seq(row.get::<_, i64>(0)? as u64), row.get::<_, i64>(1)?);
        if found.is_full_after(Seq(last as u64)) {
            break;
        }
        let block_kinds = row.get_ref(2)?.as_str().unwrap_or_default();
        if !kinds.iter().any(|kind| block_kinds.contains(&format!(" {kind} "))) {
            continue;
        }
        let last = Seq(last.min(before - 1) as u64);
        let mut damaged = None;
        for stored in reader.between(first, last, usize::MAX)? {
            match &stored {
                StoredEvent::Whole(recorded) if kinds.iter().any(|kind| kind == recorded.event.kind()) => {
                    found.add(recorded.seq, stored);
                }
                StoredEvent::Whole(_) => {}
                // A damaged block does not tell which of its events match: its last event stands in for all.
                StoredEvent::Damaged { seq, .. } => damaged = Some((*seq, stored)),
            }
        }
        if let Some((seq, stored)) = damaged {
            found.add(seq, stored);
        }
    }
    Ok(found.newest.into_iter().map(|(_, stored)| stored).collect())
}

struct NewestEvents {
    newest: Vec<(Seq, StoredEvent)>,
    max: usize,
}

impl NewestEvents {
    fn add(&mut self, seq: Seq, stored: StoredEvent) {
        if let Err(index) = self.newest.binary_search_by(|(known, _)| seq.cmp(known)) {
            self.newest.insert(index, (seq, stored));
            self.newest.truncate(self.max);
        }
    }

    /// Whether there are `max` events, all of them after this one.
    fn is_full_after(&self, seq: Seq) -> bool {
        self.newest.len() >= self.max && self.newest.last().is_none_or(|(oldest, _)| *oldest > seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_kinds_are_found_by_their_index() {
        let db = Connection::open_in_memory().expect("a database in memory");
        schema::create(&db).expect("its tables");
        for (query, plan) in [
            (BY_INDEX, "SEARCH events USING COVERING INDEX events_by_kind (stream=? AND kind=? AND seq<?)"),
            (BY_LOOKING_BACK, "SEARCH events USING PRIMARY KEY (stream=? AND seq<?)"),
        ] {
            let explain = format!("EXPLAIN QUERY PLAN {query}");
            let found = db.query_row(&explain, params![1, "scrubbed", 9, 9], |row| row.get::<_, String>(3));
            assert_eq!(found.as_deref(), Ok(plan));
        }
        for kind in schema::KINDS_OF_EVERY_TURN {
            assert!(BY_INDEX.contains(&format!("'{kind}'")), "{kind}");
        }
    }
}
