//! `neap doctor`: is everything as it was written? Changes nothing.

use std::process::ExitCode;

use neap_engine::verify_results;
use neap_model::envelope::Keyring;
use neap_store::folder;
use neap_store::{Finding, Severity};
use serde_json::{Value, json};

use crate::app;
use crate::cli::MaybeSession;
use crate::embedder::{self, Chosen};
use crate::env::DataDir;
use crate::keys;
use crate::out::{self, BAD, BOLD, DIM, Failure, GOOD};

pub(crate) async fn run(data: &DataDir, args: &MaybeSession, json: bool) -> Result<ExitCode, Failure> {
    let only = args.session.as_deref().map(app::session_id).transpose()?;
    let store = app::open_existing(data)?;
    let mut findings = store.examine(only.as_ref()).await?;
    let sessions = store.sessions().await?;
    if let Some(id) = &only
        && !sessions.iter().any(|info| info.session == *id)
    {
        return Err(neap_engine::EngineError::NoSession(id.clone()).into());
    }
    let examined: Vec<_> =
        sessions.iter().filter(|info| only.as_ref().is_none_or(|id| info.session == *id)).collect();
    let keyring = match keys::existing(data) {
        Ok(Some(keyring)) => Ok(keyring),
        // Without a key of our own, what is sealed was sealed elsewhere.
        Ok(None) => Keyring::generate().map_err(|error| error.to_string()),
        Err(failure) => Err(failure.to_string()),
    };
    if let Err(why) = &keyring {
        let what = format!("{why}: sealed tool results are not verified");
        findings.push(Finding { severity: Severity::Note, session: None, what });
    }
    for info in &examined {
        if let Ok(keyring) = &keyring {
            findings.extend(verify_results(store.as_ref(), &info.session, keyring).await?);
        }
        findings.extend(folder::compare(store.as_ref(), &data.sessions(), &info.session).await?);
    }
    if only.is_none() {
        let of_hooks =
            |what: String| Finding { severity: Severity::Note, session: None, what: format!("hook: {what}") };
        findings.extend(super::hook::findings(data).into_iter().map(of_hooks));
    }
    let embedder = embedder::choose();
    let (embedder, lack) = told_of(&embedder).await;
    findings.extend(lack.map(|what| Finding { severity: Severity::Note, session: None, what }));
    let worst = findings.iter().map(|finding| finding.severity).max();
    let code: u8 = match worst {
        None | Some(Severity::Note) => 0,
        Some(Severity::Repairable) => 1,
        Some(Severity::Damaged) => 2,
    };
    let agents = if only.is_none() { store.agents().await? } else { Vec::new() };
    let events = examined.iter().map(|info| info.events.0).chain(agents.iter().map(|info| info.events.0)).sum();
    if json {
        out::json_line(&json!({
            "clean": code == 0, "exit": code, "sessions": examined.len(), "agents": agents.len(), "events": events, "embedder": embedder, "findings": findings,
        }))?;
        return Ok(ExitCode::from(code));
    }
    for finding in &findings {
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
    let mut counts = vec![out::count(examined.len() as u64, "session")];
    if !agents.is_empty() {
        counts.push(out::count(agents.len() as u64, "agent"));
    }
    counts.push(out::count(events, "event"));
    out::line(format!("{}: {verdict}", counts.join(", ")));
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
