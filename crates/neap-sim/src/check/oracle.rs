//! A second opinion on memory: who is referenced, what fades and where exchanges go, by brute force.
//!
//! The oracle follows what models and people decided (opened, concluded, expanded …) from the stream, and works
//! out the rest itself: references (DESIGN, decisions 2 and 4), decay and eviction at exactly their thresholds
//! (decision 1) and routing (decision 3). No index, no cleverness: every effort is looked at every time.

use std::collections::{BTreeMap, BTreeSet};

use neap_core::event::{AbandonReason, CollapseCause, Event, Recorded};
use neap_core::message::{Scope, ToolRound};
use neap_core::policy::Policy;
use neap_core::reference::{is_stop_word, is_unspaced};
use neap_core::state::SessionState;
use serde_json::Value;

use super::Violations;
use crate::plant::Plant;

/// One effort as the oracle knows it.
#[derive(Debug, Default)]
struct Known {
    concluded: bool,
    shown: bool,
    expanded: bool,
    /// The turn of the expansion.
    since: u64,
    referenced: u64,
    summary: BTreeSet<String>,
}

#[derive(Debug, Default)]
struct InTurn {
    said: String,
    active_before: Option<String>,
    entered: Option<String>,
    touched: BTreeSet<String>,
    /// It goes on with a turn that another process took for dead; what that one did counts for it.
    continued: bool,
}

/// The second opinion.
#[derive(Debug, Default)]
pub struct Oracle {
    policy: Policy,
    turn: u64,
    active: Option<String>,
    efforts: BTreeMap<String, Known>,
    in_flight: BTreeMap<u64, InTurn>,
    /// Turns that were taken for dead, perhaps wrongly.
    dead: BTreeMap<u64, InTurn>,
    plant: Option<Plant>,
}

impl Oracle {
    /// An oracle, wrong on purpose if a fault is planted in it.
    pub fn new(plant: Option<Plant>) -> Self {
        Self { plant, ..Self::default() }
    }

    /// Follows new events.
    pub fn follow(&mut self, events: &[Recorded], out: &mut Violations) {
        for (at, recorded) in events.iter().enumerate() {
            self.one(recorded, events.get(at + 1), out);
        }
    }

    fn one(&mut self, recorded: &Recorded, next: Option<&Recorded>, out: &mut Violations) {
        match &recorded.event {
            Event::SessionCreated { policy, .. } | Event::PolicyChanged { policy } => self.policy = policy.clone(),
            Event::TurnStarted { turn, message, .. } => {
                self.turn = turn.0;
                let said = message.message.content.to_string();
                // Begun and ended in one commit with the words of a dead turn: that turn was not dead.
                let at_once = next.is_some_and(|next| next.at == recorded.at);
                let dead = self.dead.iter().find(|(_, dead)| at_once && dead.said == said).map(|(turn, _)| *turn);
                let continued = dead.is_some();
                let touched = dead.and_then(|turn| self.dead.remove(&turn)).unwrap_or_default().touched;
                let active_before = self.active.clone();
                self.in_flight.insert(turn.0, InTurn { said, active_before, touched, continued, entered: None });
            }
            Event::ToolsCalled { turn, round, .. } => self.called(turn.0, round),
            Event::EffortOpened { id, turn, .. } => self.enter(id.as_str(), turn.0),
            Event::EffortSwitched { id, turn } | Event::EffortReopened { id, turn } => {
                self.enter(id.as_str(), turn.0);
            }
            Event::EffortConcluded { id, summary, turn, next_active, provisional: _, receipt: _ } => {
                let effort = self.efforts.entry(id.to_string()).or_default();
                effort.concluded = true;
                effort.shown = true;
                effort.referenced = effort.referenced.max(turn.0);
                effort.summary = keywords(&summary.text);
                self.active = next_active.as_ref().map(ToString::to_string);
            }
            Event::EffortSummarized { id, summary, .. } => {
                self.efforts.entry(id.to_string()).or_default().summary = keywords(&summary.text);
            }
            Event::EffortExpanded { id, turn, .. } => {
                let effort = self.efforts.entry(id.to_string()).or_default();
                effort.expanded = true;
                effort.since = turn.0;
                effort.shown = true;
                effort.referenced = effort.referenced.max(turn.0);
            }
            Event::EffortCollapsed { id, cause, .. } => match cause {
                CollapseCause::Asked | CollapseCause::Restarted => {
                    self.efforts.entry(id.to_string()).or_default().expanded = false;
                }
                // Worked out when the turn ended; compared at the end of the step.
                CollapseCause::Decayed { .. } | CollapseCause::Crowded => {}
            },
            Event::EffortsReferenced { turn, ids } => {
                // At the end of a turn it was worked out already; from a lone call it is followed.
                if next.is_some_and(|next| matches!(next.event, Event::ToolsCalled { .. })) {
                    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
                    self.refer(&ids, turn.0);
                }
            }
            Event::TurnCompleted { turn, reply, scope, .. } => {
                let in_turn = self.ended(turn.0, scope, out);
                self.fade(turn.0, &in_turn, &reply.message.content);
            }
            Event::TurnAbandoned { turn, scope, reason } => {
                let in_turn = self.ended(turn.0, scope, out);
                if *reason == AbandonReason::ProcessEnded {
                    self.dead.insert(turn.0, in_turn);
                }
            }
            Event::TurnClosed { turn, scope } => {
                self.ended(turn.0, scope, out);
            }
            Event::SummariesEvicted { .. }
            | Event::SpanCompacted { .. }
            | Event::TurnTakenBack { .. }
            | Event::HistoryLinked { .. }
            | Event::RequestPassed { .. }
            | Event::ClientCompacted { .. }
            | Event::EpochBegan { .. }
            | Event::MemoriesLoaded { .. }
            | Event::CensorTriggered { .. }
            | Event::MemoryChanged { .. }
            | Event::MemoryErased { .. }
            | Event::MessageAdded { .. } => {}
            Event::Scrubbed { .. } => {
                *self = Self::new(self.plant);
            }
        }
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

    /// Reads from the results of a round what the turn did.
    fn called(&mut self, turn: u64, round: &ToolRound) {
        let Some(in_turn) = self.in_flight.get_mut(&turn).or(self.dead.get_mut(&turn)) else { return };
        if in_turn.continued {
            return;
        }
        let alone = is_alone(round);
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

    /// Decision 3: what the turn entered last, else what was active before it, else ambient.
    fn ended(&mut self, turn: u64, scope: &Scope, out: &mut Violations) -> InTurn {
        let in_turn = self.in_flight.remove(&turn).unwrap_or_default();
        let must = in_turn.entered.clone().or(in_turn.active_before.clone());
        let is = scope.effort().map(ToString::to_string);
        out.check("routing", is == must, || format!("turn {turn} went to {is:?}, belongs to {must:?}"));
        in_turn
    }

    fn refer(&mut self, ids: &[String], turn: u64) {
        for id in ids {
            if let Some(effort) = self.efforts.get_mut(id).filter(|effort| effort.concluded) {
                effort.referenced = effort.referenced.max(turn);
                effort.shown = true;
            }
        }
    }

    fn fade(&mut self, turn: u64, in_turn: &InTurn, reply: &str) {
        let said = [Text::of(&in_turn.said), Text::of(reply)];
        let concluded = self.efforts.iter().filter(|(_, effort)| effort.concluded);
        let referenced: Vec<String> = concluded
            .filter(|(id, effort)| {
                in_turn.touched.contains(*id) || said.iter().any(|text| self.is_referenced(id, effort, text))
            })
            .map(|(id, _)| id.clone())
            .collect();
        self.refer(&referenced, turn);
        let late = |plant: Plant| u64::from(self.plant == Some(plant));
        let decay = self.policy.decay_threshold + late(Plant::LateDecay);
        let eviction = self.policy.summary_eviction_threshold + late(Plant::LateEviction);
        let now = self.turn;
        let idle = |effort: &Known| now.saturating_sub(effort.referenced);
        for effort in self.efforts.values_mut().filter(|effort| effort.expanded && idle(effort) >= decay) {
            effort.expanded = false;
        }
        self.thin_out();
        for effort in self.efforts.values_mut().filter(|effort| effort.concluded && !effort.expanded) {
            if idle(effort) >= eviction {
                effort.shown = false;
            }
        }
    }

    /// Over the quota of expansions, the longest unreferenced go.
    fn thin_out(&mut self) {
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

    /// The rule of the seed: the id is named, or enough keywords of the summary are there (decision 4).
    fn is_referenced(&self, id: &str, effort: &Known, text: &Text) -> bool {
        let inside = id.chars().any(is_unspaced) && text.lower.contains(id);
        if inside || text.folded.contains(&folded(id)) {
            return true;
        }
        let shared = text.keywords.iter().filter(|word| effort.summary.contains(*word));
        let telling = shared.filter(|word| effort.expanded || self.is_telling(word));
        telling.count() as u64 >= self.policy.min_keyword_overlap
    }

    /// A keyword that too many summaries carry says nothing, unless the effort is in view anyway.
    fn is_telling(&self, word: &str) -> bool {
        let carried = self.efforts.values().filter(|effort| effort.concluded && effort.summary.contains(word));
        carried.count() as u64 <= self.policy.keyword_efforts_max
    }

    /// Compares with what the engine holds.
    pub fn compare(&self, state: &SessionState, out: &mut Violations) {
        let active = state.active().map(|effort| effort.id.to_string());
        out.check("I5", active == self.active, || format!("{active:?} is active, must be {:?}", self.active));
        out.check("I3", state.efforts().len() == self.efforts.len(), || {
            format!("{} efforts, must be {}", state.efforts().len(), self.efforts.len())
        });
        for effort in state.efforts() {
            let id = &effort.id;
            let Some(must) = self.efforts.get(id.as_str()) else { continue };
            let is = (effort.is_concluded(), effort.shown, effort.expanded.is_some(), effort.last_referenced.0);
            let must = (must.concluded, must.shown, must.expanded, must.referenced);
            out.check("I6", is == must, || {
                format!(
                    "{id}: (concluded, shown, expanded, referenced) is {is:?}, must be {must:?} in turn {}",
                    self.turn
                )
            });
        }
    }
}

/// What was said, in the forms in which it is compared.
struct Text {
    lower: String,
    folded: String,
    keywords: BTreeSet<String>,
}

impl Text {
    fn of(text: &str) -> Self {
        Self { lower: text.to_lowercase(), folded: folded(text), keywords: keywords(text) }
    }
}

/// A person's command that fell into the turn of another process; its own events say what it referenced.
fn is_alone(round: &ToolRound) -> bool {
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
            keep(&mut out, word, 3);
            continue;
        }
        let chars: Vec<char> = word.chars().collect();
        for run in chars.chunk_by(|a, b| is_unspaced(*a) == is_unspaced(*b)) {
            match run {
                [one] if is_unspaced(*one) => keep(&mut out, one.to_string(), 1),
                [first, ..] if is_unspaced(*first) => {
                    run.windows(2).for_each(|pair| keep(&mut out, pair.iter().collect(), 2));
                }
                spaced => keep(&mut out, spaced.iter().collect(), 3),
            }
        }
    }
    out
}

fn keep(among: &mut BTreeSet<String>, word: String, chars_min: usize) {
    if word.chars().count() >= chars_min && !is_stop_word(&word) {
        among.insert(word);
    }
}
