//! What changed prompts: what entered, what left, what was rewritten, and why; without any text.

use std::sync::Arc;

use neap_core::base::ids::{Seq, TurnNo};
use neap_core::base::tokens::Tokens;
use neap_core::memory::MemoryEvent;
use neap_core::session::event::{ClientEvent, EffortEvent, Event, RecordedEvent, WindowEvent};
use neap_store::StoredEvent;
use serde_json::{Value, json};

use super::Api;
use super::events::event_ids;
use super::page::{page, unpair};
use super::route::{Answer, Call, Outcome};

/// Kinds of events that change what a prompt contains, as stored.
const KINDS: [&str; 12] = [
    "effort_opened", "effort_concluded", "effort_summarized", "effort_expanded", "effort_collapsed",
    "effort_switched", "effort_reopened", "summaries_evicted", "span_compacted", "epoch_began",
    "client_compacted", "memories_loaded",
];

pub(super) async fn list(api: Arc<Api>, call: Call) -> Outcome {
    let (id, limit) = (call.session()?, call.limit());
    api.engine.head(&id).await?;
    let store = api.engine.store();
    let before = match (call.number_cursor()?, call.integer("before")) {
        (Some(seq), _) => Some(Seq(seq)),
        // What decays after a turn follows its end, so the list begins where the next turn does.
        (None, Some(turn)) => store.turn_span(&id, TurnNo(turn)).await?.map(|(began, _)| began),
        (None, None) => None,
    };
    let stored = store.events_of_kinds(&id, &KINDS, before, limit + 1).await?;
    let is_full = stored.len() > limit;
    let changes: Vec<(Seq, Value)> = stored
        .into_iter()
        .filter_map(StoredEvent::whole)
        .map(|recorded| (recorded.seq, change(&recorded)))
        .collect();
    let limit = if is_full { limit.min(changes.len().saturating_sub(1)).max(1) } else { limit };
    let mut answer = page(changes, limit, |(seq, _)| seq.to_string())?;
    unpair(&mut answer);
    Ok(Answer::Json(answer))
}

fn change(recorded: &RecordedEvent) -> Value {
    let RecordedEvent { seq, at, event } = recorded;
    let (ids, cause, tokens) = (ids(event), cause(event), tokens(event));
    json!({
        "turn": event.turn(), "seq": seq, "at": at, "kind": event.kind(), "ids": ids, "cause": cause, "tokens": tokens,
    })
}

/// Of efforts, memories or spans.
fn ids(event: &Event) -> Value {
    if let Event::Window(WindowEvent::SpanCompacted { scope, span, .. }) = event {
        return json!([span.handle(scope).to_string()]);
    }
    event_ids(event).unwrap_or_else(|| json!([]))
}

fn cause(event: &Event) -> Value {
    match event {
        Event::Effort(EffortEvent::Collapsed { cause, .. }) => json!(cause),
        Event::Window(WindowEvent::EpochBegan { cause, .. }) => json!(cause),
        Event::Memory(MemoryEvent::Loaded { loaded, .. }) => json!(loaded.cause),
        Event::Effort(_)
        | Event::Window(_)
        | Event::Memory(_)
        | Event::Client(_)
        | Event::Turn(_)
        | Event::Session(_) => Value::Null,
    }
}

/// What came in, what was freed, or what a summary takes.
fn tokens(event: &Event) -> Option<Tokens> {
    match event {
        Event::Effort(EffortEvent::Expanded { tokens_loaded: tokens, .. })
        | Event::Effort(EffortEvent::Collapsed { tokens_freed: tokens, .. })
        | Event::Client(ClientEvent::Compacted { summary_tokens: tokens, .. }) => Some(*tokens),
        Event::Effort(EffortEvent::Concluded { summary, .. } | EffortEvent::Summarized { summary, .. }) => {
            Some(summary.tokens)
        }
        Event::Window(WindowEvent::SpanCompacted { span, .. }) => Some(span.tokens),
        Event::Memory(MemoryEvent::Loaded { loaded, .. }) => Some(loaded.tokens),
        Event::Effort(_)
        | Event::Window(_)
        | Event::Memory(_)
        | Event::Client(_)
        | Event::Turn(_)
        | Event::Session(_) => None,
    }
}
