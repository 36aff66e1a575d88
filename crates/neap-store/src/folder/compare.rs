//! Compares a session folder with its stream, without changing either.

use std::path::Path;

use neap_core::base::ids::StreamId;

use super::cursor::Cursor;
use super::{folder_error, view_writer};
use crate::{Finding, Severity, Store, StoreError, files};

/// While others write, a folder may be ahead of the state that was read; so compare again this often.
const ATTEMPTS_MAX: usize = 3;

/// Reports files that are missing or differ from what a rebuild would write, and lines that the store lacks.
pub async fn compare(store: &dyn Store, root: &Path, session: &StreamId) -> Result<Vec<Finding>, StoreError> {
    for _ in 1..ATTEMPTS_MAX {
        let seq = store.last_seq(session).await?;
        let found = compare_once(store, root, session).await?;
        if found.is_empty() || store.last_seq(session).await? == seq {
            return Ok(found);
        }
    }
    compare_once(store, root, session).await
}

async fn compare_once(store: &dyn Store, root: &Path, session: &StreamId) -> Result<Vec<Finding>, StoreError> {
    let finding = |severity, what| Finding { severity, session: Some(session.clone()), what };
    let Some(state) = store.load(session).await? else { return Ok(Vec::new()) };
    let dir = root.join(session.as_str());
    files::refuse_link(&dir).map_err(|e| folder_error(&dir, &e))?;
    if state.head().scrubbed {
        let left = files::is_dir(&dir);
        let what = || finding(Severity::Repairable, "the folder of an erased session is still there".to_owned());
        return Ok(left.then(what).into_iter().collect());
    }
    if !files::is_dir(&dir) {
        return Ok(vec![finding(Severity::Repairable, "the session folder is missing".to_owned())]);
    }
    let cursor = Cursor::read(&dir);
    let contents = view_writer::build_contents(store, session, &state).await?;
    let surplus = contents.surplus(&dir, &state)?;
    if !surplus.is_empty() {
        let ahead = cursor.filter(|cursor| cursor.created == state.head().created && cursor.seq > state.seq());
        let ahead = ahead.map(|cursor| {
            format!("the session folder shows events up to {}, the store ends at {}", cursor.seq, state.seq())
        });
        let reasons = ahead.into_iter().chain(surplus.iter().map(|log| format!("in the session folder {log}")));
        return Ok(reasons.map(|what| finding(Severity::Damaged, what)).collect());
    }
    if let Some(cursor) = cursor
        && cursor.can_advance_to(&state)
        && (cursor.seq < state.seq() || !cursor.appending.is_empty())
    {
        let behind = state.seq().0 - cursor.seq.0;
        let what = format!("the session folder is {behind} events behind; the next turn brings it up to date");
        return Ok(vec![finding(Severity::Note, what)]);
    }
    let mut findings = Vec::new();
    for (name, content) in contents.files {
        let what = match files::read_start(&dir.join(&name), content.len() as u64 + 1) {
            Ok(Some(found)) if found == content => continue,
            Ok(Some(_)) => format!("{name} in the session folder differs from the stream"),
            Ok(None) => format!("{name} is missing in the session folder"),
            Err(e) => format!("{name} in the session folder cannot be read: {e}"),
        };
        findings.push(finding(Severity::Repairable, what));
    }
    Ok(findings)
}
