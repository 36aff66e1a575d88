//! A prompt that grew since it was written: its records tell how things stood then, its later messages what
//! happened since. What a tool of efforts answered is followed, and each exchange goes to the log it belongs to.

use neap_core::message::{Message, Role};
use neap_core::prompt::MARK;
use neap_core::render::QUOTE;
use serde_json::Value;

use super::read::{LogPart, Round, Situation, rounds, summed};

/// A message of the program's own, rather than of a person.
pub(super) fn is_ours(message: &Message) -> bool {
    message.role == Role::User && message.content.starts_with(MARK)
}

/// Follows what was said and done, up to this turn and in it.
pub(super) fn follow(situation: &mut Situation, before: &[Message], turn: &[Message]) {
    let mut reader = Reader { situation, at: None, has_grown: false };
    let mut rest = before;
    while !rest.is_empty() {
        let next = rest.iter().skip(1).position(|m| m.role == Role::User).map_or(rest.len(), |at| at + 1);
        let (exchange, later) = rest.split_at(next);
        reader.take(exchange);
        rest = later;
    }
    for message in turn.iter().skip(1).filter(|m| is_ours(m)) {
        reader.take(std::slice::from_ref(message));
    }
    for round in rounds(turn) {
        reader.situation.followed(&round);
    }
    situation.logs.retain(|part| !part.messages.is_empty());
}

struct Reader<'a> {
    situation: &'a mut Situation,
    /// The log that a marker announced; none for recent chat.
    at: Option<String>,
    /// Whether this is surely behind what the prompt began with.
    has_grown: bool,
}

impl Reader<'_> {
    fn take(&mut self, exchange: &[Message]) {
        let Some(first) = exchange.first() else { return };
        if is_ours(first) {
            self.ours(&first.content);
            return self.put(self.at.clone(), &exchange[1..]);
        }
        let active = self.situation.active.clone();
        let mut entered = None;
        let of_efforts: Vec<Round> = rounds(exchange).into_iter().filter(is_of_efforts).collect();
        for round in &of_efforts {
            self.has_grown = true;
            entered = self.situation.followed(round).or(entered);
        }
        let log = if self.has_grown { entered.or(active) } else { self.at.clone() };
        self.put(log, exchange);
    }

    fn ours(&mut self, text: &str) {
        let Some(text) = text.strip_prefix(MARK) else { return };
        if text.starts_with("Records ") {
            self.situation.read_records(text);
        } else if let Some(line) = text.strip_prefix("Now: ").and_then(|text| text.strip_suffix(']')) {
            self.has_grown = true;
            self.situation.read_standing(line);
        } else if text.starts_with("What is known beyond this conversation") {
            self.has_grown = true;
            self.situation.read_known(text);
        } else if text.starts_with("Summaries of earlier efforts") {
            self.has_grown = true;
            for (id, summary) in text.lines().skip(1).filter_map(summed) {
                self.situation.sum_up(id, summary);
            }
        } else if let Some((marker, log)) = text.split_once('\n').filter(|(marker, _)| marker.ends_with(']')) {
            // A whole log in one message: what follows it belongs where it did before.
            if let Some(Some(id)) = marked(marker) {
                self.has_grown = true;
                self.put(Some(id), &transcript(log));
            }
        } else if let Some(log) = marked(text) {
            self.at = log;
        }
    }

    /// Puts messages into a log, without the calls of effort tools and their answers.
    fn put(&mut self, id: Option<String>, messages: &[Message]) {
        let ids: Vec<&str> = messages
            .iter()
            .flat_map(|m| &m.tool_calls)
            .filter(|call| is_effort_tool(&call.name))
            .map(|call| call.id.as_str())
            .collect();
        let is_said = |m: &&Message| {
            let answers_us = m.tool_call_id.as_deref().is_some_and(|id| ids.contains(&id));
            let calls_us = m.tool_calls.iter().any(|call| is_effort_tool(&call.name));
            m.role != Role::System && !answers_us && !(calls_us && m.content.is_empty())
        };
        let said = messages.iter().filter(is_said).cloned();
        match self.situation.logs.iter_mut().find(|part| part.id == id) {
            Some(part) => part.messages.extend(said),
            None => self.situation.logs.push(LogPart { id, messages: said.collect() }),
        }
    }
}

impl Situation {
    /// Follows a call of an effort tool; gives the effort that it entered.
    fn followed(&mut self, round: &Round) -> Option<String> {
        let text = |key: &str| round.result.get(key).and_then(Value::as_str);
        let id = text("effort_id").filter(|_| text("error").is_none())?.to_owned();
        match round.tool.as_str() {
            "open_effort" | "switch_effort" | "reopen_effort" => {
                let left = self.active.replace(id.clone()).filter(|left| *left != id);
                self.open.retain(|open| *open != id);
                self.open.extend(left);
                self.summaries.retain(|(of, _)| *of != id);
                self.expanded.retain(|of| *of != id);
                return Some(id);
            }
            "close_effort" => {
                self.open.retain(|open| *open != id);
                if self.active.as_ref() == Some(&id) {
                    self.active = self.open.pop();
                }
                self.sum_up(&id, text("summary").unwrap_or_default());
            }
            "expand_effort" if !self.expanded.contains(&id) => self.expanded.push(id),
            "collapse_effort" => self.expanded.retain(|of| *of != id),
            _ => {}
        }
        None
    }

    fn sum_up(&mut self, id: &str, text: &str) {
        if self.summary(id).is_none() {
            self.summaries.push((id.to_owned(), text.to_owned()));
        }
    }
}

fn is_effort_tool(name: &str) -> bool {
    name.ends_with("_effort") || name.ends_with("_efforts") || name == "effort_status"
}

fn is_of_efforts(round: &Round) -> bool {
    is_effort_tool(&round.tool)
}

/// The effort whose log begins here, by what follows our mark; `Some(None)` for recent chat.
fn marked(text: &str) -> Option<Option<String>> {
    let text = text.strip_suffix(']')?;
    if text.starts_with("Recent chat") {
        return Some(None);
    }
    let rest = text.strip_prefix("Log of the ").or_else(|| text.strip_prefix("The "))?;
    let (_, id) = rest.split_once("effort ")?;
    Some(id.split([',', ';']).next().map(str::to_owned))
}

/// The messages of a log that is shown as one text.
fn transcript(text: &str) -> Vec<Message> {
    let text = text.strip_suffix("§[End of the log]").unwrap_or(text);
    let mut out: Vec<(bool, String)> = Vec::new();
    for line in text.trim_end().lines() {
        match (line.strip_prefix("user: "), line.strip_prefix("assistant: "), out.last_mut()) {
            (Some(said), _, _) => out.push((true, said.to_owned())),
            (_, Some(said), _) => out.push((false, said.to_owned())),
            (None, None, Some((_, said))) => {
                *said = format!("{said}\n{}", line.strip_prefix(QUOTE).unwrap_or(line));
            }
            (None, None, None) => {}
        }
    }
    let message = |(user, said): (bool, String)| if user { Message::user(said) } else { Message::assistant(said) };
    out.into_iter().map(message).collect()
}
