//! `neap doctor`: is everything as it was written? No file is made or changed, also none of SQLite's.

use std::path::Path;
use std::process::ExitCode;
use std::time::SystemTime;

use neap_core::ids::SessionId;
use neap_engine::verify_results;
use neap_model::envelope::Keyring;
use neap_store::sqlite::{Misfit, SqliteStore, misfit, salvage};
use neap_store::{AgentInfo, Finding, SessionInfo, Severity, Store, StoreError, folder};
use serde_json::{Value, json};

use crate::app;
use crate::cli::MaybeSession;
use crate::embedder::{self, Chosen};
use crate::env::DataDir;
use crate::keys;
use crate::out::{self, BAD, BOLD, DIM, Failure, GOOD};

/// While other processes write, what is read may be of two moments: then it is looked at again.
const LOOKS_MAX: usize = 3;

/// What an examination found.
#[derive(Default)]
struct Examined {
    findings: Vec<Finding>,
    sessions: Vec<SessionInfo>,
    agents: Vec<AgentInfo>,
    /// What to do, if the files themselves are damaged or do not fit.
    hint: Option<&'static str>,
}

impl Examined {
    fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }
}

pub(crate) async fn run(data: &DataDir, args: &MaybeSession, json: bool) -> Result<ExitCode, Failure> {
    let only = args.session.as_deref().map(app::session_id).transpose()?;
    let database = data.database();
    let mut examined = Examined::default();
    for _ in 0..LOOKS_MAX {
        let before = moment(&database);
        examined = examine(data, only.as_ref()).await?;
        if matches!(examined.worst(), None | Some(Severity::Note)) || moment(&database) == before {
            break;
        }
    }
    if only.is_none() {
        let of_hooks =
            |what: String| Finding { severity: Severity::Note, session: None, what: format!("hook: {what}") };
        examined.findings.extend(super::hook::findings(data).into_iter().map(of_hooks));
    }
    let embedder = embedder::choose();
    let (embedder, lack) = told_of(&embedder).await;
    examined.findings.extend(lack.map(|what| Finding { severity: Severity::Note, session: None, what }));
    report(&examined, &embedder, json)
}

/// What changes when somebody writes.
fn moment(database: &Path) -> [Option<(u64, SystemTime)>; 2] {
    let of = |path: &Path| {
        let found = std::fs::metadata(path).ok()?;
        Some((found.len(), found.modified().ok()?))
    };
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    [of(database), of(Path::new(&log))]
}

async fn examine(data: &DataDir, only: Option<&SessionId>) -> Result<Examined, Failure> {
    let (database, folders) = (data.database(), data.sessions());
    let damaged = |what: String| Finding { severity: Severity::Damaged, session: None, what };
    if let Some(Misfit { why, .. }) = misfit(&database, Some(&folders))? {
        let hint = StoreError::Lost { path: database, why: String::new() }.hint();
        return Ok(Examined { findings: vec![damaged(why)], hint: Some(hint), ..Examined::default() });
    }
    app::check_store(data)?;
    let store = match SqliteStore::open_to_examine(&database) {
        Err(error @ StoreError::Unreadable { .. }) => {
            // What is no store of ours has nothing to be salvaged, and is left alone.
            let Ok(found) = salvage::survey(&database) else { return Err(error.into()) };
            if found.streams.is_empty() {
                return Err(error.into());
            }
            let events: u64 = found.streams.iter().map(|(_, events)| events).sum();
            let what = format!(
                "{} with {} can still be read from its pages",
                out::count(found.streams.len() as u64, "session"),
                out::count(events, "event")
            );
            let findings = [vec![damaged(error.to_string()), damaged(what)], found.findings].concat();
            return Ok(Examined { findings, hint: Some(SALVAGE), ..Examined::default() });
        }
        store => store?,
    };
    let mut examined = Examined { findings: store.examine(only).await?, ..Examined::default() };
    if examined.findings.iter().any(|finding| finding.what.starts_with("the database file is damaged")) {
        examined.hint = Some(SALVAGE);
    }
    let sessions = match store.sessions().await {
        // Said already.
        Err(StoreError::Unreadable { .. }) => return Ok(examined),
        sessions => sessions?,
    };
    if let Some(id) = only
        && !sessions.iter().any(|info| info.session == *id)
    {
        return Err(neap_engine::EngineError::NoSession(id.clone()).into());
    }
    let keyring = match keys::existing(data) {
        Ok(Some(keyring)) => Ok(keyring),
        // Without a key of our own, what is sealed was sealed elsewhere.
        Ok(None) => Keyring::generate().map_err(|error| error.to_string()),
        Err(failure) => Err(failure.to_string()),
    };
    if let Err(why) = &keyring {
        let what = format!("{why}: sealed tool results are not verified");
        examined.findings.push(Finding { severity: Severity::Note, session: None, what });
    }
    for info in sessions.iter().filter(|info| only.is_none_or(|id| info.session == *id)) {
        let session = &info.session;
        let found = of_session(&store, &folders, session, keyring.as_ref().ok()).await;
        examined.findings.extend(match found {
            // Damage to one session is no reason to say nothing of the others.
            Err(error @ StoreError::Unreadable { .. }) => {
                let what = error.to_string();
                vec![Finding { severity: Severity::Damaged, session: Some(session.clone()), what }]
            }
            found => found?,
        });
    }
    if only.is_none() {
        examined.findings.extend(folder::unknown_folders(&folders, &sessions)?);
        examined.agents = match store.agents().await {
            // Said already.
            Err(StoreError::Unreadable { .. }) => Vec::new(),
            agents => agents?,
        };
    }
    examined.sessions = sessions.into_iter().filter(|info| only.is_none_or(|id| info.session == *id)).collect();
    Ok(examined)
}

const SALVAGE: &str =
    "the file is left as it is; `neap rebuild` writes all that is whole in it into a new store beside it";

async fn of_session(
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

fn report(examined: &Examined, embedder: &Value, json: bool) -> Result<ExitCode, Failure> {
    let Examined { findings, sessions, agents, hint } = examined;
    let code: u8 = match examined.worst() {
        None | Some(Severity::Note) => 0,
        Some(Severity::Repairable) => 1,
        Some(Severity::Damaged) => 2,
    };
    let events = sessions.iter().map(|info| info.events.0).chain(agents.iter().map(|info| info.events.0)).sum();
    if json {
        out::json_line(&json!({
            "clean": code == 0, "exit": code, "sessions": sessions.len(), "agents": agents.len(), "events": events, "embedder": embedder, "findings": findings,
        }))?;
        return Ok(ExitCode::from(code));
    }
    for finding in findings {
        out::line(render(finding));
    }
    let named = |key: &str| embedder[key].as_str().unwrap_or_default().to_owned();
    let identity = Some(named("identity")).filter(|identity| !identity.is_empty());
    let identity = identity.map_or_else(String::new, |identity| format!(" {DIM}{}{DIM:#}", out::clean(&identity)));
    out::line(format!("embedder: {}{identity}", out::clean(&named("name"))));
    let verdict = match code {
        0 => format!("{GOOD}clean{GOOD:#}"),
        1 => format!("{BOLD}repairable{BOLD:#}: run `neap rebuild`"),
        _ => format!("{BAD}damaged{BAD:#}: what is damaged is named above; everything else is readable"),
    };
    let mut counts = vec![out::count(sessions.len() as u64, "session")];
    if !agents.is_empty() {
        counts.push(out::count(agents.len() as u64, "agent"));
    }
    counts.push(out::count(events, "event"));
    out::line(format!("{}: {verdict}", counts.join(", ")));
    if let Some(hint) = hint {
        out::line(format!("{DIM}hint:{DIM:#} {hint}"));
    }
    Ok(ExitCode::from(code))
}

/// The embedder that is chosen, and why it is of no use, if so: then search goes by words alone, which is no fault of the store.
async fn told_of(chosen: &Result<Option<Chosen>, Failure>) -> (Value, Option<String>) {
    let chosen = match chosen {
        Ok(Some(chosen)) => chosen,
        Ok(None) => return (json!({"name": "none"}), None),
        Err(failure) => return (json!({"name": "none"}), Some(failure.to_string())),
    };
    if chosen.is_built_in() {
        return (json!({"name": chosen.name, "identity": chosen.embedder.identity()}), None);
    }
    match chosen.answers().await {
        Ok(dimensions) => {
            let identity = chosen.embedder.identity();
            (json!({"name": chosen.name, "answers": true, "identity": identity, "dimensions": dimensions}), None)
        }
        Err(error) => {
            let lack = format!("the embedder does not answer, search goes by words alone: {error}");
            (json!({"name": chosen.name, "answers": false}), Some(lack))
        }
    }
}

/// A finding for people.
pub(crate) fn render(finding: &Finding) -> String {
    let mark = match finding.severity {
        Severity::Note => format!("{DIM}note{DIM:#}"),
        Severity::Repairable => format!("{BOLD}differs{BOLD:#}"),
        Severity::Damaged => format!("{BAD}damaged{BAD:#}"),
    };
    let session = finding.session.as_ref().map_or_else(String::new, |id| format!(" {id}:"));
    format!("{mark}{session} {}", out::clean(&finding.what))
}
