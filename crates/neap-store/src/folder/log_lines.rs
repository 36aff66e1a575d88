//! Turns events into the lines of logs. A turn's lines are written when it ends.

use std::borrow::Cow;
use std::collections::BTreeMap;

use neap_core::base::ids::{EffortId, Seq, Stamp, TurnNo};
use neap_core::base::message::{Message, Scope, ToolCall};
use neap_core::session::event::{EffortEvent, Event, RecordedEvent, RoundVisibility, SessionEvent, TurnEvent};
use serde::Serialize;

use super::iso_timestamp;
use crate::StoredEvent;
use crate::backend::exchange::damaged_message;

#[derive(Serialize)]
struct LogLine<'a> {
    role: &'static str,
    content: Cow<'a, str>,
    ts: String,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tool_calls: &'a [ToolCall],
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

/// Turns in flight are buffered here until they end.
pub(super) struct LogLines {
    /// Turns that ended up to here are written already.
    after: Seq,
    in_flight: BTreeMap<TurnNo, Vec<u8>>,
    ended: BTreeMap<Scope, Vec<(TurnNo, Vec<u8>)>>,
    /// Whether a turn was taken back that is already written.
    pub(super) needs_rewrite: bool,
    /// Lines of turns that were taken back.
    pub(super) undone: Vec<u8>,
    /// Efforts opened since, in order.
    pub(super) opened: Vec<EffortId>,
}

impl LogLines {
    pub(super) fn after(after: Seq) -> Self {
        let (in_flight, ended, opened) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        Self { after, in_flight, ended, needs_rewrite: false, undone: Vec::new(), opened }
    }

    pub(super) fn add(&mut self, stored: &StoredEvent) {
        let StoredEvent::Whole(RecordedEvent { seq, at, event }) = stored else { return };
        match event {
            Event::Turn(TurnEvent::Started { turn, message, .. }) => {
                self.in_flight.insert(*turn, json_line(&message.message, *at));
            }
            Event::Turn(TurnEvent::ToolsCalled { turn, round, visibility: RoundVisibility::Transcript }) => {
                if let Some(lines) = self.in_flight.get_mut(turn) {
                    lines.extend(round.messages().flat_map(|counted| json_line(&counted.message, *at)));
                }
            }
            Event::Turn(TurnEvent::Completed { turn, reply, scope, .. }) => {
                let lost = || json_line(&damaged_message(Message::user("")), *at);
                let mut lines = self.in_flight.remove(turn).unwrap_or_else(lost);
                lines.extend(json_line(&reply.message, *at));
                self.finish_turn(*seq, *turn, scope, lines);
            }
            Event::Turn(TurnEvent::MessageAdded { turn, message }) => {
                if let Some(lines) = self.in_flight.get_mut(turn) {
                    lines.extend(json_line(&message.message, *at));
                }
            }
            Event::Turn(TurnEvent::Abandoned { turn, scope, .. } | TurnEvent::Closed { turn, scope }) => {
                if let Some(lines) = self.in_flight.remove(turn) {
                    self.finish_turn(*seq, *turn, scope, lines);
                }
            }
            Event::Turn(TurnEvent::TakenBack { turn, scope, .. }) => {
                if *seq > self.after {
                    let turns = self.ended.entry(scope.clone()).or_default();
                    self.needs_rewrite |= !turns.iter().any(|(ended, _)| ended == turn);
                    let undone = turns.extract_if(.., |(ended, _)| ended == turn);
                    self.undone.extend(undone.flat_map(|(_, lines)| lines));
                }
            }
            Event::Effort(EffortEvent::Opened { id, .. }) => {
                if *seq > self.after {
                    self.opened.push(id.clone());
                }
            }
            Event::Session(SessionEvent::Scrubbed { .. }) => *self = Self::after(self.after),
            Event::Turn(TurnEvent::ToolsCalled { visibility: RoundVisibility::ThisTurn, .. })
            | Event::Session(
                SessionEvent::Created { .. }
                | SessionEvent::PolicyChanged { .. }
                | SessionEvent::ProjectSet { .. }
                | SessionEvent::HostEntriesAdded { .. },
            )
            | Event::Effort(
                EffortEvent::Concluded { .. }
                | EffortEvent::Summarized { .. }
                | EffortEvent::Expanded { .. }
                | EffortEvent::Collapsed { .. }
                | EffortEvent::Switched { .. }
                | EffortEvent::Reopened { .. }
                | EffortEvent::Referenced { .. }
                | EffortEvent::Evicted { .. },
            )
            | Event::Window(_)
            | Event::Client(_)
            | Event::Memory(_) => {}
        }
    }

    pub(super) fn ended(&self) -> BTreeMap<&Scope, Vec<u8>> {
        let whole = |turns: &Vec<(TurnNo, Vec<u8>)>| turns.iter().flat_map(|(_, lines)| lines).copied().collect();
        let some = self.ended.iter().filter(|(_, turns)| !turns.is_empty());
        some.map(|(scope, turns)| (scope, whole(turns))).collect()
    }

    fn finish_turn(&mut self, seq: Seq, turn: TurnNo, scope: &Scope, lines: Vec<u8>) {
        if seq > self.after {
            let lines = scope.effort().map_or_else(|| lines.clone(), |id| with_effort(&lines, id));
            self.ended.entry(scope.clone()).or_default().push((turn, lines));
        }
    }
}

/// Adds the effort's id to each line, since the name of the file does not show it.
fn with_effort(lines: &[u8], id: &EffortId) -> Vec<u8> {
    let mut out = Vec::with_capacity(lines.len() + lines.len() / 4);
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        out.extend_from_slice(line.strip_suffix(b"}\n").unwrap_or(line));
        // An id has no characters that JSON would escape.
        out.extend_from_slice(format!(",\"effort\":\"{id}\"}}\n").as_bytes());
    }
    out
}

fn json_line(message: &Message, at: Stamp) -> Vec<u8> {
    let line = LogLine {
        role: message.role.as_str(),
        // People read this view, so the text says why a reply is incomplete.
        content: match message.incomplete {
            None => Cow::Borrowed(&message.content),
            Some(_) => Cow::Owned(message.display_text()),
        },
        ts: iso_timestamp(at),
        tool_calls: &message.tool_calls,
        tool_call_id: message.tool_call_id.as_deref(),
    };
    let mut bytes = serde_json::to_vec(&line).expect("strings can always be written as JSON");
    bytes.push(b'\n');
    bytes
}
