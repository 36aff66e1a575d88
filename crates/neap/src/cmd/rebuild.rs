//! `neap store rebuild`: rebuilds derived tables and session folders from the event streams. Where that would lose
//! data, the existing files stay and the rebuilt ones are written beside them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use neap_core::base::ids::{AgentId, SessionId, Stamp};
use neap_engine::{Clock, SystemClock};
use neap_postgres::PostgresStore;
use neap_sqlite::{FileMismatch, SqliteStore, find_mismatch, salvage, set_aside};
use neap_store::folder::{self, FolderRebuild};
use neap_store::{Finding, Maintenance, Severity, StoreError};
use serde_json::json;

use super::doctor;
use crate::app;
use crate::cli::RebuildArgs;
use crate::database;
use crate::env::DataDir;
use crate::out::{self, Failure};

pub(crate) async fn run(data: &DataDir, args: &RebuildArgs, json: bool) -> Result<ExitCode, Failure> {
    let only = args.session.as_deref().map(app::parse_session_id).transpose()?;
    let now = SystemClock.now();
    if let Some(store) = data.database() {
        return rebuild_database(store, only.as_ref(), args.set_aside, json).await;
    }
    let (database, folders) = (data.database_file(), data.sessions_folder());
    let mut renamed = Vec::new();
    if args.set_aside {
        renamed = set_aside(&database, Some(&folders), now)?;
    }
    if !json {
        renamed.iter().for_each(|(old, new)| out::print_line(renamed_notice(old, new)));
    }
    match find_mismatch(&database, Some(&folders))? {
        Some(FileMismatch { can_be_salvaged: true, why, .. }) => {
            return salvage_store(data, &why, now, json).await;
        }
        Some(FileMismatch { why, .. }) => return Err(StoreError::Lost { path: database, why }.into()),
        // There may be nothing left to rebuild.
        None if !renamed.is_empty() && !database.exists() => {
            if json {
                out::print_json(&json!({"rebuilt": [], "agents": [], "renamed": renamed, "findings": []}))?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        None => app::check_store(data)?,
    }
    let store = match app::open_to_repair(data) {
        Err(error @ StoreError::Unreadable { .. }) => {
            return salvage_store(data, &error.to_string(), now, json).await;
        }
        store => store?,
    };
    if let Some(first) = store.examine_file().await?.first() {
        return salvage_store(data, &first.what, now, json).await;
    }
    rebuild(&store, &folders, only.as_ref(), renamed, (now, args.set_aside), json).await
}

/// A database has no files or folders beside it.
async fn rebuild_database(
    store: &PostgresStore,
    only: Option<&SessionId>,
    sets_aside: bool,
    json: bool,
) -> Result<ExitCode, Failure> {
    if sets_aside {
        return Err(database::not_here("--set-aside"));
    }
    let mut findings: Vec<Finding> = Vec::new();
    let mut rebuilt = Vec::new();
    for info in store.sessions().await?.into_iter().filter(|info| only.is_none_or(|id| *id == info.session)) {
        findings.extend(store.rebuild(&info.session).await?);
        rebuilt.push(info.session);
    }
    if let (Some(id), true) = (only, rebuilt.is_empty()) {
        return Err(neap_engine::EngineError::NoSession(id.clone().into()).into());
    }
    let agents = if only.is_none() { store.agents().await? } else { Vec::new() };
    for info in &agents {
        findings.extend(store.rebuild(&info.agent.stream()).await?);
    }
    let damaged = findings.iter().any(|finding| finding.severity == Severity::Damaged);
    if json {
        let agents: Vec<&AgentId> = agents.iter().map(|info| &info.agent).collect();
        out::print_json(&json!({"rebuilt": rebuilt, "agents": agents, "renamed": [], "findings": findings}))?;
    } else {
        rebuilt.iter().for_each(|id| out::print_line(format!("rebuilt {id}")));
        agents.iter().for_each(|info| out::print_line(format!("rebuilt the memories of {}", info.agent)));
        findings.iter().for_each(|finding| out::print_line(doctor::render(finding)));
    }
    Ok(ExitCode::from(if damaged { 2 } else { 0 }))
}

async fn rebuild(
    store: &SqliteStore,
    folders: &Path,
    only: Option<&SessionId>,
    mut renamed: Vec<(PathBuf, PathBuf)>,
    (now, sets_aside): (Stamp, bool),
    json: bool,
) -> Result<ExitCode, Failure> {
    let sessions = store.sessions().await?;
    let chosen: Vec<&SessionId> =
        sessions.iter().map(|info| &info.session).filter(|id| only.is_none_or(|o| o == *id)).collect();
    if let (Some(id), true) = (only, chosen.is_empty()) {
        return Err(neap_engine::EngineError::NoSession(id.clone().into()).into());
    }
    let mut findings: Vec<Finding> = Vec::new();
    for id in &chosen {
        findings.extend(store.rebuild(id).await?);
        let rebuilt = folder::rebuild(store, folders, id, now, sets_aside).await?;
        if let FolderRebuild::SetAside { kept, .. } = &rebuilt {
            renamed.push((folders.join(id.as_str()), kept.clone()));
        }
        findings.extend(folder_findings(id, folders, rebuilt));
        if !json {
            out::print_line(format!("rebuilt {id}"));
        }
    }
    let agents = if only.is_none() { store.agents().await? } else { Vec::new() };
    for info in &agents {
        findings.extend(store.rebuild(&info.agent.stream()).await?);
        if !json {
            out::print_line(format!("rebuilt the memories of {}", info.agent));
        }
    }
    if only.is_none() {
        let unknown = folder::unknown_folders(folders, &sessions)?;
        findings.extend(unknown.into_iter().filter(|finding| finding.severity == Severity::Damaged));
    }
    let damaged = findings.iter().any(|finding| finding.severity == Severity::Damaged);
    if json {
        let agents: Vec<&AgentId> = agents.iter().map(|info| &info.agent).collect();
        out::print_json(&json!({"rebuilt": chosen, "agents": agents, "renamed": renamed, "findings": findings}))?;
    } else {
        findings.iter().for_each(|finding| out::print_line(doctor::render(finding)));
    }
    Ok(ExitCode::from(if damaged { 2 } else { 0 }))
}

fn renamed_notice(old: &Path, new: &Path) -> String {
    format!("renamed {} to {}", old.display(), new.display())
}

fn folder_findings(id: &SessionId, folders: &Path, rebuilt: FolderRebuild) -> Vec<Finding> {
    let finding = |severity, what| Finding { severity, session: Some(id.clone().into()), what };
    let own = folders.join(id.as_str());
    let import = |path: &Path| format!("`neap session import {} --session {id}-2` imports it", path.display());
    match rebuilt {
        FolderRebuild::InPlace => Vec::new(),
        FolderRebuild::Beside { folder, surplus } => {
            let more =
                surplus.iter().map(|more| finding(Severity::Damaged, format!("in the session folder {more}")));
            let outcome = format!(
                "{} is unchanged, and the store's copy is in {}; {}",
                own.display(),
                folder.display(),
                import(&own)
            );
            more.chain([finding(Severity::Damaged, outcome)]).collect()
        }
        FolderRebuild::SetAside { kept, surplus } => {
            let more = surplus.iter().map(|more| finding(Severity::Note, format!("in the session folder {more}")));
            let outcome = format!("{}; {}", renamed_notice(&own, &kept), import(&kept));
            more.chain([finding(Severity::Note, outcome)]).collect()
        }
    }
}

/// Copies all intact events of a damaged store to a new data directory inside the old one, which is only read.
async fn salvage_store(data: &DataDir, reason: &str, now: Stamp, json: bool) -> Result<ExitCode, Failure> {
    let (database, folder) =
        (data.database_file(), unused_path(&data.database_file().with_file_name(salvage::folder_name(now))));
    if salvage::survey(&database)?.streams.is_empty() {
        return Err(
            Failure::new(reason).hint(StoreError::Unreadable { path: database, why: String::new() }.hint())
        );
    }
    let database_copy = folder.join("neap.db");
    let salvaged = salvage::salvage(&database, &database_copy)?;
    let store = SqliteStore::open(&database_copy)?;
    for (id, _) in salvaged.streams.iter().filter(|(id, _)| id.agent().is_none()) {
        folder::rewrite_folder(&store, &folder.join("sessions"), id).await?;
    }
    drop(store);
    let events: u64 = salvaged.streams.iter().map(|(_, events)| events).sum();
    if json {
        let streams: Vec<_> =
            salvaged.streams.iter().map(|(id, events)| json!({"session": id, "events": events})).collect();
        out::print_json(
            &json!({"rebuilt": [], "agents": [], "salvaged": folder, "streams": streams, "why": reason, "findings": salvaged.findings}),
        )?;
        return Ok(ExitCode::from(2));
    }
    out::print_line(format!("{}: {}", out::escape_control("damaged"), out::escape_control(reason)));
    salvaged.findings.iter().for_each(|finding| out::print_line(doctor::render(finding)));
    out::print_line(format!(
        "{} is unchanged; {} of {} are intact and now in {}",
        database.display(),
        out::count(events, "event"),
        out::count(salvaged.streams.len() as u64, "session"),
        folder.display()
    ));
    out::print_line(format!(
        "`neap --data-dir {} session list` lists them; to use them, move the old store's files away and the new \
         store's files into their place",
        folder.display()
    ));
    Ok(ExitCode::from(2))
}

fn unused_path(path: &Path) -> PathBuf {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let mut paths =
        std::iter::once(path.to_owned()).chain((2_u64..).map(|n| path.with_file_name(format!("{name}-{n}"))));
    paths.find(|path| !path.exists()).unwrap_or_else(|| path.to_owned())
}
