//! What a host stores for itself: appended, and read back in order as it was.

use std::sync::Arc;

use neap_core::base::ids::Seq;
use neap_core::session::event::{Event, RecordedEvent, SessionEvent};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Api;
use super::export;
use super::page::to_value;
use super::problem::Problem;
use super::route::{Answer, Call, Outcome};

/// Entries of one request: they are stored in one commit.
const ENTRIES_MAX: usize = 256;
const EVENTS_PAGE: usize = 64;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewEntries {
    entries: Vec<String>,
}

pub(super) async fn append(api: Arc<Api>, call: Call) -> Outcome {
    let NewEntries { entries } = call.body()?;
    if entries.is_empty() || entries.len() > ENTRIES_MAX {
        let count = entries.len();
        return Err(Problem::refused(format!("one request stores 1 to {ENTRIES_MAX} entries, not {count}"))
            .hint("send the rest in further requests, each with a key of its own"));
    }
    let id = call.session()?;
    api.check_not_erased(&id).await?;
    let added = api.engine.add_host_entries(&id, &entries, call.required("Idempotency-Key")).await?;
    Ok(Answer::Json(to_value(&added)?))
}

pub(super) async fn list(api: Arc<Api>, call: Call) -> Outcome {
    let id = call.session()?;
    api.engine.head(&id).await?;
    let from = Seq(call.integer("after").unwrap_or(0)).next();
    let name = format!("attachment; filename=\"{id}-entries.jsonl\"");
    let body = export::events_body(api.engine.store().clone(), id, from, EVENTS_PAGE, line);
    export::response(name, body).map(Answer::Stream)
}

fn line(recorded: RecordedEvent) -> Option<Value> {
    let Event::Session(SessionEvent::HostEntriesAdded { key: _, entries }) = recorded.event else { return None };
    Some(json!({"seq": recorded.seq, "at": recorded.at, "entries": entries}))
}
