//! Events of some kinds, newest first.

use neap_core::ids::{Seq, SessionId};
use rusqlite::{Connection, params};

use super::effects::number;
use super::fault::Stop;
use super::{events, schema};
use crate::Stored;

const BY_LOOKING_BACK: &str =
    "SELECT seq FROM events WHERE stream = ? AND kind = ? AND seq < ? ORDER BY seq DESC LIMIT ?";
/// Says what the index says of itself, or it would not be used.
const BY_INDEX: &str = "SELECT seq FROM events WHERE stream = ? AND kind = ? AND seq < ?
     AND kind NOT IN ('turn_started', 'turn_completed', 'efforts_referenced') ORDER BY seq DESC LIMIT ?";

pub(super) fn events_of(
    db: &Connection,
    session: &SessionId,
    kinds: &[String],
    before: Option<Seq>,
    max: usize,
) -> Result<Vec<Stored>, Stop> {
    let Some(stream) = events::stream(db, session.as_str())? else { return Ok(Vec::new()) };
    let before = before.map_or(i64::MAX, |seq| number(seq.0));
    let mut places = Vec::new();
    for kind in kinds {
        let of_every_turn = schema::KINDS_OF_EVERY_TURN.contains(&kind.as_str());
        let mut statement = db.prepare_cached(if of_every_turn { BY_LOOKING_BACK } else { BY_INDEX })?;
        let mut rows = statement.query(params![stream, kind, before, number(max as u64)])?;
        while let Some(row) = rows.next()? {
            places.push(row.get::<_, i64>(0)? as u64);
        }
    }
    places.sort_unstable_by(|a, b| b.cmp(a));
    places.dedup();
    places.truncate(max);
    let mut found = Vec::with_capacity(places.len());
    for seq in places {
        found.extend(events::between(db, stream, Seq(seq), Seq(seq), 1)?);
    }
    Ok(found)
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
