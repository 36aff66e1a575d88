//! Whether a folder shows what its stream says. Changes nothing.

use std::path::Path;

use neap_core::ids::SessionId;

use super::cursor::Cursor;
use super::{named, view};
use crate::{Finding, Severity, Store, StoreError, files};

/// While others write, a folder may be ahead of what was read: it is looked at again so often.
const LOOKS_MAX: usize = 3;

/// Which files of a session's folder under `root` are missing or differ from what a rebuild would write, and what the folder says that the
/// store does not.
pub async fn compare(store: &dyn Store, root: &Path, session: &SessionId) -> Result<Vec<Finding>, StoreError> {
    for _ in 1..LOOKS_MAX {
        let seq = store.seq(session).await?;
        let found = look(store, root, session).await?;
        if found.is_empty() || store.seq(session).await? == seq {
            return Ok(found);
        }
    }
    look(store, root, session).await
}

async fn look(store: &dyn Store, root: &Path, session: &SessionId) -> Result<Vec<Finding>, StoreError> {
    let finding = |severity, what| Finding { severity, session: Some(session.clone()), what };
    let Some(state) = store.load(session).await? else { return Ok(Vec::new()) };
    let dir = root.join(session.as_str());
    files::refuse_link(&dir).map_err(|e| named(&dir, &e))?;
    if state.head().scrubbed {
        let left = files::is_dir(&dir);
        let what = || finding(Severity::Repairable, "the folder of an erased session is still there".to_owned());
        return Ok(left.then(what).into_iter().collect());
    }
    if !files::is_dir(&dir) {
        return Ok(vec![finding(Severity::Repairable, "the session folder is missing".to_owned())]);
    }
    let cursor = Cursor::read(&dir);
    let contents = view::contents(store, session, &state).await?;
    let more = contents.surplus(&dir, &state)?;
    if !more.is_empty() {
        let ahead = cursor.filter(|cursor| cursor.created == state.head().created && cursor.seq > state.seq());
        let ahead = ahead.map(|cursor| {
            format!("the session folder shows events up to {}, the store ends at {}", cursor.seq, state.seq())
        });
        let told = ahead.into_iter().chain(more.iter().map(|more| format!("in the session folder {more}")));
        return Ok(told.map(|what| finding(Severity::Damaged, what)).collect());
    }
    if let Some(cursor) = cursor
        && cursor.leads_to(&state)
        && (cursor.seq < state.seq() || !cursor.appending.is_empty())
    {
        let behind = state.seq().0 - cursor.seq.0;
        let what = format!("the session folder is {behind} events behind; the next turn brings it up to date");
        return Ok(vec![finding(Severity::Note, what)]);
    }
    let mut findings = Vec::new();
    for (name, content) in contents.files {
        // A longer file differs, whatever is in it.
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
