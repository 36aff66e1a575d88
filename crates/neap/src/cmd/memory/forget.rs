//! `neap memory forget`: erasure of one record, asked for by a person and confirmed by one. A model can only ask.

use std::process::ExitCode;

use neap_core::memory::{Change, Memory, MemoryId};
use neap_engine::Agent;
use serde_json::{Value, json};

use crate::app;
use crate::cli::ForgetArgs;
use crate::env::DataDir;
use crate::out::{self, BOLD, DIM, Failure};
use crate::told;

pub(super) async fn run(data: &DataDir, args: &ForgetArgs, json: bool) -> Result<ExitCode, Failure> {
    let mut agent = app::known_agent(data).await?;
    let Some(id) = args.id else { return asked(&agent, json).await };
    let memory = super::get(&agent, id).await?;
    let versions = agent.history(id).await?.len() as u64;
    let Some(confirm) = args.confirm else {
        if json {
            out::json_line(&json!({"id": id, "versions": versions, "memory": memory, "erased": false}))?;
        } else {
            out::piece(would_go(&memory, versions));
        }
        return Ok(ExitCode::SUCCESS);
    };
    if confirm != id {
        return Err(Failure::new(format!("--confirm names {confirm}, not {id}")).hint("nothing was erased"));
    }
    let events = agent.erase(id).await?;
    if json {
        out::json_line(&json!({"id": id, "events": events, "erased": true}))?;
    } else {
        out::line(format!("erased {id}: {}", out::count(events, "event")));
    }
    Ok(ExitCode::SUCCESS)
}

fn would_go(memory: &Memory, versions: u64) -> String {
    let id = memory.id;
    format!(
        "{BOLD}{id}{BOLD:#} {}\n\
         It has {}. Erasing it removes every word of them from the store; only the fact remains that a record was \
         there. It cannot be undone. Conversations in which the same was said keep it: `neap search` finds them, \
         `neap session delete-request` erases one.\n\
         {DIM}to see all of it:{DIM:#}  neap memory history {id}\n\
         {DIM}to erase it:{DIM:#}       neap memory forget {id} --confirm {id}\n",
        told::in_short(memory),
        out::count(versions, "version")
    )
}

/// What a model asked to have forgotten, and why.
async fn asked(agent: &Agent, json: bool) -> Result<ExitCode, Failure> {
    let records = super::all(agent).await?;
    let mut found: Vec<(Memory, String)> = Vec::new();
    for memory in records.into_iter().filter(|memory| memory.forget_asked) {
        let reason = reason(agent, memory.id).await?;
        found.push((memory, reason));
    }
    if json {
        let entry =
            |(memory, reason): &(Memory, String)| json!({"id": memory.id, "reason": reason, "memory": memory});
        out::json_line(&found.iter().map(entry).collect::<Vec<Value>>())?;
    } else if found.is_empty() {
        out::line(format!("{DIM}No model asked to have anything forgotten.{DIM:#}"));
    } else {
        let row = |(memory, reason): &(Memory, String)| {
            vec![format!("{BOLD}{}{BOLD:#}", memory.id), told::in_short(memory), out::shorten(reason, 60)]
        };
        out::piece(out::table(&["id", "what", "why"], &found.iter().map(row).collect::<Vec<_>>()));
        out::line(format!("{DIM}to erase one:{DIM:#} neap memory forget ID --confirm ID"));
    }
    Ok(ExitCode::SUCCESS)
}

async fn reason(agent: &Agent, id: MemoryId) -> Result<String, Failure> {
    let versions = agent.history(id).await?;
    let reasons = versions.into_iter().rev().filter_map(|version| {
        if let Change::ForgetAsked { reason } = version.change { Some(reason) } else { None }
    });
    Ok(reasons.into_iter().next().unwrap_or_default())
}
