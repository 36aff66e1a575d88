//! `neap memory roll-back`: what a model, a tool or a file wrote, listed or taken out of use.

use std::process::ExitCode;

use neap_core::learn::{Amendment, Answer, Wish};
use neap_core::memory::{Author, Memory, MemoryKind, Provenance};
use neap_engine::Agent;
use serde_json::json;

use crate::app;
use crate::cli::RollBackArgs;
use crate::env::DataDir;
use crate::out::{self, DIM, Failure};

pub(super) async fn run(data: &DataDir, args: &RollBackArgs, json: bool) -> Result<ExitCode, Failure> {
    let author = Author::from(args.author);
    let session = args.session.as_deref().map(app::session_id).transpose()?;
    let mut agent = app::known_agent(data).await?;
    let mut records = super::all(&agent).await?;
    records.retain(|memory| {
        let from = &memory.provenance;
        from.author == author
            && session.as_ref().is_none_or(|session| from.session.as_ref() == Some(session))
            && args.since.is_none_or(|since| memory.created >= since)
    });
    let mut taken = Vec::new();
    if args.confirm {
        // Newest first: what one record took the place of is brought back before that one is looked at.
        for memory in &records {
            if take_out(&mut agent, memory).await? {
                taken.push(memory.id);
            }
        }
    }
    if json {
        out::json_line(
            &json!({"author": author, "records": records, "rolled_back": taken, "done": args.confirm}),
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    if records.is_empty() {
        out::line(format!("{DIM}No record was written that way.{DIM:#}"));
        return Ok(ExitCode::SUCCESS);
    }
    out::piece(super::table(&records));
    let in_use = records.iter().filter(|memory| can_be_taken(memory)).count() as u64;
    let permanent = records.iter().filter(|memory| is_permanent(memory)).count() as u64;
    if args.confirm {
        out::line(format!("taken out of use: {}", out::count(taken.len() as u64, "record")));
    } else {
        out::line(format!("{} would be taken out of use; add --confirm to do it", out::count(in_use, "record")));
    }
    if permanent > 0 {
        out::line(format!(
            "{DIM}{} of decisions and episodes stay: they are permanent, and `neap memory forget` erases one{DIM:#}",
            out::count(permanent, "record")
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// Takes one record out of use; gives whether that was possible.
async fn take_out(agent: &mut Agent, memory: &Memory) -> Result<bool, Failure> {
    if !can_be_taken(memory) {
        return Ok(false);
    }
    let id = memory.id;
    let how = match memory.kind() {
        // Its first writing undone: what it took the place of holds again.
        MemoryKind::Fact if agent.history(id).await?.len() == 1 => Amendment::Undo,
        MemoryKind::Fact => Amendment::Deactivate,
        MemoryKind::Procedure | MemoryKind::Censor => Amendment::Retire,
        MemoryKind::Decision | MemoryKind::Episode => return Ok(false),
    };
    match agent.ask(Wish::Amend { id, how, by: Provenance::of(Author::Person) }).await? {
        Answer::Refused(refusal) => Err(Failure::refused(&refusal)),
        Answer::Changed { .. }
        | Answer::Learnt { .. }
        | Answer::Counted
        | Answer::Found { .. }
        | Answer::Full { .. }
        | Answer::Status(_)
        | Answer::Swept { .. } => Ok(true),
    }
}

fn is_permanent(memory: &Memory) -> bool {
    matches!(memory.kind(), MemoryKind::Decision | MemoryKind::Episode)
}

fn can_be_taken(memory: &Memory) -> bool {
    !is_permanent(memory) && memory.status.is_searched()
}
