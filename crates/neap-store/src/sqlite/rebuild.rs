//! Makes a session's derived rows anew, in one transaction: nobody sees it half done.

use neap_core::ids::SessionId;
use rusqlite::{Connection, TransactionBehavior, params};

use super::fault::Stop;
use super::memories::PreparedMemory;
use super::{effects, events, examine, memories, read};
use crate::derived::Derived;
use crate::examine::losses;
use crate::{Finding, StoreError};

pub(super) fn rebuild(db: &mut Connection, session: &SessionId) -> Result<Vec<Finding>, Stop> {
    let all = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let Some(stream) = find(&all, session)? else { return Ok(Vec::new()) };
    let folded = read::fold(&all, stream)?;
    write(&all, stream, &folded.derived)?;
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
    effects::clear(db, stream)?;
    for (id, effort) in &derived.efforts {
        effects::put_effort(db, stream, id, &serde_json::to_string(effort).map_err(json)?)?;
    }
    for row in derived.exchanges.values() {
        effects::put_exchange(db, stream, row)?;
    }
    for (id, turn) in &derived.turn_ids {
        effects::put_turn_id(db, stream, id, *turn)?;
    }
    for kept in derived.memories.values() {
        PreparedMemory::new(&kept.memory, kept.due).map_err(json)?.put(db, stream)?;
    }
    for (id, places) in &derived.history {
        for seq in places {
            memories::put_event(db, stream, *id, effects::number(seq.0))?;
        }
    }
    let mut texts = 0;
    for (key, words) in &derived.texts {
        texts += i64::from(effects::put_text(db, stream, key, words)?);
    }
    effects::put_head(db, stream, &serde_json::to_string(&derived.head).map_err(json)?, texts)?;
    Ok(())
}
