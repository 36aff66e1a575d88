//! `neap rebuild`: derived tables and session folders, made anew from the streams.

use std::process::ExitCode;

use neap_core::ids::AgentId;
use neap_store::{AgentInfo, Finding, Severity, folder};
use serde_json::json;

use super::doctor;
use crate::app;
use crate::cli::MaybeSession;
use crate::env::DataDir;
use crate::out::{self, Failure};

pub(crate) async fn run(data: &DataDir, args: &MaybeSession, json: bool) -> Result<ExitCode, Failure> {
    let only = args.session.as_deref().map(app::session_id).transpose()?;
    let store = app::open_existing(data)?;
    let sessions = store.sessions().await?;
    let chosen: Vec<_> =
        sessions.iter().map(|info| &info.session).filter(|id| only.as_ref().is_none_or(|o| o == *id)).collect();
    if let (Some(id), true) = (&only, chosen.is_empty()) {
        return Err(neap_engine::EngineError::NoSession(id.clone()).into());
    }
    let mut findings: Vec<Finding> = Vec::new();
    for id in &chosen {
        findings.extend(store.rebuild(id).await?);
        folder::write_all(store.as_ref(), &data.sessions(), id).await?;
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
    let damaged = findings.iter().any(|finding| finding.severity == Severity::Damaged);
    if json {
        out::json_line(&json!({"rebuilt": chosen, "agents": names(&agents), "findings": findings}))?;
    } else {
        for finding in &findings {
            out::line(doctor::render(finding));
        }
    }
    Ok(ExitCode::from(if damaged { 2 } else { 0 }))
}

fn names(agents: &[AgentInfo]) -> Vec<&AgentId> {
    agents.iter().map(|info| &info.agent).collect()
}
