//! `neap memory history`: lists all versions of a memory.

use std::process::ExitCode;

use neap_core::memory::learn::MemoryVersion;
use neap_core::memory::{Change, MemoryId};
use neap_engine::forms::VersionEntry;

use crate::app;
use crate::env::DataDir;
use crate::memory_output;
use crate::out::{self, Failure};

pub(super) async fn run(data: &DataDir, id: MemoryId, json: bool) -> Result<ExitCode, Failure> {
    let agent = app::existing_agent(data).await?;
    super::get_existing(&agent, id).await?;
    let versions = agent.history(id).await?;
    let row = |version: &MemoryVersion| {
        vec![
            version.seq.to_string(),
            out::time(version.at),
            describe(&version.change),
            version.memory.status.as_str().to_owned(),
            memory_output::memory_line(&version.memory),
        ]
    };
    out::print_answer(json, &versions.iter().map(VersionEntry::from).collect::<Vec<_>>(), || {
        let head = ["event", "when", "what happened", "status after", "text"];
        out::table(&head, &versions.iter().map(row).collect::<Vec<_>>())
    })
}

fn describe(change: &Change) -> String {
    let text = match change {
        Change::Remembered => "remembered".to_owned(),
        Change::Confirmed => "confirmed".to_owned(),
        Change::Superseded { by, evidence } => format!("superseded by {by}: {evidence}"),
        Change::Contested { with, evidence } => format!("contested by {with}: {evidence}"),
        Change::Settled { with } => format!("no longer in doubt because of {with}"),
        Change::Shaken { by } => format!("rests on {by}, which no longer holds"),
        Change::Edited => "edited".to_owned(),
        Change::Reviewed => "reviewed".to_owned(),
        Change::Activated { succeeded: None } => "used".to_owned(),
        Change::Activated { succeeded: Some(true) } => "used with success".to_owned(),
        Change::Activated { succeeded: Some(false) } => "used without success".to_owned(),
        Change::Triggered => "matched".to_owned(),
        Change::FalsePositive => "matched wrongly".to_owned(),
        Change::Moved { from, reason } => format!("no longer {}: {reason}", from.as_str()),
        Change::Reworded => "reworded".to_owned(),
        Change::ForgetAsked { reason } if reason.is_empty() => "a model asked to forget it".to_owned(),
        Change::ForgetAsked { reason } => format!("a model asked to forget it: {reason}"),
        Change::Undone { seq } => format!("event {seq} undone"),
    };
    out::shorten(&text, 80)
}
