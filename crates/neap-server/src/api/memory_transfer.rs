//! Memories as a download, and taken over from one.

use std::collections::BTreeMap;
use std::sync::Arc;

use neap_core::memory::{Memory, MemoryId};
use neap_engine::MemoryImport;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Api;
use super::export;
use super::page::{fit, to_value};
use super::problem::Problem;
use super::route::{Answer, Call, Outcome};

/// Records that one request takes over; each is a commit.
const RECORDS_MAX: usize = 200;
/// A memory's source holds it beside an id.
const SOURCE_CHARS_MAX: usize = 120;
const IDS_MAX: usize = 100_000;
const READ: usize = 500;

/// Oldest first, one a line, as the command writes them.
pub(super) async fn export(api: Arc<Api>, _call: Call) -> Outcome {
    let agent = api.agent().await?;
    let mut memories = Vec::new();
    loop {
        let page = agent.list(None, memories.last().map(|last: &Memory| last.id), READ).await?;
        let is_last = page.len() < READ;
        memories.extend(page);
        if is_last {
            break;
        }
    }
    memories.reverse();
    let name = format!("attachment; filename=\"{}.memories.jsonl\"", agent.id());
    export::response(name, export::lines_body(memories)).map(Answer::Stream)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Import {
    memories: Vec<Value>,
    source: String,
    #[serde(default)]
    ids: BTreeMap<MemoryId, MemoryId>,
}

pub(super) async fn import(api: Arc<Api>, call: Call) -> Outcome {
    let Import { memories, source, ids } = call.body()?;
    if memories.len() > RECORDS_MAX {
        let detail = format!("one request takes over at most {RECORDS_MAX} memories, not {}", memories.len());
        return Err(
            Problem::refused(detail).hint("send the rest in further requests, with the ids of all answers before")
        );
    }
    if source.trim().is_empty() || source.chars().count() > SOURCE_CHARS_MAX {
        return Err(Problem::bad_request(format!("source must be a text of 1 to {SOURCE_CHARS_MAX} characters")));
    }
    if ids.len() > IDS_MAX {
        return Err(Problem::bad_request(format!("ids are at most {IDS_MAX}, not {}", ids.len())));
    }
    // All are read before one is stored.
    let memories = memories.into_iter().enumerate().map(|(at, memory)| record(at, memory));
    let mut memories = memories.collect::<Result<Vec<Memory>, Problem>>()?;
    MemoryImport::sort(&mut memories);
    let mut agent = api.agent().await?;
    let mut import = MemoryImport::new(source, ids);
    for memory in memories {
        import.add(&mut agent, memory).await?;
    }
    let (counts, ids) = import.finish();
    let mut answer = to_value(&counts)?;
    answer["ids"] = json!(ids);
    Ok(Answer::Json(fit(answer)))
}

fn record(at: usize, memory: Value) -> Result<Memory, Problem> {
    let invalid = |error: String| {
        Problem::bad_request(format!("memories[{at}]: {error}"))
            .hint("nothing was imported; only an export can be")
    };
    let memory: Memory = serde_json::from_value(memory).map_err(|error| invalid(error.to_string()))?;
    if memory.kind() != memory.body.kind() {
        return Err(invalid(format!("the id {} does not fit its kind, {}", memory.id, memory.body.kind())));
    }
    Ok(memory)
}
