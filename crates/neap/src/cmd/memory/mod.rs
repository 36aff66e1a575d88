//! `neap memory`: what the agent knows, record by record.

mod exchange;
mod forget;
mod history;
mod roll_back;
mod status;

use std::process::ExitCode;

use neap_core::learn::{Amendment, Answer, Wish};
use neap_core::memory::{Author, Memory, MemoryId, MemoryKind, Provenance};
use neap_engine::Agent;

use crate::app;
use crate::cli::{EditArgs, ListArgs, MemoryArgs, MemoryCommand};
use crate::env::DataDir;
use crate::out::{self, BOLD, DIM, Failure};
use crate::{told, typed};

/// Records read at a time.
const PAGE: usize = 500;

pub(crate) async fn run(data: &DataDir, args: MemoryArgs, json: bool) -> Result<ExitCode, Failure> {
    match args.what {
        MemoryCommand::List(args) => list(data, &args, json).await,
        MemoryCommand::Show(args) => show(data, args.id, json).await,
        MemoryCommand::Edit(args) => edit(data, *args, json).await,
        MemoryCommand::Undo(args) => amend(data, args.id, Amendment::Undo, json).await,
        MemoryCommand::History(args) => history::run(data, args.id, json).await,
        MemoryCommand::Confirm(args) => amend(data, args.id, Amendment::Confirm, json).await,
        MemoryCommand::Core(args) => amend(data, args.id, Amendment::MarkCore, json).await,
        MemoryCommand::Wrong(args) => amend(data, args.id, Amendment::Deactivate, json).await,
        MemoryCommand::Retire(args) => amend(data, args.id, Amendment::Retire, json).await,
        MemoryCommand::Forget(args) => forget::run(data, &args, json).await,
        MemoryCommand::RollBack(args) => roll_back::run(data, &args, json).await,
        MemoryCommand::Status => status::run(data, json).await,
        MemoryCommand::Export(args) => exchange::export(data, &args, json).await,
        MemoryCommand::Import(args) => exchange::import(data, &args, json).await,
    }
}

async fn list(data: &DataDir, args: &ListArgs, json: bool) -> Result<ExitCode, Failure> {
    let agent = app::known_agent(data).await?;
    let records = agent.list(args.kind, args.before, args.max).await?;
    if json {
        out::json_line(&records)?;
    } else if records.is_empty() {
        out::line(format!("{DIM}Nothing is known yet: `neap remember` and `neap decide` write records.{DIM:#}"));
    } else {
        out::piece(table(&records));
        if let Some(last) = records.last().filter(|_| records.len() == args.max) {
            let kind = args.kind.map_or_else(String::new, |kind| format!(" --kind {kind}"));
            out::line(format!("{DIM}more:{DIM:#} neap memory list{kind} --before {}", last.id));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Records as a table.
fn table(records: &[Memory]) -> String {
    let row = |memory: &Memory| {
        vec![
            format!("{BOLD}{}{BOLD:#}", memory.id),
            state(memory),
            memory.created.date(),
            memory.provenance.short(),
            told::in_short(memory),
        ]
    };
    out::table(&["id", "status", "written", "by", "what"], &records.iter().map(row).collect::<Vec<_>>())
}

/// Where a record is in its life, and what else one should know of it.
fn state(memory: &Memory) -> String {
    let mut state = memory.status.as_str().to_owned();
    let marks = [
        (memory.pinned && memory.is_a_persons(), ", always"),
        (memory.is_proposal() && memory.kind() != MemoryKind::Censor, ", always?"),
        (memory.is_proposal() && memory.kind() == MemoryKind::Censor, ", proposed"),
        (!memory.contested_with.is_empty(), ", contested"),
        (!memory.shaken_by.is_empty(), ", shaken"),
        (memory.forget_asked, ", to be forgotten?"),
    ];
    marks.iter().filter(|(is_so, _)| *is_so).for_each(|(_, mark)| state.push_str(mark));
    state
}

async fn show(data: &DataDir, id: MemoryId, json: bool) -> Result<ExitCode, Failure> {
    let mut agent = app::known_agent(data).await?;
    match agent.ask(Wish::Expand { id }).await? {
        Answer::Full { memory } if json => out::json_line(&memory)?,
        Answer::Full { memory } => out::piece(out::clean(&memory.full())),
        other @ (Answer::Learnt { .. }
        | Answer::Changed { .. }
        | Answer::Counted
        | Answer::Found { .. }
        | Answer::Status(_)
        | Answer::Swept { .. }
        | Answer::Refused(_)) => return told::tell(&agent, other, json).await,
    }
    Ok(ExitCode::SUCCESS)
}

async fn edit(data: &DataDir, args: EditArgs, json: bool) -> Result<ExitCode, Failure> {
    let id = args.id;
    let mut agent = app::known_agent(data).await?;
    let memory = get(&agent, id).await?;
    let edit = typed::edit(&memory, args)?;
    let answer = agent
        .ask(Wish::Amend { id, how: Amendment::Edit(Box::new(edit)), by: Provenance::of(Author::Person) })
        .await?;
    told::tell(&agent, answer, json).await
}

async fn amend(data: &DataDir, id: MemoryId, how: Amendment, json: bool) -> Result<ExitCode, Failure> {
    let mut agent = app::known_agent(data).await?;
    let answer = agent.ask(Wish::Amend { id, how, by: Provenance::of(Author::Person) }).await?;
    told::tell(&agent, answer, json).await
}

/// A record that must be there.
async fn get(agent: &Agent, id: MemoryId) -> Result<Memory, Failure> {
    agent.get(id).await?.ok_or_else(|| {
        Failure::refused(
            &neap_core::tools::Refusal::new(format!("There is no memory {id}."))
                .hint("`neap memory list` shows what there is, `neap recall` finds it"),
        )
    })
}

/// Every record of an agent, newest first.
async fn all(agent: &Agent) -> Result<Vec<Memory>, Failure> {
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
