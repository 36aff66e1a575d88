//! Recent texts that a new rule is tried on.

use neap_core::memory::CensorSide;
use neap_core::session::event::{Event, RecordedEvent, TurnEvent};
use neap_store::StoredEvent;

use crate::engine::Engine;
use crate::error::EngineError;

/// Enough to see a rule that matches nearly everything.
const TEXTS_MAX: usize = 50;

impl Engine {
    /// Recent texts of a side, of the sessions that changed last first.
    pub async fn recent_texts(&self, side: CensorSide) -> Result<Vec<String>, EngineError> {
        let kind = match side {
            CensorSide::Input => "turn_started",
            CensorSide::Output => "turn_completed",
            CensorSide::ToolCall => "tools_called",
        };
        let mut sessions = self.sessions().await?;
        sessions.sort_by_key(|info| std::cmp::Reverse(info.updated));
        let mut texts = Vec::new();
        for info in sessions.iter().filter(|info| !info.scrubbed) {
            let left = TEXTS_MAX - texts.len();
            if left == 0 {
                break;
            }
            let events = self.parts.store.events_of_kinds(&info.session, &[kind], None, left).await?;
            texts.extend(events.iter().flat_map(event_texts));
            texts.truncate(TEXTS_MAX);
        }
        Ok(texts)
    }
}

fn event_texts(stored: &StoredEvent) -> Vec<String> {
    let StoredEvent::Whole(RecordedEvent { event, .. }) = stored else { return Vec::new() };
    if let Event::Turn(TurnEvent::Started { message: entry, .. } | TurnEvent::Completed { reply: entry, .. }) =
        event
    {
        return vec![entry.message.content.to_string()];
    }
    if let Event::Turn(TurnEvent::ToolsCalled { round, .. }) = event {
        let calls = round.assistant.message.tool_calls.iter();
        return calls.map(|call| format!("{} {}", call.name, call.arguments)).collect();
    }
    Vec::new()
}
