//! A session folder made by another tool, as the events that would have made it.
//!
//! Log lines are paired into exchanges, the exchanges of all logs are put in the order of their times, and
//! each effort is opened before its first exchange and concluded after its last.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::decay;
use crate::effort::{EffortStatus, Summary};
use crate::event::{AbandonReason, Event};
use crate::ids::{EffortId, SessionId, Stamp, TurnNo};
use crate::memory::Author;
use crate::message::{Counted, Message, Role, Scope};
use crate::policy::Policy;
use crate::secrets::{FreshIds, Masking};
use crate::state::SessionState;
use crate::tokens::TokenCounter;

/// One line of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Who.
    pub role: Role,
    /// What.
    pub content: String,
    /// When, if it says so.
    pub ts: Option<Stamp>,
}

/// One effort of the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedEffort {
    /// Its id here.
    pub id: EffortId,
    /// Its id there.
    pub name: String,
    /// Open or concluded.
    pub status: EffortStatus,
    /// Whether it received messages.
    pub active: bool,
    /// What stood for it.
    pub summary: Option<String>,
    /// When it was opened.
    pub created: Option<Stamp>,
    /// When it last changed.
    pub updated: Option<Stamp>,
    /// Its log.
    pub lines: Vec<Line>,
}

/// A folder as it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportedFolder {
    /// Chat outside efforts.
    pub ambient: Vec<Line>,
    /// Efforts, in the manifest's order.
    pub efforts: Vec<ImportedEffort>,
    /// How many turns it counted.
    pub turn_count: Option<u64>,
    /// When each effort was last referenced, in its own turn numbers.
    pub last_referenced: BTreeMap<EffortId, u64>,
    /// What could not be read, or was changed in reading.
    pub notes: Vec<String>,
}

impl ImportedFolder {
    /// The folder without its secrets, as whatever other programs kept, and how many there were. An effort's id is made of its name.
    pub fn without_secrets(&self, masking: Masking) -> (Self, u64) {
        let (mut folder, mut count) = (self.clone(), 0);
        let mut hide = |text: &mut String| {
            let (safe, masked) = masking.text(text);
            if masked > 0 {
                *text = safe.into_owned();
            }
            count += u64::from(masked);
        };
        folder.ambient.iter_mut().for_each(|line| hide(&mut line.content));
        let mut ids = FreshIds::new(folder.efforts.iter().map(|effort| effort.id.clone()));
        for effort in &mut folder.efforts {
            let name = effort.name.clone();
            hide(&mut effort.name);
            if effort.name != name
                && let Some(id) = ids.take(&effort.name)
            {
                let last = folder.last_referenced.remove(&effort.id);
                folder.last_referenced.extend(last.map(|last| (id.clone(), last)));
                effort.id = id;
            }
            effort.summary.iter_mut().for_each(&mut hide);
            effort.lines.iter_mut().for_each(|line| hide(&mut line.content));
        }
        (folder, count)
    }
}

/// An exchange before it has a turn.
struct Said {
    scope: Scope,
    at: Stamp,
    user: Message,
    reply: Option<Message>,
}

/// The events of a session as the folder tells it, each with its time.
pub fn events(
    folder: &ImportedFolder,
    session: &SessionId,
    policy: &Policy,
    counter: &dyn TokenCounter,
    source: &str,
    now: Stamp,
) -> Vec<(Stamp, Event)> {
    let mut queue = exchanges(folder, now);
    let by_id: BTreeMap<&EffortId, &ImportedEffort> = folder.efforts.iter().map(|e| (&e.id, e)).collect();
    let mut left: BTreeMap<EffortId, usize> = BTreeMap::new();
    for id in queue.iter().filter_map(|said| said.scope.effort()) {
        *left.entry(id.clone()).or_default() += 1;
    }
    let began = queue.first().map_or(now, |said| said.at);
    let mut story = Story { events: Vec::new(), state: SessionState::default() };
    let created = Event::SessionCreated {
        session: session.clone(),
        encoding: counter.encoding().to_owned(),
        policy: policy.clone(),
        imported_from: Some(source.to_owned()),
    };
    story.tell(began, created);
    for said in queue.drain(..) {
        let effort = said.scope.effort().and_then(|id| by_id.get(id).copied());
        let at = said.at;
        let turn = story.state.turn().next();
        let message = Counted::new(counter, said.user);
        story.tell(at, Event::TurnStarted { turn, message, turn_id: None, author: Some(Author::Import) });
        if let Some(effort) = effort {
            story.enter(effort, at, turn);
        }
        let scope = said.scope.clone();
        story.tell(
            at,
            match said.reply {
                Some(reply) => {
                    let reply = Counted::new(counter, reply);
                    Event::TurnCompleted { turn, reply, scope, ledger: Box::default() }
                }
                None => Event::TurnAbandoned { turn, reason: AbandonReason::ProcessEnded, scope },
            },
        );
        if let Some(effort) = effort {
            let left = left.entry(effort.id.clone()).or_default();
            *left = left.saturating_sub(1);
            if *left == 0 {
                story.conclude(effort, at, counter);
            }
        }
    }
    for effort in &folder.efforts {
        let at = effort.updated.or(effort.created).unwrap_or(now);
        if story.state.effort(&effort.id).is_none() {
            let turn = story.state.turn();
            story.enter(effort, at, turn);
            story.conclude(effort, at, counter);
        }
    }
    story.settle(folder, now);
    story.events
}

/// Events with the state they lead to, so that only what makes sense is told.
struct Story {
    events: Vec<(Stamp, Event)>,
    state: SessionState,
}

impl Story {
    fn tell(&mut self, at: Stamp, event: Event) {
        self.state.record(at, event.clone());
        self.events.push((at, event));
    }

    fn enter(&mut self, effort: &ImportedEffort, at: Stamp, turn: TurnNo) {
        let id = effort.id.clone();
        match self.state.effort(&id) {
            None => {
                let name = effort.name.chars().take(200).collect();
                self.tell(effort.created.unwrap_or(at), Event::EffortOpened { id, name, turn });
            }
            Some(_) if self.state.active().is_some_and(|active| active.id == id) => {}
            Some(_) => self.tell(at, Event::EffortSwitched { id, turn }),
        }
    }

    fn conclude(&mut self, effort: &ImportedEffort, at: Stamp, counter: &dyn TokenCounter) {
        if effort.status == EffortStatus::Open {
            return;
        }
        let text = effort.summary.clone().filter(|text| !text.trim().is_empty());
        let text = text.unwrap_or_else(|| format!("Imported effort: {} (it had no summary)", effort.id));
        let summary = Summary::new(counter, &effort.id, &text, Some(effort.updated.unwrap_or(at)));
        let next_active = self.state.open().find(|e| e.id != effort.id).map(|e| e.id.clone());
        let turn = self.state.turn();
        let at = effort.updated.unwrap_or(at);
        self.tell(
            at,
            Event::EffortConcluded {
                id: effort.id.clone(),
                summary,
                turn,
                next_active,
                provisional: false,
                receipt: None,
            },
        );
    }

    /// Which effort is active, and which summaries had already faded, there or by our own count of turns.
    fn settle(&mut self, folder: &ImportedFolder, now: Stamp) {
        let turn = self.state.turn();
        let active = folder.efforts.iter().find(|e| e.active && e.status == EffortStatus::Open);
        if let Some(effort) = active
            && self.state.active().is_none_or(|active| active.id != effort.id)
        {
            self.tell(now, Event::EffortSwitched { id: effort.id.clone(), turn });
        }
        let threshold = self.state.policy().summary_eviction_threshold;
        let turn_count = folder.turn_count.unwrap_or(turn.0);
        let faded = |id: &EffortId| {
            folder.last_referenced.get(id).is_some_and(|last| turn_count.saturating_sub(*last) >= threshold)
        };
        let mut ids: BTreeSet<EffortId> = decay::evicted(&self.state).into_iter().collect();
        ids.extend(self.state.shown().map(|e| e.id.clone()).filter(faded));
        let ids: Vec<EffortId> = ids.into_iter().collect();
        if !ids.is_empty() {
            self.tell(now, Event::SummariesEvicted { turn, ids });
        }
    }
}

/// All exchanges, by time; a log's own order is never changed, and a line without a time follows its
/// predecessor.
fn exchanges(folder: &ImportedFolder, now: Stamp) -> Vec<Said> {
    let mut all = paired(Scope::Ambient, &folder.ambient, now);
    for effort in &folder.efforts {
        let start = effort.created.unwrap_or(now);
        all.extend(paired(Scope::Effort(effort.id.clone()), &effort.lines, start));
    }
    all.sort_by_key(|said| said.at);
    all
}

fn paired(scope: Scope, lines: &[Line], start: Stamp) -> Vec<Said> {
    let mut out: Vec<Said> = Vec::new();
    let mut at = lines.iter().find_map(|line| line.ts).unwrap_or(start);
    for line in lines {
        at = at.max(line.ts.unwrap_or(at));
        let words = line.content.as_str();
        match (line.role, out.last_mut()) {
            (Role::Assistant, Some(said)) if said.reply.is_none() => said.reply = Some(Message::assistant(words)),
            (Role::Assistant | Role::Tool | Role::System, _) => {
                // Words without a question: kept, as an exchange of their own.
                let user = Message::user(format!("[{}]", line.role.as_str()));
                out.push(Said { scope: scope.clone(), at, user, reply: Some(Message::assistant(words)) });
            }
            (Role::User, _) => {
                out.push(Said { scope: scope.clone(), at, user: Message::user(words), reply: None });
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An id is its name in small letters: a secret is not left there.
    #[test]
    fn what_is_masked_in_a_name_is_not_left_in_an_id() {
        let named = |name: &str| ImportedEffort {
            id: EffortId::from_name(name).expect("it has letters"),
            name: name.to_owned(),
            status: EffortStatus::Open,
            active: false,
            summary: None,
            created: None,
            updated: None,
            lines: Vec::new(),
        };
        let secret = |part: &str| format!("rotate sk-proj-{part}T7bQ2mX8vL1cR6yN3wK5dH0sJ9eG");
        let efforts = vec![named("rotate masked"), named(&secret("1111")), named(&secret("2222"))];
        let last_referenced = [(efforts[1].id.clone(), 7)].into();
        let folder = ImportedFolder { efforts, last_referenced, ..ImportedFolder::default() };
        let (safe, count) = folder.without_secrets(Masking::On);
        let ids: Vec<&str> = safe.efforts.iter().map(|effort| effort.id.as_str()).collect();
        assert_eq!(
            (count, ids),
            (2, vec!["rotate-masked", "rotate-masked-openai-style-key", "rotate-masked-openai-style-key-2"])
        );
        assert_eq!(safe.last_referenced, [(safe.efforts[1].id.clone(), 7)].into());
        assert!(!format!("{safe:?}").to_lowercase().contains("t7bq2mx8vl1c"), "{safe:?}");
    }
}
