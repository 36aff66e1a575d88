//! The logs as lines: what was said, when its turn has ended.

use std::borrow::Cow;
use std::collections::BTreeMap;

use neap_core::event::{Event, Recorded, RoundVisibility};
use neap_core::ids::{EffortId, Seq, Stamp, TurnNo};
use neap_core::message::{Message, Scope, ToolCall};
use serde::Serialize;

use super::iso;
use crate::Stored;
use crate::exchange::damaged;

#[derive(Serialize)]
struct Line<'a> {
    role: &'static str,
    content: Cow<'a, str>,
    ts: String,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tool_calls: &'a [ToolCall],
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

/// Turns events into lines. Turns in flight wait here until they end.
pub(super) struct Lines {
    /// Ends up to here are written already.
    after: Seq,
    in_flight: BTreeMap<TurnNo, Vec<u8>>,
    /// New lines of each log, turn by turn.
    ended: BTreeMap<Scope, Vec<(TurnNo, Vec<u8>)>>,
    /// Whether something was taken back that is written already.
    pub(super) is_less: bool,
    /// Lines of turns that were taken back.
    pub(super) taken_back: Vec<u8>,
    /// Efforts that were opened since, in order.
    pub(super) opened: Vec<EffortId>,
}

impl Lines {
    /// For what ended after an event.
    pub(super) fn after(after: Seq) -> Self {
        let (in_flight, ended, opened) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        Self { after, in_flight, ended, is_less: false, taken_back: Vec::new(), opened }
    }

    /// Follows an event. One that is damaged says nothing.
    pub(super) fn add(&mut self, stored: &Stored) {
        let Stored::Event(Recorded { seq, at, event }) = stored else { return };
        match event {
            Event::TurnStarted { turn, message, .. } => {
                self.in_flight.insert(*turn, line(&message.message, *at));
            }
            Event::ToolsCalled { turn, round, visibility: RoundVisibility::Transcript } => {
                if let Some(said) = self.in_flight.get_mut(turn) {
                    said.extend(round.messages().flat_map(|counted| line(&counted.message, *at)));
                }
            }
            Event::TurnCompleted { turn, reply, scope, .. } => {
                let lost = || line(&damaged(Message::user("")), *at);
                let mut said = self.in_flight.remove(turn).unwrap_or_else(lost);
                said.extend(line(&reply.message, *at));
                self.end(*seq, *turn, scope, said);
            }
            Event::MessageAdded { turn, message } => {
                if let Some(said) = self.in_flight.get_mut(turn) {
                    said.extend(line(&message.message, *at));
                }
            }
            Event::TurnAbandoned { turn, scope, .. } | Event::TurnClosed { turn, scope } => {
                if let Some(said) = self.in_flight.remove(turn) {
                    self.end(*seq, *turn, scope, said);
                }
            }
            Event::TurnTakenBack { turn, scope, .. } => {
                if *seq > self.after {
                    let said = self.ended.entry(scope.clone()).or_default();
                    self.is_less |= !said.iter().any(|(of, _)| of == turn);
                    let taken = said.extract_if(.., |(of, _)| of == turn);
                    self.taken_back.extend(taken.flat_map(|(_, lines)| lines));
                }
            }
            Event::EffortOpened { id, .. } => {
                if *seq > self.after {
                    self.opened.push(id.clone());
                }
            }
            Event::Scrubbed { .. } => *self = Self::after(self.after),
            Event::ToolsCalled { visibility: RoundVisibility::ThisTurn, .. }
            | Event::SessionCreated { .. }
            | Event::PolicyChanged { .. }
            | Event::EffortConcluded { .. }
            | Event::EffortSummarized { .. }
            | Event::EffortExpanded { .. }
            | Event::EffortCollapsed { .. }
            | Event::EffortSwitched { .. }
            | Event::EffortReopened { .. }
            | Event::EffortsReferenced { .. }
            | Event::SummariesEvicted { .. }
            | Event::SpanCompacted { .. }
            | Event::HistoryLinked { .. }
            | Event::RequestPassed { .. }
            | Event::ClientCompacted { .. }
            | Event::EpochBegan { .. }
            | Event::MemoriesLoaded { .. }
            | Event::CensorTriggered { .. }
            | Event::MemoryChanged { .. }
            | Event::MemoryErased { .. } => {}
        }
    }

    /// New lines of each log that has any.
    pub(super) fn ended(&self) -> BTreeMap<&Scope, Vec<u8>> {
        let whole = |said: &Vec<(TurnNo, Vec<u8>)>| said.iter().flat_map(|(_, lines)| lines).copied().collect();
        let some = self.ended.iter().filter(|(_, said)| !said.is_empty());
        some.map(|(scope, said)| (scope, whole(said))).collect()
    }

    fn end(&mut self, seq: Seq, turn: TurnNo, scope: &Scope, said: Vec<u8>) {
        if seq > self.after {
            let said = scope.effort().map_or_else(|| said.clone(), |id| with_effort(&said, id));
            self.ended.entry(scope.clone()).or_default().push((turn, said));
        }
    }
}

/// Lines that say which effort they are of: the name of their file does not.
fn with_effort(lines: &[u8], id: &EffortId) -> Vec<u8> {
    let mut out = Vec::with_capacity(lines.len() + lines.len() / 4);
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        out.extend_from_slice(line.strip_suffix(b"}\n").unwrap_or(line));
        // An id has no characters that JSON would write otherwise.
        out.extend_from_slice(format!(",\"effort\":\"{id}\"}}\n").as_bytes());
    }
    out
}

fn line(message: &Message, at: Stamp) -> Vec<u8> {
    let line = Line {
        role: message.role.as_str(),
        // A view is for people: why a reply has no end stands in it.
        content: match message.incomplete {
            None => Cow::Borrowed(&message.content),
            Some(_) => Cow::Owned(message.for_people()),
        },
        ts: iso(at),
        tool_calls: &message.tool_calls,
        tool_call_id: message.tool_call_id.as_deref(),
    };
    let mut bytes = serde_json::to_vec(&line).expect("strings can always be written as JSON");
    bytes.push(b'\n');
    bytes
}
