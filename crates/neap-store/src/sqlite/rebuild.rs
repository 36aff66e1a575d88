//! Makes a session's derived rows anew, in one transaction: nobody sees it half done.

use neap_core::ids::SessionId;
use neap_core::ingest::Link;
use rusqlite::{Connection, TransactionBehavior, params};

use super::cards::{self, Tally};
use super::fault::Stop;
use super::memories::PreparedMemory;
use super::{effects, events, examine, links, memories, progress, read, vectors};
use crate::card::Indexed;
use crate::derived::Derived;
use crate::examine::losses;
use crate::{Finding, StoreError};

pub(super) fn rebuild(db: &mut Connection, session: &SessionId) -> Result<Vec<Finding>, Stop> {
    let all = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let Some(stream) = find(&all, session)? else { return Ok(Vec::new()) };
    let folded = read::fold(&all, stream)?;
    write(&all, stream, &folded.derived)?;
    if let Some(said) = folded.derived.head.session.as_ref().filter(|said| *said != session) {
        // The event has a checksum, the row has none. Where another session has the name, it stays as it is.
        all.execute("UPDATE OR IGNORE sessions SET name = ? WHERE stream = ?", params![said.as_str(), stream])?;
    }
    progress::advance(&all, 0, None)?;
    all.commit()?;
    Ok(losses(session, &folded))
}

/// A session's stream; one that fell off the list is put back on it.
fn find(db: &Connection, session: &SessionId) -> rusqlite::Result<Option<i64>> {
    if let Some(stream) = events::stream(db, session.as_str())? {
        return Ok(Some(stream));
    }
    for stream in examine::stray_streams(db)? {
        if examine::name(db, stream)?.as_ref() == Some(session) {
            db.execute(
                "INSERT INTO sessions(stream, name, texts, head) VALUES (?, ?, 0, '')",
                params![stream, session.as_str()],
            )?;
            return Ok(Some(stream));
        }
    }
    Ok(None)
}

/// Puts these rows in place of those that are there.
pub(super) fn write(db: &Connection, stream: i64, derived: &Derived) -> Result<(), Stop> {
    let json = |e: serde_json::Error| StoreError::Failed(e.to_string());
    let scope = cards::scope(db, stream)?;
    let mut tally = Tally::default();
    effects::clear(db, &mut tally, stream, scope)?;
    let mut efforts: Vec<_> = derived.efforts.iter().collect();
    efforts.sort_by_key(|(id, _)| derived.opened.get(*id).copied().unwrap_or(u64::MAX));
    for (id, effort) in efforts {
        effects::put_effort(db, stream, id, &serde_json::to_string(effort).map_err(json)?)?;
    }
    for row in derived.exchanges.values() {
        effects::put_exchange(db, stream, row)?;
    }
    for (id, turn) in &derived.turn_ids {
        effects::put_turn_id(db, stream, id, *turn)?;
    }
    for (digest, turn) in &derived.links {
        links::put(db, stream, &Link { digest: *digest, turn: *turn })?;
    }
    for kept in derived.memories.values() {
        PreparedMemory::new(&kept.memory, kept.due).map_err(json)?.put(db, &mut tally, stream)?;
    }
    for (id, places) in &derived.history {
        for seq in places {
            memories::put_event(db, stream, *id, effects::number(seq.0))?;
        }
    }
    for turn in &derived.withheld {
        effects::put_withheld(db, stream, *turn)?;
    }
    for turn in &derived.taken_back {
        effects::take_back(db, stream, *turn)?;
    }
    let texts = put_texts(db, &mut tally, stream, scope, derived)?;
    effects::put_head(db, stream, &serde_json::to_string(&derived.head).map_err(json)?, texts)?;
    tally.write(db)?;
    cards::mend(db)?;
    vectors::settle_all(db, scope, stream)?;
    vectors::mend(db)?;
    Ok(())
}

/// Puts all texts in the index. Returns how many.
fn put_texts(
    db: &Connection,
    tally: &mut Tally,
    stream: i64,
    scope: i64,
    derived: &Derived,
) -> rusqlite::Result<i64> {
    let mut texts = 0;
    for (key, row) in &derived.cards {
        let words = derived.texts.get(key).cloned().unwrap_or_default();
        let indexed = Indexed { key: key.clone(), words, row: row.clone() };
        texts += i64::from(effects::put_text(db, tally, stream, scope, &indexed)?.1);
    }
    Ok(texts)
}

/// Makes the word index, cards and what is withheld anew for every stream; all else that is derived stays: a damaged stream says
/// less than its rows do.
pub(super) fn index_all(db: &Connection) -> rusqlite::Result<()> {
    let mut tally = Tally::default();
    for (stream, _) in read::streams(db)? {
        let (scope, derived) = (cards::scope(db, stream)?, read::fold(db, stream)?.derived);
        effects::clear_texts(db, &mut tally, stream, scope)?;
        let texts = put_texts(db, &mut tally, stream, scope, &derived)?;
        db.execute("UPDATE sessions SET texts = ? WHERE stream = ?", [texts, stream])?;
        for turn in &derived.withheld {
            effects::put_withheld(db, stream, *turn)?;
        }
        vectors::settle_all(db, scope, stream)?;
    }
    tally.write(db)
}
