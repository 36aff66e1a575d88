//! Where things stand, read from a request as any model would: its records, its logs, this turn's calls.

use neap_core::message::{Message, Role};
use neap_core::prompt::MARK;
use neap_core::turn::ModelRequest;
use serde_json::Value;

use super::grown::{follow, is_ours};

/// How much of each end of a message is read for what is wanted, in bytes.
const END_BYTES_MAX: usize = 2_000;

/// Headings of what is known beyond a conversation.
const KNOWN: [&str; 5] = [
    "## Preferences and Rules",
    "## Relevant Past Decisions",
    "## Known Information",
    "## Procedures",
    "## Past Experience",
];

/// What the context shows.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Situation {
    /// What the user says now.
    pub(super) said: String,
    /// The effort that receives it.
    pub(super) active: Option<String>,
    /// Other open efforts.
    pub(super) open: Vec<String>,
    /// Concluded efforts whose logs are here.
    pub(super) expanded: Vec<String>,
    /// Concluded efforts that stand here as summaries: id and text.
    pub(super) summaries: Vec<(String, String)>,
    /// What is known beyond this conversation, a record a line.
    pub(super) known: Vec<String>,
    /// Logs and recent chat, in order.
    pub(super) logs: Vec<LogPart>,
    /// Calls of this turn with their results, oldest first.
    pub(super) rounds: Vec<Round>,
    /// Nothing was answered before.
    pub(super) is_first: bool,
    /// The records name efforts, or say that some are not shown.
    has_past: bool,
    tools: Vec<String>,
    reply_may_call: bool,
}

/// The messages of one effort, or of recent chat.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct LogPart {
    /// Which effort; none for recent chat.
    pub(super) id: Option<String>,
    pub(super) messages: Vec<Message>,
}

/// A call and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Round {
    pub(super) tool: String,
    pub(super) arguments: Value,
    pub(super) result: Value,
}

impl Situation {
    pub(super) fn read(request: &ModelRequest) -> Self {
        let messages = &request.messages;
        let is_said = |m: &Message| m.role == Role::User && !is_ours(m);
        let now = messages.iter().rposition(is_said).unwrap_or(messages.len());
        let (before, turn) = messages.split_at(now);
        let mut out = Self {
            said: turn.first().map(|m| ends(&m.content)).unwrap_or_default(),
            is_first: !before.iter().any(|m| m.role == Role::Assistant),
            tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            reply_may_call: request.reply_may_call,
            rounds: rounds(turn),
            ..Self::default()
        };
        let before: Vec<Message> = before.iter().filter(|m| m.role != Role::System).cloned().collect();
        follow(&mut out, &before, turn);
        // Efforts that stood here when the prompt was written, or are said to be stored, were spoken of before.
        out.is_first &= !out.has_past;
        out
    }

    /// Whether a call would be carried out.
    pub(super) fn may_call(&self, tool: &str) -> bool {
        self.reply_may_call && self.tools.iter().any(|name| name == tool)
    }

    /// Whether any tool is offered.
    pub(super) fn has_tools(&self) -> bool {
        !self.tools.is_empty()
    }

    /// The log of an effort, if it is here.
    pub(super) fn log(&self, id: &str) -> Option<&LogPart> {
        self.logs.iter().find(|part| part.id.as_deref() == Some(id))
    }

    /// The active effort's log.
    pub(super) fn active_log(&self) -> Option<&LogPart> {
        self.log(self.active.as_deref()?)
    }

    /// Concluded efforts that the context names.
    pub(super) fn concluded(&self) -> impl Iterator<Item = &str> {
        let summed = self.summaries.iter().map(|(id, _)| id.as_str());
        summed.chain(self.expanded.iter().map(String::as_str))
    }

    /// The summary shown for an effort.
    pub(super) fn summary(&self, id: &str) -> Option<&str> {
        self.summaries.iter().find(|(known, _)| known == id).map(|(_, text)| text.as_str())
    }

    /// Summaries, memories and which efforts are in play.
    pub(super) fn read_records(&mut self, text: &str) {
        self.read_known(text);
        let mut in_summaries = false;
        for line in text.lines() {
            if line.starts_with("## ") {
                in_summaries = line == "## Concluded efforts";
            } else if line.starts_with("Active effort: ") || line.starts_with("No effort is active.") {
                self.read_standing(line);
                self.has_past |= line.contains(" not shown.");
            } else if let Some((id, summary)) = summed(line).filter(|_| in_summaries) {
                self.summaries.push((id.to_owned(), summary.to_owned()));
            }
        }
        self.has_past |= !self.summaries.is_empty() || !self.open.is_empty();
    }

    /// Records of the agent's memory; instructions and rules are no answers.
    pub(super) fn read_known(&mut self, text: &str) {
        let mut is_record = false;
        for line in text.lines() {
            if line.starts_with("## ") || line.starts_with(MARK) {
                is_record = KNOWN.contains(&line) || line.starts_with("## Procedure: ");
            } else if let Some(record) = line.strip_prefix("- ").filter(|_| is_record) {
                self.known.push(record.to_owned());
            }
        }
    }

    /// Which efforts are in play.
    pub(super) fn read_standing(&mut self, line: &str) {
        self.active = after(line, "Active effort: ").map(str::to_owned);
        self.open = ids(after(line, "Open in the background: "));
        self.expanded = ids(after(line, "Expanded: "));
    }
}

/// The id and the text of a summary's line, without the day at its end.
pub(super) fn summed(line: &str) -> Option<(&str, &str)> {
    let (id, text) = line.strip_prefix("- ")?.split_once(": ")?;
    let is_day = |day: &str| day.len() == 10 && day.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let day = text.strip_suffix(')').and_then(|text| text.rsplit_once(" ("));
    Some((id, day.filter(|(_, day)| is_day(day)).map_or(text, |(text, _)| text)))
}

/// The beginning and the end of a long message: wishes stand there, and what is pasted in between.
fn ends(said: &str) -> String {
    if said.len() <= 2 * END_BYTES_MAX {
        return said.to_owned();
    }
    let head = said.floor_char_boundary(END_BYTES_MAX);
    let tail = said.ceil_char_boundary(said.len() - END_BYTES_MAX);
    format!("{}\n{}", &said[..head], &said[tail..])
}

/// What follows a label up to the next full stop.
fn after<'a>(line: &'a str, label: &str) -> Option<&'a str> {
    let from = line.find(label)? + label.len();
    line[from..].split('.').next()
}

fn ids(list: Option<&str>) -> Vec<String> {
    let list = list.unwrap_or_default();
    let named = list.split(" and ").next().unwrap_or_default();
    named.split(", ").filter(|id| !id.is_empty()).map(str::to_owned).collect()
}

/// Calls and their results after the user's message.
pub(super) fn rounds(turn: &[Message]) -> Vec<Round> {
    let calls = turn.iter().flat_map(|m| &m.tool_calls);
    calls
        .filter_map(|call| {
            let answers = |m: &&Message| m.role == Role::Tool && m.tool_call_id.as_deref() == Some(&call.id);
            let result = turn.iter().rfind(answers)?;
            let read = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
            Some(Round {
                tool: call.name.clone(),
                arguments: read(&call.arguments),
                result: read(&result.content),
            })
        })
        .collect()
}
