//! Links from digests of client histories to sessions.

use std::collections::BTreeMap;

use neap_core::base::digest::Digest;
use neap_core::base::ids::{SessionId, TurnNo};
use neap_core::client::HistoryLink;
use rusqlite::{Connection, params};

use super::db_error::DbError;
use super::derived_rows::to_sql;
use super::schema;

/// An existing link stays: the first turn that recorded a digest counts.
pub(super) fn put(db: &Connection, stream: i64, link: &HistoryLink) -> rusqlite::Result<()> {
    db.prepare_cached("INSERT OR IGNORE INTO links(digest, stream, turn) VALUES (?, ?, ?)")?.execute(params![
        link.digest.bytes(),
        stream,
        to_sql(link.turn.0)
    ])?;
    Ok(())
}

/// The sessions that recorded each digest, oldest first.
pub(super) fn sessions_by_digest(
    db: &Connection,
    digests: &[Digest],
) -> Result<Vec<Vec<(SessionId, TurnNo)>>, DbError> {
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
                SessionId::parse(&name).ok().map(|id| (id, TurnNo(row.get::<_, i64>(1).unwrap_or(0) as u64))),
            );
        }
        all.push(found);
    }
    Ok(all)
}

pub(super) fn stored_links(db: &Connection, stream: i64) -> rusqlite::Result<BTreeMap<Digest, TurnNo>> {
    let mut statement = db.prepare_cached("SELECT digest, turn FROM links WHERE stream = ?")?;
    let mut rows = statement.query([stream])?;
    let mut links = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let bytes = row.get_ref(0)?.as_blob().unwrap_or_default();
        links.extend(
            Digest::from_bytes(bytes).map(|digest| (digest, TurnNo(row.get::<_, i64>(1).unwrap_or(0) as u64))),
        );
    }
    Ok(links)
}
