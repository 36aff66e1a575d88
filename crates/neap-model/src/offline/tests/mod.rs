//! The rules as tables and as whole turns, on prompts as the core writes them.

mod stories;
mod table;

use std::sync::Arc;

use neap_core::base::message::{Message, ToolCall};
use neap_core::base::prompt;
use neap_core::context::tools::ToolSpec;
use neap_core::turn::{ModelReply, ModelRequest};

use super::OfflineModel;

#[derive(Clone, Default)]
struct Context {
    summaries: Vec<(&'static str, &'static str)>,
    note: String,
    messages: Vec<Message>,
}

impl Context {
    /// `note` is the effort status line.
    fn noted(note: &str) -> Self {
        Self { note: note.to_owned(), ..Self::default() }
    }

    fn summary(mut self, id: &'static str, text: &'static str) -> Self {
        self.summaries.push((id, text));
        self
    }

    /// A log marker, then lines that alternate between user and assistant.
    fn log(mut self, kind: &str, id: &str, lines: &[&str]) -> Self {
        self.messages.push(Message::user(match kind {
            "active" => prompt::fill(prompt::LOG_ACTIVE, &[("id", id), ("older", "")]),
            "open" => prompt::fill(prompt::LOG_OPEN, &[("id", id), ("older", "")]),
            _ => prompt::fill(prompt::LOG_EXPANDED, &[("id", id), ("older", "")]),
        }));
        self.said(lines)
    }

    fn said(mut self, lines: &[&str]) -> Self {
        for (at, line) in lines.iter().enumerate() {
            self.messages.push(if at % 2 == 0 { Message::user(*line) } else { Message::assistant(*line) });
        }
        self
    }

    fn round(mut self, tool: &str, arguments: &str, result: &str) -> Self {
        let id = format!("offline-{}", self.messages.len());
        let call = ToolCall { id: id.clone(), name: tool.into(), arguments: arguments.into() };
        self.messages.push(Message { tool_calls: vec![call], ..Message::assistant("") });
        self.messages.push(Message::tool(id, result));
        self
    }

    fn request(&self) -> ModelRequest {
        let lines: String = self.summaries.iter().map(|(id, text)| format!("- {id}: {text}\n")).collect();
        let heading = if lines.is_empty() { "" } else { prompt::SUMMARIES };
        let system = format!("{}{}{}", prompt::IDENTITY, prompt::EFFORTS, prompt::NOTE);
        let (open, close) = (prompt::RECORDS, prompt::RECORDS_END);
        let records = Message::user(format!("{open}{heading}{lines}{}\n{close}", self.note));
        let tools: Vec<ToolSpec> = serde_json::from_str(prompt::TOOLS).expect("tools parse");
        ModelRequest {
            messages: [Message::system(system), records]
                .into_iter()
                .chain(self.messages.iter().cloned())
                .collect(),
            tools: Arc::from(tools),
            may_call_tools: true,
            offers_tools: true,
            buffer_output: false,
        }
    }

    fn reply(&self) -> ModelReply {
        OfflineModel::answer(&self.request())
    }
}

/// The reply's only call as `tool arguments`; empty if there is none.
fn called(reply: &ModelReply) -> String {
    match reply.calls.as_slice() {
        [] => String::new(),
        [call] => format!("{} {}", call.name, call.arguments),
        more => panic!("{more:?}"),
    }
}
