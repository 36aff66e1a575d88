//! `neap rebuild`: derived tables and session folders, made anew from the streams. Where that would lose something, what is there
//! stays as it is and what can be made is written beside it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use neap_core::ids::{AgentId, SessionId, Stamp};
use neap_engine::{Clock, SystemClock};
use neap_store::folder::{self, Rebuilt};
use neap_store::sqlite::{self, Misfit, salvage};
use neap_store::{AgentInfo, Finding, Severity, SqliteStore, Store, StoreError};
use serde_json::json;

use super::doctor;
use crate::app;
use crate::cli::RebuildArgs;
use crate::env::DataDir;
use crate::out::{self, Failure};

pub(crate) async fn run(data: &DataDir, args: &RebuildArgs, json: bool) -> Result<ExitCode, Failure> {
    let only = args.session.as_deref().map(app::session_id).transpose()?;
    let now = SystemClock.now();
    let (database, folders) = (data.database(), data.sessions());
    let mut renamed = Vec::new();
    if args.set_aside {
        renamed = sqlite::set_aside(&database, Some(&folders), now)?;
    }
    if !json {
        renamed.iter().for_each(|(old, new)| out::line(told_renamed(old, new)));
    }
    match sqlite::misfit(&database, Some(&folders))? {
        Some(Misfit { can_be_salvaged: true, why, .. }) => return salvaged(data, &why, now, json).await,
        Some(Misfit { why, .. }) => return Err(StoreError::Lost { path: database, why }.into()),
        // There may be nothing left that could be rebuilt.
        None if !renamed.is_empty() && !database.exists() => {
            if json {
                out::json_line(&json!({"rebuilt": [], "agents": [], "renamed": renamed, "findings": []}))?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        None => app::check_store(data)?,
    }
    let store = match app::open_to_repair(data) {
        Err(error @ StoreError::Unreadable { .. }) => return salvaged(data, &error.to_string(), now, json).await,
        store => store?,
    };
    if let Some(first) = store.examine_file().await?.first() {
        return salvaged(data, &first.what, now, json).await;
    }
    let sessions = store.sessions().await?;
    let chosen: Vec<&SessionId> =
        sessions.iter().map(|info| &info.session).filter(|id| only.as_ref().is_none_or(|o| o == *id)).collect();
    if let (Some(id), true) = (&only, chosen.is_empty()) {
        return Err(neap_engine::EngineError::NoSession(id.clone()).into());
    }
    let mut findings: Vec<Finding> = Vec::new();
    for id in &chosen {
        findings.extend(store.rebuild(id).await?);
        let rebuilt = folder::rebuild(&store, &folders, id, now, args.set_aside).await?;
        if let Rebuilt::SetAside { kept, .. } = &rebuilt {
            renamed.push((folders.join(id.as_str()), kept.clone()));
        }
        findings.extend(told(id, &folders, rebuilt));
        if !json {
            out::line(format!("rebuilt {id}"));
        }
    }
    let agents = if only.is_none() { store.agents().await? } else { Vec::new() };
    for info in &agents {
        findings.extend(store.rebuild(&info.agent.stream()).await?);
        if !json {
            out::line(format!("rebuilt what {} knows", info.agent));
        }
    }
    if only.is_none() {
        let unknown = folder::unknown_folders(&folders, &sessions)?;
        findings.extend(unknown.into_iter().filter(|finding| finding.severity == Severity::Damaged));
    }
    let damaged = findings.iter().any(|finding| finding.severity == Severity::Damaged);
    if json {
        let names = names(&agents);
        out::json_line(&json!({"rebuilt": chosen, "agents": names, "renamed": renamed, "findings": findings}))?;
    } else {
        findings.iter().for_each(|finding| out::line(doctor::render(finding)));
    }
    Ok(ExitCode::from(if damaged { 2 } else { 0 }))
}

fn told_renamed(old: &Path, new: &Path) -> String {
    format!("kept {} as {}", old.display(), new.display())
}

/// What became of a folder that says more than the store.
fn told(id: &SessionId, folders: &Path, rebuilt: Rebuilt) -> Vec<Finding> {
    let finding = |severity, what| Finding { severity, session: Some(id.clone()), what };
    let own = folders.join(id.as_str());
    let import = |path: &Path| format!("`neap session import {} --session {id}-2` takes it in", path.display());
    match rebuilt {
        Rebuilt::InPlace => Vec::new(),
        Rebuilt::Beside { folder, surplus } => {
            let more =
                surplus.iter().map(|more| finding(Severity::Damaged, format!("in the session folder {more}")));
            let left = format!(
                "{} is left as it is, and what the store has is in {}; {}",
                own.display(),
                folder.display(),
                import(&own)
            );
            more.chain([finding(Severity::Damaged, left)]).collect()
        }
        Rebuilt::SetAside { kept, surplus } => {
            let more = surplus.iter().map(|more| finding(Severity::Note, format!("in the session folder {more}")));
            let left = format!("{}; {}", told_renamed(&own, &kept), import(&kept));
            more.chain([finding(Severity::Note, left)]).collect()
        }
    }
}

/// Writes all that is whole in a damaged store into a new data directory inside the old one, which is only read.
async fn salvaged(data: &DataDir, why: &str, now: Stamp, json: bool) -> Result<ExitCode, Failure> {
    let (database, place) = (data.database(), free(&data.database().with_file_name(salvage::folder_name(now))));
    if salvage::survey(&database)?.streams.is_empty() {
        return Err(Failure::new(why).hint(StoreError::Unreadable { path: database, why: String::new() }.hint()));
    }
    let into = place.join("neap.db");
    let found = salvage::salvage(&database, &into)?;
    let store = SqliteStore::open(&into)?;
    for (id, _) in found.streams.iter().filter(|(id, _)| id.agent().is_none()) {
        folder::write_all(&store, &place.join("sessions"), id).await?;
    }
    drop(store);
    let events: u64 = found.streams.iter().map(|(_, events)| events).sum();
    if json {
        let streams: Vec<_> =
            found.streams.iter().map(|(id, events)| json!({"session": id, "events": events})).collect();
        out::json_line(
            &json!({"rebuilt": [], "agents": [], "salvaged": place, "streams": streams, "why": why, "findings": found.findings}),
        )?;
        return Ok(ExitCode::from(2));
    }
    out::line(format!("{}: {}", out::clean("damaged"), out::clean(why)));
    found.findings.iter().for_each(|finding| out::line(doctor::render(finding)));
    out::line(format!(
        "{} is left as it is; {} of {} are whole and now in {}",
        database.display(),
        out::count(events, "event"),
        out::count(found.streams.len() as u64, "session"),
        place.display()
    ));
    out::line(format!(
        "look at them with `neap --data-dir {} session list`; to go on with them, move the files of the old store away and those of the new one into their place",
        place.display()
    ));
    Ok(ExitCode::from(2))
}

/// A path that nothing has yet.
fn free(path: &Path) -> PathBuf {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let mut paths =
        std::iter::once(path.to_owned()).chain((2_u64..).map(|n| path.with_file_name(format!("{name}-{n}"))));
    paths.find(|path| !path.exists()).unwrap_or_else(|| path.to_owned())
}

fn names(agents: &[AgentInfo]) -> Vec<&AgentId> {
    agents.iter().map(|info| &info.agent).collect()
}
