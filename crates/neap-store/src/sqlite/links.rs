//! What clients said before, by the digests that stand for it.

use std::collections::BTreeMap;

use neap_core::ids::{SessionId, TurnNo};
use neap_core::ingest::{Digest, Link};
use rusqlite::{Connection, params};

use super::effects::number;
use super::fault::Stop;
use super::schema;

/// Remembers what was heard; what was heard before stays where it was.
pub(super) fn put(db: &Connection, stream: i64, link: &Link) -> rusqlite::Result<()> {
    db.prepare_cached("INSERT OR IGNORE INTO links(digest, stream, turn) VALUES (?, ?, ?)")?.execute(params![
        link.digest.bytes(),
        stream,
        number(link.turn.0)
    ])?;
    Ok(())
}

/// The sessions in which each was heard, oldest first.
pub(super) fn linked(db: &Connection, digests: &[Digest]) -> Result<Vec<Vec<(SessionId, TurnNo)>>, Stop> {
    if !schema::has_links(db)? {
        return Ok(vec![Vec::new(); digests.len()]);
    }
    let mut statement = db.prepare_cached(
        "SELECT name, turn FROM links JOIN sessions USING (stream) WHERE digest = ? ORDER BY stream",
    )?;
    let mut all = Vec::with_capacity(digests.len());
    for digest in digests {
        let mut rows = statement.query([digest.bytes().as_slice()])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let name: String = row.get(0)?;
            found.extend(
                SessionId::stored(&name).ok().map(|id| (id, TurnNo(row.get::<_, i64>(1).unwrap_or(0) as u64))),
            );
        }
        all.push(found);
    }
    Ok(all)
}

/// All that was heard in a stream.
pub(super) fn kept(db: &Connection, stream: i64) -> rusqlite::Result<BTreeMap<Digest, TurnNo>> {
    let mut statement = db.prepare_cached("SELECT digest, turn FROM links WHERE stream = ?")?;
    let mut rows = statement.query([stream])?;
    let mut kept = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let bytes = row.get_ref(0)?.as_blob().unwrap_or_default();
        kept.extend(
            Digest::stored(bytes).map(|digest| (digest, TurnNo(row.get::<_, i64>(1).unwrap_or(0) as u64))),
        );
    }
    Ok(kept)
}
