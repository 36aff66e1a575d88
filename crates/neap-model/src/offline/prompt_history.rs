//! Replays a prompt that grew since it was assembled: the records show the state at that time, later messages what
//! happened since. Follows the results of effort tools and assigns each exchange to its log.

use neap_core::base::message::{Message, Role};
use neap_core::base::prompt::MARK;
use neap_core::text::render::QUOTE;
use serde_json::Value;

use super::prompt_view::{CallResult, LogView, PromptView, call_results, parse_summary_line};

/// A message from Neap rather than from a person.
pub(super) fn is_program_message(message: &Message) -> bool {
    message.role == Role::User && message.content.starts_with(MARK)
}

pub(super) fn apply_history(situation: &mut PromptView, before: &[Message], turn: &[Message]) {
    let mut reader = HistoryReader { situation, current_log: None, has_grown: false };
    let mut rest = before;
    while !rest.is_empty() {
        let next = rest.iter().skip(1).position(|m| m.role == Role::User).map_or(rest.len(), |at| at + 1);
        let (exchange, later) = rest.split_at(next);
        reader.add_exchange(exchange);
        rest = later;
    }
    for message in turn.iter().skip(1).filter(|m| is_program_message(m)) {
        reader.add_exchange(std::slice::from_ref(message));
    }
    for round in call_results(turn) {
        reader.situation.apply_call(&round);
    }
    situation.logs.retain(|part| !part.messages.is_empty());
}

struct HistoryReader<'a> {
    situation: &'a mut PromptView,
    /// The log announced by a marker; `None` for recent chat.
    current_log: Option<String>,
    /// Whether the messages now follow the assembled prompt.
    has_grown: bool,
}

impl HistoryReader<'_> {
    fn add_exchange(&mut self, exchange: &[Message]) {
        let Some(first) = exchange.first() else { return };
        if is_program_message(first) {
            self.read_program_message(&first.content);
            return self.append_to_log(self.current_log.clone(), &exchange[1..]);
        }
        let active = self.situation.active.clone();
        let mut entered = None;
        let effort_calls: Vec<CallResult> = call_results(exchange).into_iter().filter(is_effort_call).collect();
        for round in &effort_calls {
            self.has_grown = true;
            entered = self.situation.apply_call(round).or(entered);
        }
        let log = if self.has_grown { entered.or(active) } else { self.current_log.clone() };
        self.append_to_log(log, exchange);
    }

    fn read_program_message(&mut self, text: &str) {
        let Some(text) = text.strip_prefix(MARK) else { return };
        if text.starts_with("Records ") {
            self.situation.read_records(text);
        } else if let Some(line) = text.strip_prefix("Now: ").and_then(|text| text.strip_suffix(']')) {
            self.has_grown = true;
            self.situation.read_effort_status(line);
        } else if text.starts_with("What is known beyond this conversation") {
            self.has_grown = true;
            self.situation.read_memories(text);
        } else if text.starts_with("Summaries of earlier efforts") {
            self.has_grown = true;
            for (id, summary) in text.lines().skip(1).filter_map(parse_summary_line) {
                self.situation.add_summary(id, summary);
            }
        } else if let Some((marker, log)) = text.split_once('\n').filter(|(marker, _)| marker.ends_with(']')) {
            // A whole log in one message: later messages belong where they did before.
            if let Some(Some(id)) = parse_log_marker(marker) {
                self.has_grown = true;
                self.append_to_log(Some(id), &parse_transcript(log));
            }
        } else if let Some(log) = parse_log_marker(text) {
            self.current_log = log;
        }
    }

    /// Appends messages to a log, without effort tool calls and their results.
    fn append_to_log(&mut self, id: Option<String>, messages: &[Message]) {
        let ids: Vec<&str> = messages
            .iter()
            .flat_map(|m| &m.tool_calls)
            .filter(|call| is_effort_tool(&call.name))
            .map(|call| call.id.as_str())
            .collect();
        let is_spoken = |m: &&Message| {
            let is_own_result = m.tool_call_id.as_deref().is_some_and(|id| ids.contains(&id));
            let is_own_call = m.tool_calls.iter().any(|call| is_effort_tool(&call.name));
            m.role != Role::System && !is_own_result && !(is_own_call && m.content.is_empty())
        };
        let spoken = messages.iter().filter(is_spoken).cloned();
        match self.situation.logs.iter_mut().find(|part| part.id == id) {
            Some(part) => part.messages.extend(spoken),
            None => self.situation.logs.push(LogView { id, messages: spoken.collect() }),
        }
    }
}

impl PromptView {
    /// Applies an effort tool's result; returns the effort that it entered.
    fn apply_call(&mut self, round: &CallResult) -> Option<String> {
        let text = |key: &str| round.result.get(key).and_then(Value::as_str);
        let id = text("effort_id").filter(|_| text("error").is_none())?.to_owned();
        match round.tool.as_str() {
            "open_effort" | "switch_effort" | "reopen_effort" => {
                let previous = self.active.replace(id.clone()).filter(|previous| *previous != id);
                self.open.retain(|open| *open != id);
                self.open.extend(previous);
                self.summaries.retain(|(other, _)| *other != id);
                self.expanded.retain(|other| *other != id);
                return Some(id);
            }
            "close_effort" => {
                self.open.retain(|open| *open != id);
                if self.active.as_ref() == Some(&id) {
                    self.active = self.open.pop();
                }
                self.add_summary(&id, text("summary").unwrap_or_default());
            }
            "expand_effort" if !self.expanded.contains(&id) => self.expanded.push(id),
            "collapse_effort" => self.expanded.retain(|other| *other != id),
            _ => {}
        }
        None
    }

    fn add_summary(&mut self, id: &str, text: &str) {
        if self.summary(id).is_none() {
            self.summaries.push((id.to_owned(), text.to_owned()));
        }
    }
}

fn is_effort_tool(name: &str) -> bool {
    name.ends_with("_effort") || name.ends_with("_efforts") || name == "effort_status"
}

fn is_effort_call(round: &CallResult) -> bool {
    is_effort_tool(&round.tool)
}

/// The effort that a log marker names; `Some(None)` for recent chat.
fn parse_log_marker(text: &str) -> Option<Option<String>> {
    let text = text.strip_suffix(']')?;
    if text.starts_with("Recent chat") {
        return Some(None);
    }
    let rest = text.strip_prefix("Log of the ").or_else(|| text.strip_prefix("The "))?;
    let (_, id) = rest.split_once("effort ")?;
    Some(id.split([',', ';']).next().map(str::to_owned))
}

/// The messages of a log shown as one text.
fn parse_transcript(text: &str) -> Vec<Message> {
    let text = text.strip_suffix("§[End of the log]").unwrap_or(text);
    let mut out: Vec<(bool, String)> = Vec::new();
    for line in text.trim_end().lines() {
        match (line.strip_prefix("user: "), line.strip_prefix("assistant: "), out.last_mut()) {
            (Some(content), _, _) => out.push((true, content.to_owned())),
            (_, Some(content), _) => out.push((false, content.to_owned())),
            (None, None, Some((_, content))) => {
                *content = format!("{content}\n{}", line.strip_prefix(QUOTE).unwrap_or(line));
            }
            (None, None, None) => {}
        }
    }
    let message =
        |(user, content): (bool, String)| if user { Message::user(content) } else { Message::assistant(content) };
    out.into_iter().map(message).collect()
}
