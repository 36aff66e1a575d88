//! `neap memory forget`: erases one memory after a person's confirmation. A model can only ask for it.

use std::process::ExitCode;

use neap_core::memory::Memory;
use neap_engine::Agent;
use neap_engine::forms::{MemoryErasure, forget_reason};
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
        let preview = MemoryErasure { id, versions, memory, erased: false };
        return out::print_answer(json, &preview, || preview_text(&preview.memory, versions));
    };
    if confirm != id {
        return Err(Failure::new(format!("--confirm names {confirm}, not {id}")).hint("nothing was erased"));
    }
    let events = agent.erase(id).await?;
    out::print_answer(json, &json!({"id": id, "events": events, "erased": true}), || {
        format!("erased {id}: {}\n", out::count(events, "event"))
    })
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
        let reason = forget_reason(&agent.history(memory.id).await?);
        requested.push((memory, reason));
    }
    let entry = |(memory, reason): &(Memory, String)| json!({"id": memory.id, "reason": reason, "memory": memory});
    out::print_answer(json, &requested.iter().map(entry).collect::<Vec<Value>>(), || {
        if requested.is_empty() {
            return format!("{DIM}No model has asked to forget a memory.{DIM:#}\n");
        }
        let row = |(memory, reason): &(Memory, String)| {
            let id = format!("{BOLD}{}{BOLD:#}", memory.id);
            vec![id, memory_output::memory_line(memory), out::shorten(reason, 60)]
        };
        let table = out::table(&["id", "what", "why"], &requested.iter().map(row).collect::<Vec<_>>());
        format!("{table}{DIM}to erase one:{DIM:#} neap memory forget ID --confirm ID\n")
    })
}
