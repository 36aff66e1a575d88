//! Whether a folder shows what its stream says. Changes nothing.

use std::path::Path;

use neap_core::ids::SessionId;

use super::cursor::Cursor;
use super::{named, view};
use crate::{Finding, Severity, Store, StoreError, files};

const FILE_BYTES_MAX: u64 = 8 << 30;

/// Which files of a session's folder under `root` are missing or differ from what a rebuild would write.
pub async fn compare(store: &dyn Store, root: &Path, session: &SessionId) -> Result<Vec<Finding>, StoreError> {
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
    if let Some(cursor) = Cursor::read(&dir)
        && cursor.leads_to(&state)
        && (cursor.seq < state.seq() || !cursor.appending.is_empty())
    {
        let behind = state.seq().0 - cursor.seq.0;
        let what = format!("the session folder is {behind} events behind; the next turn brings it up to date");
        return Ok(vec![finding(Severity::Note, what)]);
    }
    let mut findings = Vec::new();
    for (name, content) in view::contents(store, session, &state).await?.0 {
        let what = match files::read(&dir.join(&name), FILE_BYTES_MAX) {
            Ok(Some(found)) if found == content => continue,
            Ok(Some(_)) => format!("{name} in the session folder differs from the stream"),
            Ok(None) => format!("{name} is missing in the session folder"),
            Err(e) => format!("{name} in the session folder cannot be read: {e}"),
        };
        findings.push(finding(Severity::Repairable, what));
    }
    Ok(findings)
}
