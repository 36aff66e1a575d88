//! What was last asked for, in rows of sessions that an older version wrote without it.

use neap_core::event::Event;
use neap_core::knowledge::task_after;
use rusqlite::Connection;

use super::reader::Reader;
use super::{effects, read};
use crate::Stored;

/// Adds it to every row that has none. The rest of a row stays: a damaged stream says less than its row does.
pub(super) fn fill_in(db: &Connection) -> rusqlite::Result<()> {
    for (stream, id) in read::streams(db)? {
        let Some(mut head) = read::head(db, stream)?.filter(|head| head.task.is_none()) else { continue };
        if id.agent().is_some() {
            continue;
        }
        head.task = task(db, stream)?;
        if head.task.is_some() {
            let head =
                serde_json::to_string(&head).map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))?;
            effects::put_head(db, stream, &head, 0)?;
        }
    }
    Ok(())
}

/// What a stream says.
fn task(db: &Connection, stream: i64) -> rusqlite::Result<Option<String>> {
    let mut task = None;
    Reader::new(db, stream).for_each(|stored| {
        let Stored::Event(recorded) = stored else { return };
        if let Event::TurnStarted { message, .. } = &recorded.event {
            task = task_after(task.as_deref(), &message.message.content);
        } else if let Event::Scrubbed { .. } = &recorded.event {
            task = None;
        }
    })?;
    Ok(task)
}
