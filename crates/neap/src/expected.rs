//! `--expect ID`: what became of a text that a search should have found.

use std::process::ExitCode;

use neap_core::base::handle::Handle;
use neap_core::base::ids::EffortId;
use neap_core::memory::MemoryId;
use neap_core::memory::learn::{MemoryCommand, MemoryResponse};
use neap_core::recall::{Expectation, Stage};
use neap_engine::{Agent, ExpectedText};
use serde_json::json;

use crate::app;
use crate::out::{self, BOLD, Failure};

/// Hits that are looked through for an expected memory.
const HITS_MAX: usize = 1_000;

/// `f7`, `auth-bug`, `SESSION/t12`, or `t12` of the session that is searched.
pub(crate) fn parse(id: &str, session: Option<&str>) -> Result<ExpectedText, Failure> {
    if let Ok(memory) = id.parse::<MemoryId>() {
        return Ok(ExpectedText::Memory(memory));
    }
    let (place, name) = id.rsplit_once('/').map_or((session, id), |(place, name)| (Some(place), name));
    if let Ok(Handle::Turn(turn) | Handle::Message { turn, .. }) = name.parse::<Handle>() {
        let place = place.ok_or_else(|| {
            Failure::new(format!("which session's {name}?"))
                .hint(format!("write SESSION/{name}, or add --session"))
        })?;
        return Ok(ExpectedText::Turn(app::parse_session_id(place)?, turn));
    }
    let effort = EffortId::from_name(id).map_err(|error| Failure::new(error.to_string()))?;
    Ok(ExpectedText::Effort(effort))
}

pub(crate) fn print(id: &str, found: &Expectation, scores: &str, json: bool) -> Result<ExitCode, Failure> {
    out::print_answer(json, &json!({"expected": id, "outcome": found}), || {
        let place = found.place.map_or_else(String::new, |place| format!(", place {place}"));
        let mut text = format!("{BOLD}{}{BOLD:#} {}{place}\n", out::escape_control(id), found.stage.explain());
        if let Some(score) = found.score {
            text.push_str(&format!("  {score:.3} = {scores}\n"));
        }
        if found.score.is_some() {
            let shared = if found.shared.is_empty() { "none".to_owned() } else { found.shared.join(", ") };
            let similarity = found.similarity.map_or_else(|| "unknown".to_owned(), |value| format!("{value:.3}"));
            text.push_str(&format!(
                "  shared words: {}; likeness of meaning: {similarity}\n",
                out::escape_control(&shared)
            ));
        }
        text
    })
}

/// What became of a memory in a search for at most `max`.
pub(crate) async fn memory_outcome(
    agent: &mut Agent,
    id: MemoryId,
    mut command: MemoryCommand,
    max: usize,
) -> Result<Expectation, Failure> {
    if agent.get(id).await?.is_none() {
        return Ok(Expectation::lost(Stage::NotStored));
    }
    if let MemoryCommand::Recall { max, .. } = &mut command {
        *max = HITS_MAX;
    }
    let MemoryResponse::Found { hits } = agent.run_command(command).await? else {
        return Ok(Expectation::lost(Stage::NotProposed));
    };
    let Some(at) = hits.iter().position(|hit| hit.id == id) else {
        return Ok(Expectation::lost(Stage::NotProposed));
    };
    let stage = if at < max { Stage::Found } else { Stage::BeyondLimit };
    let (place, score) = (Some(at + 1), Some(hits[at].score.value()));
    Ok(Expectation { place, score, ..Expectation::lost(stage) })
}
