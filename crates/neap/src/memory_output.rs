//! Prints the outcome of memory commands, as text or JSON.

use std::process::ExitCode;

use neap_core::memory::learn::{Amendment, MemoryCommand, MemoryHit, MemoryResponse};
use neap_core::memory::{Author, DraftOutcome, Memory, MemoryId, Provenance};
use neap_engine::Agent;
use neap_engine::forms::{MemoryChange, MemoryOutcome};

use crate::out::{self, BOLD, DIM, Failure};

/// Longest memory on one line, in characters.
const LINE_CHARS_MAX: usize = 100;

/// What a person changes in a memory.
pub(crate) fn amendment(id: MemoryId, how: Amendment) -> MemoryCommand {
    MemoryCommand::Amend { id, how, by: Provenance::from_author(Author::Person) }
}

/// Runs a command and prints its outcome; a refusal becomes a failure.
pub(crate) async fn run(agent: &mut Agent, command: MemoryCommand, json: bool) -> Result<ExitCode, Failure> {
    let response = agent.run_command(command).await?;
    print_outcome(agent, response, json).await
}

pub(crate) async fn print_outcome(
    agent: &Agent,
    response: MemoryResponse,
    json: bool,
) -> Result<ExitCode, Failure> {
    match response {
        MemoryResponse::Refused(refusal) => {
            let hint = "`neap memory history ID` lists its versions";
            let failure = Failure::from_refusal(&refusal);
            return Err(if refusal.hint.is_some() { failure } else { failure.hint(hint) });
        }
        MemoryResponse::Remembered { id, outcome, note, superseded, similar, .. } => {
            let memory = agent.get(id).await?;
            if json {
                let status = outcome.as_str();
                out::print_json(&MemoryOutcome { id, status, note, superseded, similar, memory })?;
            } else {
                out::print_text(render_learnt(outcome, &note, &similar, memory.as_ref()));
            }
        }
        MemoryResponse::Changed { memory, how, note } => {
            if json {
                out::print_json(&MemoryChange { id: memory.id, status: how, note, memory: *memory })?;
            } else {
                out::print_line(format!("{BOLD}{}{BOLD:#} {how}: {}", memory.id, memory_line(&memory)));
                out::print_line(format!("{DIM}it is now {}{DIM:#}", memory.status.as_str()));
                let rivals = agent.get(memory.id).await?.map(|memory| memory.contested_with).unwrap_or_default();
                if let (Some(rival), true) = (rivals.first(), how == Amendment::Undo.as_str()) {
                    let id = memory.id;
                    out::print_line(format!(
                        "{DIM}it contradicts {rival}, which stands, too: `neap memory wrong {rival}` leaves {id} alone{DIM:#}"
                    ));
                }
                if !note.is_empty() {
                    out::print_line(note);
                }
            }
        }
        other @ (MemoryResponse::Counted
        | MemoryResponse::Found { .. }
        | MemoryResponse::Full { .. }
        | MemoryResponse::Status(_)
        | MemoryResponse::Swept { .. }) => out::print_line(out::escape_control(&other.to_json())),
    }
    Ok(ExitCode::SUCCESS)
}

fn render_learnt(outcome: DraftOutcome, note: &str, similar: &[MemoryHit], memory: Option<&Memory>) -> String {
    let mut text = String::new();
    if let Some(memory) = memory {
        text.push_str(&format!(
            "{BOLD}{}{BOLD:#} {}: {}\n",
            memory.id,
            outcome_label(outcome),
            memory_line(memory)
        ));
        if memory.masked > 0 {
            let secrets = out::count(u64::from(memory.masked), "secret");
            text.push_str(&format!("  {secrets} masked before anything was stored\n"));
        }
    }
    if !note.is_empty() && outcome != DraftOutcome::New {
        text.push_str(&format!("  {DIM}{}{DIM:#}\n", out::escape_control(note)));
    }
    if !similar.is_empty() {
        text.push_str("  earlier decisions:\n");
        similar.iter().for_each(|hit| text.push_str(&format!("    {}\n", strip_marker(&hit.text))));
    }
    text
}

fn outcome_label(outcome: DraftOutcome) -> &'static str {
    match outcome {
        DraftOutcome::New => "new",
        DraftOutcome::Confirmed => "confirmed",
        DraftOutcome::Superseded => "supersedes another",
        DraftOutcome::Contested => "contested",
        DraftOutcome::Known => "already known",
    }
}

pub(crate) fn memory_line(memory: &Memory) -> String {
    out::shorten(&memory.content(), LINE_CHARS_MAX)
}

/// A memory's own line without its list marker.
pub(crate) fn strip_marker(line: &str) -> String {
    let text = line.trim_start_matches("- ").trim_start_matches("## ");
    out::escape_control(text.trim_end()).replace('\n', " ")
}
