//! `neap memory`: lists, shows and changes memories.

mod forget;
mod history;
mod roll_back;
mod status;
mod transfer;

use std::process::ExitCode;

use neap_core::base::refusal::Refusal;
use neap_core::memory::learn::{Amendment, MemoryCommand, MemoryResponse, full_record};
use neap_core::memory::{Memory, MemoryId, MemoryKind};
use neap_engine::Agent;
use serde_json::json;

use crate::app;
use crate::cli::{MemoryArgs, MemoryEditArgs, MemoryListArgs, MemorySubcommand};
use crate::env::DataDir;
use crate::memory_output::amendment;
use crate::out::{self, BOLD, DIM, Failure};
use crate::{cmd, memory_input, memory_output};

const PAGE: usize = 500;

pub(crate) async fn run(data: &DataDir, args: MemoryArgs, json: bool) -> Result<ExitCode, Failure> {
    match args.what {
        MemorySubcommand::List(args) => list(data, &args, json).await,
        MemorySubcommand::Show(args) => show(data, args.id, json).await,
        MemorySubcommand::Edit(args) => edit(data, *args, json).await,
        MemorySubcommand::Undo(args) => amend(data, args.id, Amendment::Undo, json).await,
        MemorySubcommand::History(args) => history::run(data, args.id, json).await,
        MemorySubcommand::Confirm(args) => amend(data, args.id, Amendment::Confirm, json).await,
        MemorySubcommand::Core(args) => amend(data, args.id, Amendment::MarkCore, json).await,
        MemorySubcommand::Wrong(args) => amend(data, args.id, Amendment::Deactivate, json).await,
        MemorySubcommand::Retire(args) => amend(data, args.id, Amendment::Retire, json).await,
        MemorySubcommand::Forget(args) => forget::run(data, &args, json).await,
        MemorySubcommand::RollBack(args) => roll_back::run(data, &args, json).await,
        MemorySubcommand::Status => status::run(data, json).await,
        MemorySubcommand::Decide(args) => cmd::decide::run(data, args, json).await,
        MemorySubcommand::Review(args) => cmd::decide::review(data, args, json).await,
        MemorySubcommand::Censor(args) => cmd::censor::run(data, args, json).await,
        MemorySubcommand::Frames(args) => cmd::frames::run(data, &args, json),
        MemorySubcommand::Export(args) => transfer::export(data, &args, json).await,
        MemorySubcommand::Import(args) => transfer::import(data, &args, json).await,
    }
}

async fn list(data: &DataDir, args: &MemoryListArgs, json: bool) -> Result<ExitCode, Failure> {
    let agent = app::existing_agent(data).await?;
    let records = agent.list(args.kind, args.before, args.max).await?;
    if json {
        out::print_json(&records)?;
    } else if records.is_empty() {
        out::print_line(format!(
            "{DIM}No memories yet: `neap remember` and `neap memory decide` store them.{DIM:#}"
        ));
    } else {
        out::print_text(table(&records));
        for old in &records {
            if let Some(by) = old.superseded_by() {
                let id = old.id;
                out::print_line(format!(
                    "{DIM}{by} took the place of {id}; neap memory undo {id} brings it back{DIM:#}"
                ));
            }
        }
        if let Some(last) = records.last().filter(|_| records.len() == args.max) {
            let kind = args.kind.map_or_else(String::new, |kind| format!(" --kind {kind}"));
            out::print_line(format!("{DIM}more:{DIM:#} neap memory list{kind} --before {}", last.id));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn table(records: &[Memory]) -> String {
    let row = |memory: &Memory| {
        vec![
            format!("{BOLD}{}{BOLD:#}", memory.id),
            status_text(memory),
            memory.created.date(),
            memory.provenance.label(),
            memory.project.as_ref().map_or_else(String::new, ToString::to_string),
            memory_output::memory_line(memory),
        ]
    };
    out::table(&["id", "status", "written", "by", "project", "what"], &records.iter().map(row).collect::<Vec<_>>())
}

fn status_text(memory: &Memory) -> String {
    let mut state = memory.status.as_str().to_owned();
    if let Some(by) = memory.superseded_by() {
        state.push_str(&format!(" by {by}"));
    }
    let marks = [
        (memory.pinned && memory.is_person_approved(), ", always"),
        (memory.is_proposal() && memory.kind() != MemoryKind::Censor, ", always?"),
        (memory.is_proposal() && memory.kind() == MemoryKind::Censor, ", proposed"),
        (!memory.contested_with.is_empty(), ", contested"),
        (!memory.shaken_by.is_empty(), ", shaken"),
        (memory.forget_asked, ", to be forgotten?"),
    ];
    marks.iter().filter(|(applies, _)| *applies).for_each(|(_, mark)| state.push_str(mark));
    state
}

async fn show(data: &DataDir, id: MemoryId, json: bool) -> Result<ExitCode, Failure> {
    let mut agent = app::existing_agent(data).await?;
    let response = agent.run_command(MemoryCommand::Expand { id }).await?;
    if let MemoryResponse::Full { memory, supersedes } = &response {
        let mut value = serde_json::to_value(memory).unwrap_or_default();
        if let Some(object) = value.as_object_mut().filter(|_| !supersedes.is_empty()) {
            object.insert("supersedes".to_owned(), json!(supersedes));
        }
        let text = || out::escape_control(&full_record(memory, supersedes)).into_owned();
        return out::print_answer(json, &value, text);
    }
    memory_output::print_outcome(&agent, response, json).await
}

async fn edit(data: &DataDir, args: MemoryEditArgs, json: bool) -> Result<ExitCode, Failure> {
    let id = args.id;
    let mut agent = app::existing_agent(data).await?;
    let memory = get_existing(&agent, id).await?;
    let edit = memory_input::edit(&memory, args)?;
    memory_output::run(&mut agent, amendment(id, Amendment::Edit(Box::new(edit))), json).await
}

async fn amend(data: &DataDir, id: MemoryId, how: Amendment, json: bool) -> Result<ExitCode, Failure> {
    memory_output::run(&mut app::existing_agent(data).await?, amendment(id, how), json).await
}

async fn get_existing(agent: &Agent, id: MemoryId) -> Result<Memory, Failure> {
    agent.get(id).await?.ok_or_else(|| {
        Failure::from_refusal(
            &Refusal::new(format!("There is no memory {id}."))
                .hint("`neap memory list` lists all memories, `neap recall` searches them"),
        )
    })
}

/// All memories of an agent, newest first.
async fn all_records(agent: &Agent) -> Result<Vec<Memory>, Failure> {
    let mut records: Vec<Memory> = Vec::new();
    loop {
        let page = agent.list(None, records.last().map(|last| last.id), PAGE).await?;
        let is_last = page.len() < PAGE;
        records.extend(page);
        if is_last {
            return Ok(records);
        }
    }
}
