//! `neap store doctor`: verifies the store and its session folders without changing any file, SQLite's included.

use std::path::Path;
use std::process::ExitCode;
use std::time::SystemTime;

use neap_core::base::ids::SessionId;
use neap_engine::verify_results;
use neap_model::envelope::Keyring;
use neap_postgres::PostgresStore;
use neap_sqlite::{FileMismatch, SqliteStore, find_mismatch, salvage};
use neap_store::{AgentInfo, Finding, Maintenance, SessionInfo, Severity, StoreError, folder};
use serde_json::{Value, json};

use super::install::{self, AgentStatus};
use crate::app;
use crate::cli::OptionalSessionArgs;
use crate::embedder::{self, ChosenEmbedder};
use crate::env::DataDir;
use crate::keys;
use crate::out::{self, BAD, BOLD, DIM, Failure, GOOD};

/// Attempts where other processes write meanwhile and a reading may mix two states.
const ATTEMPTS_MAX: usize = 3;

#[derive(Default)]
struct Examination {
    findings: Vec<Finding>,
    sessions: Vec<SessionInfo>,
    agents: Vec<AgentInfo>,
    hint: Option<&'static str>,
}

impl Examination {
    fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }
}

pub(crate) async fn run(data: &DataDir, args: &OptionalSessionArgs, json: bool) -> Result<ExitCode, Failure> {
    let only = args.session.as_deref().map(app::parse_session_id).transpose()?;
    let mut examined = examine_settled(data, only.as_ref()).await?;
    if only.is_none() {
        let found = super::hook::findings(data).into_iter();
        examined.findings.extend(found.map(|what| note(format!("hook: {what}"))));
    }
    let connections = if only.is_none() { install::agent_statuses(data) } else { Vec::new() };
    let connections: Vec<AgentStatus> = connections.into_iter().filter(AgentStatus::is_here).collect();
    for AgentStatus { name, problem, .. } in &connections {
        examined.findings.extend(problem.iter().map(|problem| note(format!("{name}: {problem}"))));
    }
    let embedder = embedder::from_env();
    let (embedder, problem) = embedder_status(&embedder).await;
    examined.findings.extend(problem.map(note));
    report(&examined, &connections, &embedder, json)
}

/// Examines again if somebody wrote meanwhile, or closed the store, which removes its log: then what was found, or that
/// it could not be read, may be wrong.
async fn examine_settled(data: &DataDir, only: Option<&SessionId>) -> Result<Examination, Failure> {
    if let Some(store) = data.database() {
        return examine_database(store, only).await;
    }
    let database = data.database_file();
    for _ in 1..ATTEMPTS_MAX {
        let before = file_versions(&database);
        let found = examine(data, only).await;
        let is_good = found.as_ref().is_ok_and(|found| matches!(found.worst(), None | Some(Severity::Note)));
        if is_good || file_versions(&database) == before {
            return found;
        }
    }
    examine(data, only).await
}

/// Changes whenever somebody writes.
fn file_versions(database: &Path) -> [Option<(u64, SystemTime)>; 2] {
    let version = |path: &Path| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.len(), metadata.modified().ok()?))
    };
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    [version(database), version(Path::new(&log))]
}

/// On one snapshot, so nobody's writing disturbs it. A database has no files or folders beside it.
async fn examine_database(store: &PostgresStore, only: Option<&SessionId>) -> Result<Examination, Failure> {
    let mut sessions = store.sessions().await?;
    if let Some(id) = only {
        sessions.retain(|info| info.session == *id);
        if sessions.is_empty() {
            return Err(neap_engine::EngineError::NoSession(id.clone().into()).into());
        }
    }
    let agents = if only.is_none() { store.agents().await? } else { Vec::new() };
    let findings = store.examine(only.map(|id| &**id)).await?;
    Ok(Examination { findings, sessions, agents, hint: None })
}

async fn examine(data: &DataDir, only: Option<&SessionId>) -> Result<Examination, Failure> {
    let (database, folders) = (data.database_file(), data.sessions_folder());
    if let Some(FileMismatch { why, .. }) = find_mismatch(&database, Some(&folders))? {
        let hint = StoreError::Lost { path: database, why: String::new() }.hint();
        return Ok(Examination { findings: vec![damaged(why)], hint: Some(hint), ..Examination::default() });
    }
    app::check_store(data)?;
    let store = match SqliteStore::open_to_examine(&database) {
        Err(error @ StoreError::Unreadable { .. }) => return examine_pages(&database, error),
        store => store?,
    };
    let mut examined =
        Examination { findings: store.examine(only.map(|id| &**id)).await?, ..Examination::default() };
    if examined.findings.iter().any(|finding| finding.what.starts_with("the database file is damaged")) {
        examined.hint = Some(SALVAGE_HINT);
    }
    let mut sessions = match store.sessions().await {
        // Reported already.
        Err(StoreError::Unreadable { .. }) => return Ok(examined),
        sessions => sessions?,
    };
    if let Some(id) = only {
        sessions.retain(|info| info.session == *id);
        if sessions.is_empty() {
            return Err(neap_engine::EngineError::NoSession(id.clone().into()).into());
        }
    }
    let keyring = match keys::load_existing(data) {
        Ok(Some(keyring)) => Ok(keyring),
        // Without a key of our own, results were sealed elsewhere.
        Ok(None) => Keyring::generate().map_err(|error| error.to_string()),
        Err(failure) => Err(failure.to_string()),
    };
    if let Err(why) = &keyring {
        examined.findings.push(note(format!("{why}: sealed tool results are not verified")));
    }
    for SessionInfo { session, .. } in &sessions {
        let result = session_findings(&store, &folders, session, keyring.as_ref().ok()).await;
        examined.findings.extend(match result {
            // Damage to one session must not hide the others.
            Err(error @ StoreError::Unreadable { .. }) => {
                vec![Finding { session: Some(session.clone().into()), ..damaged(error.to_string()) }]
            }
            result => result?,
        });
    }
    if only.is_none() {
        examined.findings.extend(folder::unknown_folders(&folders, &sessions)?);
        examined.agents = match store.agents().await {
            // Reported already.
            Err(StoreError::Unreadable { .. }) => Vec::new(),
            agents => agents?,
        };
    }
    examined.sessions = sessions;
    Ok(examined)
}

/// What a database that cannot be opened still has.
fn examine_pages(database: &Path, error: StoreError) -> Result<Examination, Failure> {
    // A file that is not our store has nothing to salvage.
    let survey = salvage::survey(database).ok().filter(|survey| !survey.streams.is_empty());
    let Some(survey) = survey else { return Err(error.into()) };
    let (sessions, events) = (survey.streams.len() as u64, survey.streams.iter().map(|(_, events)| events).sum());
    let (sessions, events) = (out::count(sessions, "session"), out::count(events, "event"));
    let what = format!("{sessions} with {events} can still be read from its pages");
    let findings = [vec![damaged(error.to_string()), damaged(what)], survey.findings].concat();
    Ok(Examination { findings, hint: Some(SALVAGE_HINT), ..Examination::default() })
}

fn damaged(what: String) -> Finding {
    Finding { severity: Severity::Damaged, session: None, what }
}

fn note(what: String) -> Finding {
    Finding { severity: Severity::Note, session: None, what }
}

const SALVAGE_HINT: &str =
    "`neap store rebuild` copies everything intact into a new store beside the file, and leaves the file alone";

async fn session_findings(
    store: &SqliteStore,
    folders: &Path,
    session: &SessionId,
    keyring: Option<&Keyring>,
) -> Result<Vec<Finding>, StoreError> {
    let mut findings = match keyring {
        Some(keyring) => verify_results(store, session, keyring).await?,
        None => Vec::new(),
    };
    findings.extend(folder::compare(store, folders, session).await?);
    Ok(findings)
}

fn report(
    examined: &Examination,
    connections: &[AgentStatus],
    embedder: &Value,
    json: bool,
) -> Result<ExitCode, Failure> {
    let Examination { findings, sessions, agents, hint } = examined;
    let code: u8 = match examined.worst() {
        None | Some(Severity::Note) => 0,
        Some(Severity::Repairable) => 1,
        Some(Severity::Damaged) => 2,
    };
    let events = sessions.iter().map(|info| info.events.0).chain(agents.iter().map(|info| info.events.0)).sum();
    if json {
        out::print_json(&json!({
            "clean": code == 0, "exit": code, "sessions": sessions.len(), "agents": agents.len(), "events": events, "embedder": embedder,
            "connections": connections, "findings": findings,
        }))?;
        return Ok(ExitCode::from(code));
    }
    for finding in findings {
        out::print_line(render(finding));
    }
    let named = |key: &str| embedder[key].as_str().unwrap_or_default().to_owned();
    let identity = Some(named("identity")).filter(|identity| !identity.is_empty());
    let identity =
        identity.map_or_else(String::new, |identity| format!(" {DIM}{}{DIM:#}", out::escape_control(&identity)));
    out::print_line(format!("embedder: {}{identity}", out::escape_control(&named("name"))));
    if !connections.is_empty() {
        out::print_line("agents:");
        connections.iter().for_each(|agent| out::print_line(format!("  {}", agent.line())));
    }
    let verdict = match code {
        0 => format!("{GOOD}clean{GOOD:#}"),
        1 => format!("{BOLD}repairable{BOLD:#}: run `neap store rebuild`"),
        _ => format!("{BAD}damaged{BAD:#}: the lines above name the damage; everything else is readable"),
    };
    let mut counts = vec![out::count(sessions.len() as u64, "session")];
    if !agents.is_empty() {
        counts.push(out::count(agents.len() as u64, "agent"));
    }
    counts.push(out::count(events, "event"));
    out::print_line(format!("{}: {verdict}", counts.join(", ")));
    if let Some(hint) = hint {
        out::print_line(format!("{DIM}hint:{DIM:#} {hint}"));
    }
    Ok(ExitCode::from(code))
}

/// The chosen embedder, and why it cannot be used, if so. Search then uses words only; the store itself is fine.
async fn embedder_status(chosen: &Result<Option<ChosenEmbedder>, Failure>) -> (Value, Option<String>) {
    let chosen = match chosen {
        Ok(Some(chosen)) => chosen,
        Ok(None) => return (json!({"name": "none"}), None),
        Err(failure) => return (json!({"name": "none"}), Some(failure.to_string())),
    };
    if chosen.is_built_in() {
        return (json!({"name": chosen.name, "identity": chosen.embedder.identity()}), None);
    }
    match chosen.probe().await {
        Ok(dimensions) => {
            let identity = chosen.embedder.identity();
            (json!({"name": chosen.name, "answers": true, "identity": identity, "dimensions": dimensions}), None)
        }
        Err(error) => {
            let problem = format!("the embedder does not answer, so search uses words alone: {error}");
            (json!({"name": chosen.name, "answers": false}), Some(problem))
        }
    }
}

pub(crate) fn render(finding: &Finding) -> String {
    let mark = match finding.severity {
        Severity::Note => format!("{DIM}note{DIM:#}"),
        Severity::Repairable => format!("{BOLD}differs{BOLD:#}"),
        Severity::Damaged => format!("{BAD}damaged{BAD:#}"),
    };
    let session = finding.session.as_ref().map_or_else(String::new, |id| format!(" {id}:"));
    format!("{mark}{session} {}", out::escape_control(&finding.what))
}
