//! Which of the store's events watchers hear of, and how.

use neap_core::base::ids::SessionId;
use neap_core::memory::MemoryEvent;
use neap_core::session::event::{ClientEvent, EffortEvent, Event, RecordedEvent, SessionEvent};
use serde_json::{Value, json};

use super::LiveEvent;

pub(super) fn translate(session: Option<&SessionId>, recorded: &RecordedEvent) -> Option<LiveEvent> {
    let RecordedEvent { seq, at, event } = recorded;
    let mut data = json!({"session": session, "turn": event.turn(), "seq": seq, "at": at, "kind": event.kind()});
    let name = match event {
        Event::Turn(_) | Event::Client(ClientEvent::RequestPassed { .. }) => "turn",
        Event::Client(ClientEvent::Compacted { .. }) | Event::Window(_) => "rewrite",
        // Bookkeeping: the proxy's, a host's.
        Event::Client(ClientEvent::HistoryLinked { .. })
        | Event::Session(SessionEvent::HostEntriesAdded { .. }) => return None,
        Event::Effort(_) => "effort",
        Event::Memory(_) => "memory",
        Event::Session(_) => "session",
    };
    if let (Some(ids), Some(fields)) = (event_ids(event), data.as_object_mut()) {
        fields.insert("ids".to_owned(), ids);
    }
    Some(LiveEvent { name, data })
}

/// The efforts or memories of an event.
pub(in crate::api) fn event_ids(event: &Event) -> Option<Value> {
    match event {
        Event::Effort(event) => Some(effort_ids(event)),
        Event::Memory(event) => Some(memory_ids(event)),
        Event::Turn(_) | Event::Client(_) | Event::Window(_) | Event::Session(_) => None,
    }
}

fn effort_ids(event: &EffortEvent) -> Value {
    match event {
        EffortEvent::Opened { id, .. }
        | EffortEvent::Concluded { id, .. }
        | EffortEvent::Summarized { id, .. }
        | EffortEvent::Expanded { id, .. }
        | EffortEvent::Collapsed { id, .. }
        | EffortEvent::Switched { id, .. }
        | EffortEvent::Reopened { id, .. } => json!([id]),
        EffortEvent::Referenced { ids, .. } | EffortEvent::Evicted { ids, .. } => json!(ids),
    }
}

fn memory_ids(event: &MemoryEvent) -> Value {
    match event {
        MemoryEvent::Changed { memory, .. } => json!([memory.id]),
        MemoryEvent::Erased { id } | MemoryEvent::CensorTriggered { id, .. } => json!([id]),
        MemoryEvent::Loaded { loaded, .. } => {
            loaded.items.iter().map(|item| json!(item.id)).collect::<Vec<_>>().into()
        }
    }
}
