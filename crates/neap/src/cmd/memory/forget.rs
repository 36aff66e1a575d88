//! `neap memory forget`: erases one memory after a person's confirmation. A model can only ask for it.

use std::process::ExitCode;

use neap_core::memory::{Change, Memory, MemoryId};
use neap_engine::Agent;
use serde_json::{Value, json};

use crate::app;
use crate::cli::ForgetArgs;
use crate::env::DataDir;
use crate::memory_output;
use crate::out::{self, BOLD, DIM, Failure};

pub(super) async fn run(data: &DataDir, args: &ForgetArgs, json: bool) -> Result<ExitCode, Failure> {
    let mut agent = app::existing_agent(data).await?;
    let Some(id) = args.id else { return list_requested(&agent, json).await };
    let memory = super::get_existing(&agent, id).await?;
    let versions = agent.history(id).await?.len() as u64;
    let Some(confirm) = args.confirm else {
        if json {
            out::print_json(&json!({"id": id, "versions": versions, "memory": memory, "erased": false}))?;
        } else {
            out::print_text(preview_text(&memory, versions));
        }
        return Ok(ExitCode::SUCCESS);
    };
    if confirm != id {
        return Err(Failure::new(format!("--confirm names {confirm}, not {id}")).hint("nothing was erased"));
    }
    let events = agent.erase(id).await?;
    if json {
        out::print_json(&json!({"id": id, "events": events, "erased": true}))?;
    } else {
        out::print_line(format!("erased {id}: {}", out::count(events, "event")));
    }
    Ok(ExitCode::SUCCESS)
}

fn preview_text(memory: &Memory, versions: u64) -> String {
    let id = memory.id;
    format!(
        "{BOLD}{id}{BOLD:#} {}\n\
         It has {}. Erasing removes all their text from the store and leaves only a note that a memory was \
         there. This cannot be undone. Conversations that contain the same text keep it: `neap search` finds \
         them, `neap session erase` erases one.\n\
         {DIM}to see all of it:{DIM:#}  neap memory history {id}\n\
         {DIM}to erase it:{DIM:#}       neap memory forget {id} --confirm {id}\n",
        memory_output::memory_line(memory),
        out::count(versions, "version")
    )
}

async fn list_requested(agent: &Agent, json: bool) -> Result<ExitCode, Failure> {
    let records = super::all_records(agent).await?;
    let mut requested: Vec<(Memory, String)> = Vec::new();
    for memory in records.into_iter().filter(|memory| memory.forget_asked) {
        let reason = request_reason(agent, memory.id).await?;
        requested.push((memory, reason));
    }
    if json {
        let entry =
            |(memory, reason): &(Memory, String)| json!({"id": memory.id, "reason": reason, "memory": memory});
        out::print_json(&requested.iter().map(entry).collect::<Vec<Value>>())?;
    } else if requested.is_empty() {
        out::print_line(format!("{DIM}No model has asked to forget a memory.{DIM:#}"));
    } else {
        let row = |(memory, reason): &(Memory, String)| {
            vec![
                format!("{BOLD}{}{BOLD:#}", memory.id),
                memory_output::memory_line(memory),
                out::shorten(reason, 60),
            ]
        };
        out::print_text(out::table(&["id", "what", "why"], &requested.iter().map(row).collect::<Vec<_>>()));
        out::print_line(format!("{DIM}to erase one:{DIM:#} neap memory forget ID --confirm ID"));
    }
    Ok(ExitCode::SUCCESS)
}

async fn request_reason(agent: &Agent, id: MemoryId) -> Result<String, Failure> {
    let versions = agent.history(id).await?;
    let reasons = versions.into_iter().rev().filter_map(|version| {
        if let Change::ForgetAsked { reason } = version.change { Some(reason) } else { None }
    });
    Ok(reasons.into_iter().next().unwrap_or_default())
}
