//! Parses a request as a model would read it: records, logs, and this turn's calls.

use neap_core::base::message::{Message, Role};
use neap_core::base::prompt::MARK;
use neap_core::turn::ModelRequest;
use serde_json::Value;

use super::prompt_history::{apply_history, is_program_message};

/// How much of each end of a message is read for intent.
const END_BYTES_MAX: usize = 2_000;

/// Headings of memories from beyond this conversation.
const MEMORY_HEADINGS: [&str; 5] = [
    "## Preferences and Rules", "## Relevant Past Decisions", "## Known Information", "## Procedures",
    "## Past Experience",
];

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PromptView {
    pub(super) user_message: String,
    /// The effort that receives the message.
    pub(super) active: Option<String>,
    /// Other open efforts.
    pub(super) open: Vec<String>,
    /// Concluded efforts whose logs are in the prompt.
    pub(super) expanded: Vec<String>,
    /// Concluded efforts shown as summaries: id and text.
    pub(super) summaries: Vec<(String, String)>,
    /// One record per line.
    pub(super) memories: Vec<String>,
    pub(super) logs: Vec<LogView>,
    pub(super) calls: Vec<CallResult>,
    /// There was no reply before.
    pub(super) is_first_turn: bool,
    /// The records name efforts, or say that some are not shown.
    has_past: bool,
    tools: Vec<String>,
    reply_may_call: bool,
}

/// The messages of one effort, or of recent chat.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct LogView {
    /// `None` for recent chat.
    pub(super) id: Option<String>,
    pub(super) messages: Vec<Message>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct CallResult {
    pub(super) tool: String,
    pub(super) arguments: Value,
    pub(super) result: Value,
}

impl PromptView {
    pub(super) fn read(request: &ModelRequest) -> Self {
        let messages = &request.messages;
        let is_from_user = |m: &Message| m.role == Role::User && !is_program_message(m);
        let now = messages.iter().rposition(is_from_user).unwrap_or(messages.len());
        let (before, turn) = messages.split_at(now);
        let mut out = Self {
            user_message: turn.first().map(|m| message_ends(&m.content)).unwrap_or_default(),
            is_first_turn: !before.iter().any(|m| m.role == Role::Assistant),
            tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            reply_may_call: request.may_call_tools,
            calls: call_results(turn),
            ..Self::default()
        };
        let before: Vec<Message> = before.iter().filter(|m| m.role != Role::System).cloned().collect();
        apply_history(&mut out, &before, turn);
        // Efforts in the records, or said to be stored, show that there was an earlier conversation.
        out.is_first_turn &= !out.has_past;
        out
    }

    pub(super) fn can_call(&self, tool: &str) -> bool {
        self.reply_may_call && self.tools.iter().any(|name| name == tool)
    }

    pub(super) fn has_tools(&self) -> bool {
        !self.tools.is_empty()
    }

    pub(super) fn log(&self, id: &str) -> Option<&LogView> {
        self.logs.iter().find(|part| part.id.as_deref() == Some(id))
    }

    pub(super) fn active_log(&self) -> Option<&LogView> {
        self.log(self.active.as_deref()?)
    }

    pub(super) fn concluded(&self) -> impl Iterator<Item = &str> {
        let summarized = self.summaries.iter().map(|(id, _)| id.as_str());
        summarized.chain(self.expanded.iter().map(String::as_str))
    }

    pub(super) fn summary(&self, id: &str) -> Option<&str> {
        self.summaries.iter().find(|(known, _)| known == id).map(|(_, text)| text.as_str())
    }

    pub(super) fn read_records(&mut self, text: &str) {
        self.read_memories(text);
        let mut in_summaries = false;
        for line in text.lines() {
            if line.starts_with("## ") {
                in_summaries = line == "## Concluded efforts";
            } else if line.starts_with("Active effort: ") || line.starts_with("No effort is active.") {
                self.read_effort_status(line);
                self.has_past |= line.contains(" not shown.");
            } else if let Some((id, summary)) = parse_summary_line(line).filter(|_| in_summaries) {
                self.summaries.push((id.to_owned(), summary.to_owned()));
            }
        }
        self.has_past |= !self.summaries.is_empty() || !self.open.is_empty();
    }

    /// Reads memories, but not instructions and rules: they are no answers.
    pub(super) fn read_memories(&mut self, text: &str) {
        let mut is_record = false;
        for line in text.lines() {
            if line.starts_with("## ") || line.starts_with(MARK) {
                is_record = MEMORY_HEADINGS.contains(&line) || line.starts_with("## Procedure: ");
            } else if let Some(record) = line.strip_prefix("- ").filter(|_| is_record) {
                self.memories.push(record.to_owned());
            }
        }
    }

    pub(super) fn read_effort_status(&mut self, line: &str) {
        self.active = text_after(line, "Active effort: ").map(str::to_owned);
        self.open = parse_ids(text_after(line, "Open in the background: "));
        self.expanded = parse_ids(text_after(line, "Expanded: "));
    }
}

/// The id and text of a summary line, without the date at its end.
pub(super) fn parse_summary_line(line: &str) -> Option<(&str, &str)> {
    let (id, text) = line.strip_prefix("- ")?.split_once(": ")?;
    let is_day = |day: &str| day.len() == 10 && day.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let day = text.strip_suffix(')').and_then(|text| text.rsplit_once(" ("));
    Some((id, day.filter(|(_, day)| is_day(day)).map_or(text, |(text, _)| text)))
}

/// The two ends of a long message: requests stand there, pasted text between them.
fn message_ends(text: &str) -> String {
    if text.len() <= 2 * END_BYTES_MAX {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(END_BYTES_MAX);
    let tail = text.ceil_char_boundary(text.len() - END_BYTES_MAX);
    format!("{}\n{}", &text[..head], &text[tail..])
}

/// The text after a label, up to the next full stop.
fn text_after<'a>(line: &'a str, label: &str) -> Option<&'a str> {
    let from = line.find(label)? + label.len();
    line[from..].split('.').next()
}

fn parse_ids(list: Option<&str>) -> Vec<String> {
    let list = list.unwrap_or_default();
    let ids = list.split(" and ").next().unwrap_or_default();
    ids.split(", ").filter(|id| !id.is_empty()).map(str::to_owned).collect()
}

pub(super) fn call_results(turn: &[Message]) -> Vec<CallResult> {
    let calls = turn.iter().flat_map(|m| &m.tool_calls);
    calls
        .filter_map(|call| {
            let is_result = |m: &&Message| m.role == Role::Tool && m.tool_call_id.as_deref() == Some(&call.id);
            let result = turn.iter().rfind(is_result)?;
            let read = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
            Some(CallResult {
                tool: call.name.clone(),
                arguments: read(&call.arguments),
                result: read(&result.content),
            })
        })
        .collect()
}
