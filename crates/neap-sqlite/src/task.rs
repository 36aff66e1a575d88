//! Adds the last task (what the user asked for) to session rows of older formats.

use neap_core::memory::knowledge::task_after;
use neap_core::session::event::{Event, SessionEvent, TurnEvent};
use rusqlite::Connection;

use super::reader::StreamReader;
use super::{derived_rows, read};
use neap_store::StoredEvent;
use neap_store::backend::prepared_commit::HeadRow;

/// The rest of a row stays: a damaged stream has less than its row does.
pub(super) fn backfill_tasks(db: &Connection) -> rusqlite::Result<()> {
    for (stream, id) in read::streams(db)? {
        let Some(mut head) = read::head(db, stream)?.filter(|head| head.task.is_none()) else { continue };
        if id.agent().is_some() {
            continue;
        }
        head.task = last_task(db, stream)?;
        if head.task.is_some() {
            let head = HeadRow::new(&head).map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))?;
            derived_rows::put_head(db, stream, &head, 0)?;
        }
    }
    Ok(())
}

fn last_task(db: &Connection, stream: i64) -> rusqlite::Result<Option<String>> {
    let mut task = None;
    StreamReader::new(db, stream).for_each(|stored| {
        let StoredEvent::Whole(recorded) = stored else { return };
        if let Event::Turn(TurnEvent::Started { message, .. }) = &recorded.event {
            task = task_after(task.as_deref(), &message.message.content);
        } else if let Event::Session(SessionEvent::Scrubbed { .. }) = &recorded.event {
            task = None;
        }
    })?;
    Ok(task)
}
