//! `neap memory roll-back`: lists or retires what a model, a tool or a file wrote.

use std::process::ExitCode;

use neap_core::memory::learn::MemoryResponse;
use neap_core::memory::{Author, Memory, MemoryKind};
use neap_engine::Agent;
use serde_json::json;

use crate::app;
use crate::cli::RollBackArgs;
use crate::env::DataDir;
use crate::out::{self, DIM, Failure};

pub(super) async fn run(data: &DataDir, args: &RollBackArgs, json: bool) -> Result<ExitCode, Failure> {
    let author = Author::from(args.author);
    let session = args.session.as_deref().map(app::parse_session_id).transpose()?;
    let mut agent = app::existing_agent(data).await?;
    let mut records = super::all_records(&agent).await?;
    records.retain(|memory| {
        let provenance = &memory.provenance;
        provenance.author == author
            && session.as_ref().is_none_or(|session| provenance.session.as_ref() == Some(session))
            && args.since.is_none_or(|since| memory.created >= since)
    });
    let mut revoked = Vec::new();
    if args.confirm {
        // Newest first, so that a superseded memory is restored before it is considered.
        for memory in &records {
            if revoke(&mut agent, memory).await? {
                revoked.push(memory.id);
            }
        }
    }
    if json {
        out::print_json(
            &json!({"author": author, "records": records, "rolled_back": revoked, "done": args.confirm}),
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    if records.is_empty() {
        out::print_line(format!("{DIM}No memory matches.{DIM:#}"));
        return Ok(ExitCode::SUCCESS);
    }
    out::print_text(super::table(&records));
    let in_use = records.iter().filter(|memory| is_revocable(memory)).count() as u64;
    let permanent = records.iter().filter(|memory| is_permanent(memory)).count() as u64;
    if args.confirm {
        out::print_line(format!("taken out of use: {}", out::count(revoked.len() as u64, "record")));
    } else {
        out::print_line(format!(
            "{} would be taken out of use; add --confirm to do it",
            out::count(in_use, "record")
        ));
    }
    if permanent > 0 {
        out::print_line(format!(
            "{DIM}{} of decisions and episodes stay: they are permanent, and `neap memory forget` erases one{DIM:#}",
            out::count(permanent, "record")
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// Retires one memory; returns whether that was possible.
async fn revoke(agent: &mut Agent, memory: &Memory) -> Result<bool, Failure> {
    match agent.revoke(memory).await? {
        Some(MemoryResponse::Refused(refusal)) => Err(Failure::from_refusal(&refusal)),
        response => Ok(response.is_some()),
    }
}

fn is_permanent(memory: &Memory) -> bool {
    matches!(memory.kind(), MemoryKind::Decision | MemoryKind::Episode)
}

fn is_revocable(memory: &Memory) -> bool {
    !is_permanent(memory) && memory.status.is_searchable()
}
