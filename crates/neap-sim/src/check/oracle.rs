//! A second implementation of references, decay, eviction and routing, by brute force.
//!
//! The oracle follows decisions of models and people (opened, concluded, expanded …) from the stream, and derives
//! the rest itself: references, decay and eviction at exactly their thresholds, and routing. It has no index: every
//! effort is examined every time.

use std::collections::{BTreeMap, BTreeSet};

use neap_core::base::message::{Scope, ToolRound};
use neap_core::base::policy::Policy;
use neap_core::session::event::{
    AbandonReason, CollapseCause, EffortEvent, Event, RecordedEvent, SessionEvent, TurnEvent,
};
use neap_core::session::state::SessionState;
use neap_core::text::reference::{is_stop_word, is_unspaced};
use serde_json::Value;

use super::Violations;
use crate::plant::Plant;

#[derive(Debug, Default)]
struct OracleEffort {
    concluded: bool,
    shown: bool,
    expanded: bool,
    since: u64,
    referenced: u64,
    summary: BTreeSet<String>,
}

#[derive(Debug, Default)]
struct OracleTurn {
    user_text: String,
    active_before: Option<String>,
    entered: Option<String>,
    touched: BTreeSet<String>,
    /// It continues a turn that another process counted as dead; that turn's calls count for it.
    continued: bool,
}

#[derive(Debug, Default)]
pub struct Oracle {
    policy: Policy,
    turn: u64,
    active: Option<String>,
    efforts: BTreeMap<String, OracleEffort>,
    in_flight: BTreeMap<u64, OracleTurn>,
    /// Turns that counted as dead, perhaps wrongly.
    abandoned: BTreeMap<u64, OracleTurn>,
    plant: Option<Plant>,
}

impl Oracle {
    /// `plant` makes the oracle wrong on purpose.
    pub fn new(plant: Option<Plant>) -> Self {
        Self { plant, ..Self::default() }
    }

    pub fn follow(&mut self, events: &[RecordedEvent], out: &mut Violations) {
        for (at, recorded) in events.iter().enumerate() {
            self.apply(recorded, events.get(at + 1), out);
        }
    }

    fn apply(&mut self, recorded: &RecordedEvent, next: Option<&RecordedEvent>, out: &mut Violations) {
        match &recorded.event {
            Event::Session(SessionEvent::Created { policy, .. } | SessionEvent::PolicyChanged { policy }) => {
                self.policy = policy.clone()
            }
            Event::Turn(TurnEvent::Started { turn, message, .. }) => {
                let at_once = next.is_some_and(|next| next.at == recorded.at);
                self.start_turn(turn.0, message.message.content.to_string(), at_once);
            }
            Event::Turn(TurnEvent::ToolsCalled { turn, round, .. }) => self.apply_round(turn.0, round),
            Event::Effort(event) => self.apply_effort(event, next),
            Event::Turn(TurnEvent::Completed { turn, reply, scope, .. }) => {
                let in_turn = self.end_turn(turn.0, scope, out);
                self.decay_and_evict(turn.0, &in_turn, &reply.message.content);
            }
            Event::Turn(TurnEvent::Abandoned { turn, scope, reason }) => {
                let in_turn = self.end_turn(turn.0, scope, out);
                if *reason == AbandonReason::ProcessEnded {
                    self.abandoned.insert(turn.0, in_turn);
                }
            }
            Event::Turn(TurnEvent::Closed { turn, scope }) => {
                self.end_turn(turn.0, scope, out);
            }
            Event::Window(_)
            | Event::Turn(TurnEvent::TakenBack { .. } | TurnEvent::MessageAdded { .. })
            | Event::Client(_)
            | Event::Memory(_)
            | Event::Session(SessionEvent::ProjectSet { .. } | SessionEvent::HostEntriesAdded { .. }) => {}
            Event::Session(SessionEvent::Scrubbed { .. }) => {
                *self = Self::new(self.plant);
            }
        }
    }

    fn apply_effort(&mut self, event: &EffortEvent, next: Option<&RecordedEvent>) {
        let turn = event.turn().0;
        match event {
            EffortEvent::Opened { id, .. }
            | EffortEvent::Switched { id, .. }
            | EffortEvent::Reopened { id, .. } => {
                self.enter(id.as_str(), turn);
            }
            EffortEvent::Concluded { id, summary, next_active, .. } => {
                let effort = self.efforts.entry(id.to_string()).or_default();
                effort.concluded = true;
                effort.shown = true;
                effort.referenced = effort.referenced.max(turn);
                effort.summary = keywords(&summary.text);
                self.active = next_active.as_ref().map(ToString::to_string);
            }
            EffortEvent::Summarized { id, summary, .. } => {
                self.efforts.entry(id.to_string()).or_default().summary = keywords(&summary.text);
            }
            EffortEvent::Expanded { id, .. } => {
                let effort = self.efforts.entry(id.to_string()).or_default();
                effort.expanded = true;
                effort.since = turn;
                effort.shown = true;
                effort.referenced = effort.referenced.max(turn);
            }
            EffortEvent::Collapsed { id, cause: CollapseCause::Asked | CollapseCause::Restarted, .. } => {
                self.efforts.entry(id.to_string()).or_default().expanded = false;
            }
            EffortEvent::Referenced { ids, .. } => {
                // Already derived at the end of a turn; a standalone call's references are followed.
                if next.is_some_and(|next| matches!(next.event, Event::Turn(TurnEvent::ToolsCalled { .. }))) {
                    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
                    self.mark_referenced(&ids, turn);
                }
            }
            // Derived when the turn ended; compared at the end of the step.
            EffortEvent::Collapsed { cause: CollapseCause::Decayed { .. } | CollapseCause::Crowded, .. }
            | EffortEvent::Evicted { .. } => {}
        }
    }

    /// A turn that is begun and ended at once, with the message of a dead turn, continues that one: it was not dead.
    fn start_turn(&mut self, turn: u64, user_text: String, at_once: bool) {
        self.turn = turn;
        let mut dead = self.abandoned.iter().filter(|(_, dead)| at_once && dead.user_text == user_text);
        let dead = dead.next().map(|(turn, _)| *turn);
        let touched = dead.and_then(|turn| self.abandoned.remove(&turn)).unwrap_or_default().touched;
        let (active_before, continued) = (self.active.clone(), dead.is_some());
        self.in_flight.insert(turn, OracleTurn { user_text, active_before, touched, continued, entered: None });
    }

    fn enter(&mut self, id: &str, turn: u64) {
        let effort = self.efforts.entry(id.to_owned()).or_default();
        if effort.concluded {
            effort.concluded = false;
            effort.shown = false;
            effort.expanded = false;
        }
        effort.referenced = effort.referenced.max(turn);
        self.active = Some(id.to_owned());
    }

    /// Reads from a round's results what the turn did.
    fn apply_round(&mut self, turn: u64, round: &ToolRound) {
        let Some(in_turn) = self.in_flight.get_mut(&turn).or(self.abandoned.get_mut(&turn)) else { return };
        if in_turn.continued {
            return;
        }
        let alone = is_standalone_call(round);
        for (call, result) in round.assistant.message.tool_calls.iter().zip(&round.results) {
            let Ok(answer) = serde_json::from_str::<Value>(&result.message.content) else { continue };
            let id = answer["effort_id"].as_str().or(answer["effort"]["id"].as_str());
            let Some(id) = id.filter(|_| answer["status"].is_string()) else { continue };
            match call.name.as_str() {
                "open_effort" | "switch_effort" | "reopen_effort" => {
                    in_turn.entered = Some(id.to_owned());
                    in_turn.touched.extend((!alone).then(|| id.to_owned()));
                }
                "close_effort" | "expand_effort" | "collapse_effort" | "effort_status" => {
                    in_turn.touched.extend((!alone).then(|| id.to_owned()));
                }
                _ => {}
            }
        }
    }

    /// Decision 3: the effort the turn entered last, else the one active before it, else ambient.
    fn end_turn(&mut self, turn: u64, scope: &Scope, out: &mut Violations) -> OracleTurn {
        let in_turn = self.in_flight.remove(&turn).unwrap_or_default();
        let expected = in_turn.entered.clone().or(in_turn.active_before.clone());
        let actual = scope.effort().map(ToString::to_string);
        out.check("routing", actual == expected, || {
            format!("turn {turn} went to {actual:?}, belongs to {expected:?}")
        });
        in_turn
    }

    fn mark_referenced(&mut self, ids: &[String], turn: u64) {
        for id in ids {
            if let Some(effort) = self.efforts.get_mut(id).filter(|effort| effort.concluded) {
                effort.referenced = effort.referenced.max(turn);
                effort.shown = true;
            }
        }
    }

    fn decay_and_evict(&mut self, turn: u64, in_turn: &OracleTurn, reply: &str) {
        let texts = [ComparedText::new(&in_turn.user_text), ComparedText::new(reply)];
        let concluded = self.efforts.iter().filter(|(_, effort)| effort.concluded);
        let referenced: Vec<String> = concluded
            .filter(|(id, effort)| {
                in_turn.touched.contains(*id) || texts.iter().any(|text| self.is_referenced(id, effort, text))
            })
            .map(|(id, _)| id.clone())
            .collect();
        self.mark_referenced(&referenced, turn);
        let late = |plant: Plant| u64::from(self.plant == Some(plant));
        let decay = self.policy.decay_threshold + late(Plant::LateDecay);
        let eviction = self.policy.summary_eviction_threshold + late(Plant::LateEviction);
        let now = self.turn;
        let idle = |effort: &OracleEffort| now.saturating_sub(effort.referenced);
        for effort in self.efforts.values_mut().filter(|effort| effort.expanded && idle(effort) >= decay) {
            effort.expanded = false;
        }
        self.collapse_over_quota();
        for effort in self.efforts.values_mut().filter(|effort| effort.concluded && !effort.expanded) {
            if idle(effort) >= eviction {
                effort.shown = false;
            }
        }
    }

    /// Over the quota of expansions, the longest unreferenced collapse.
    fn collapse_over_quota(&mut self) {
        loop {
            let expanded = self.efforts.iter().filter(|(_, effort)| effort.expanded);
            let oldest = expanded.clone().min_by_key(|(id, effort)| (effort.referenced, effort.since, *id));
            let Some(id) = oldest.map(|(id, _)| id.clone()) else { return };
            if expanded.count() as u64 <= self.policy.expanded_efforts_max {
                return;
            }
            if let Some(effort) = self.efforts.get_mut(&id) {
                effort.expanded = false;
            }
        }
    }

    /// The seed's rule: the id is named, or enough keywords of the summary are present.
    fn is_referenced(&self, id: &str, effort: &OracleEffort, text: &ComparedText) -> bool {
        let contains_id = id.chars().any(is_unspaced) && text.lower.contains(id);
        if contains_id || text.folded.contains(&folded(id)) {
            return true;
        }
        let shared = text.keywords.iter().filter(|word| effort.summary.contains(*word));
        let distinctive = shared.filter(|word| effort.expanded || self.is_distinctive(word));
        distinctive.count() as u64 >= self.policy.min_keyword_overlap
    }

    /// A keyword in too many summaries tells nothing, unless the effort is in view anyway.
    fn is_distinctive(&self, word: &str) -> bool {
        let carriers = self.efforts.values().filter(|effort| effort.concluded && effort.summary.contains(word));
        carriers.count() as u64 <= self.policy.keyword_efforts_max
    }

    pub fn compare(&self, state: &SessionState, out: &mut Violations) {
        let active = state.active_effort().map(|effort| effort.id.to_string());
        out.check("I5", active == self.active, || format!("{active:?} is active, must be {:?}", self.active));
        out.check("I3", state.efforts().len() == self.efforts.len(), || {
            format!("{} efforts, must be {}", state.efforts().len(), self.efforts.len())
        });
        for effort in state.efforts() {
            let id = &effort.id;
            let Some(wanted) = self.efforts.get(id.as_str()) else { continue };
            let actual =
                (effort.is_concluded(), effort.shown, effort.expanded.is_some(), effort.last_referenced.0);
            let wanted = (wanted.concluded, wanted.shown, wanted.expanded, wanted.referenced);
            out.check("I6", actual == wanted, || {
                format!(
                    "{id}: (concluded, shown, expanded, referenced) is {actual:?}, must be {wanted:?} in turn {}",
                    self.turn
                )
            });
        }
    }
}

struct ComparedText {
    lower: String,
    folded: String,
    keywords: BTreeSet<String>,
}

impl ComparedText {
    fn new(text: &str) -> Self {
        Self { lower: text.to_lowercase(), folded: folded(text), keywords: keywords(text) }
    }
}

/// A person's command during another process's turn; its own events say what it referenced.
fn is_standalone_call(round: &ToolRound) -> bool {
    let numbered = |id: &str| id.strip_prefix("call_").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
    matches!(round.assistant.message.tool_calls.as_slice(), [call] if numbered(&call.id))
}

/// Letters and digits in lower case, everything between them one `-`, with a `-` at both ends.
fn folded(text: &str) -> String {
    let mut out = String::from("-");
    for c in text.chars() {
        if c.is_alphanumeric() {
            out.extend(c.to_lowercase().filter(|lower| lower.is_alphanumeric()));
        } else if !out.ends_with('-') {
            out.push('-');
        }
    }
    if !out.ends_with('-') {
        out.push('-');
    }
    out
}

/// Seed 001, Keyword Extraction; scripts without spaces give pairs of neighbours.
fn keywords(text: &str) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for word in text.split_whitespace() {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        if !word.chars().any(is_unspaced) {
            insert_keyword(&mut out, word, 3);
            continue;
        }
        let chars: Vec<char> = word.chars().collect();
        for run in chars.chunk_by(|a, b| is_unspaced(*a) == is_unspaced(*b)) {
            match run {
                [one] if is_unspaced(*one) => insert_keyword(&mut out, one.to_string(), 1),
                [first, ..] if is_unspaced(*first) => {
                    run.windows(2).for_each(|pair| insert_keyword(&mut out, pair.iter().collect(), 2));
                }
                spaced => insert_keyword(&mut out, spaced.iter().collect(), 3),
            }
        }
    }
    out
}

fn insert_keyword(keywords: &mut BTreeSet<String>, word: String, chars_min: usize) {
    if word.chars().count() >= chars_min && !is_stop_word(&word) {
        keywords.insert(word);
    }
}
