//! Converts a session folder of another tool into events. Log lines are paired into exchanges, the exchanges of
//! all logs are ordered by time, and each effort is opened before its first exchange and concluded after its last.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::base::ids::{EffortId, SessionId, Stamp, TurnNo};
use crate::base::message::{CountedMessage, Message, Role, Scope};
use crate::base::policy::Policy;
use crate::base::tokens::TokenCounter;
use crate::memory::Author;
use crate::session::decay;
use crate::session::effort::{EffortStatus, Summary};
use crate::session::event::{AbandonReason, EffortEvent, Event, TurnEvent};
use crate::session::state::{NewSession, SessionState};
use crate::text::secrets::{Masking, UniqueIds};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedLine {
    pub role: Role,
    pub content: String,
    pub ts: Option<Stamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedEffort {
    /// Our id.
    pub id: EffortId,
    /// The folder's id.
    pub name: String,
    pub status: EffortStatus,
    /// Whether new messages went to it.
    pub active: bool,
    pub summary: Option<String>,
    pub created: Option<Stamp>,
    pub updated: Option<Stamp>,
    pub lines: Vec<ImportedLine>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportedFolder {
    pub ambient: Vec<ImportedLine>,
    /// In the manifest's order.
    pub efforts: Vec<ImportedEffort>,
    pub turn_count: Option<u64>,
    /// The last turn that referenced an effort, as the folder counts turns.
    pub last_referenced: BTreeMap<EffortId, u64>,
    /// What could not be read, or was changed in reading.
    pub notes: Vec<String>,
}

impl ImportedFolder {
    /// Masks secrets, also in effort ids, which are made from names. Returns how many there were.
    pub fn without_secrets(&self, masking: Masking) -> (Self, u64) {
        let (mut folder, mut count) = (self.clone(), 0);
        let mut hide = |text: &mut String| {
            let (safe, masked) = masking.mask(text);
            if masked > 0 {
                *text = safe.into_owned();
            }
            count += u64::from(masked);
        };
        folder.ambient.iter_mut().for_each(|line| hide(&mut line.content));
        let mut ids = UniqueIds::new(folder.efforts.iter().map(|effort| effort.id.clone()));
        for effort in &mut folder.efforts {
            let name = effort.name.clone();
            hide(&mut effort.name);
            if effort.name != name
                && let Some(id) = ids.allocate(&effort.name)
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

struct ImportedExchange {
    scope: Scope,
    at: Stamp,
    user: Message,
    reply: Option<Message>,
}

pub fn folder_events(
    folder: &ImportedFolder,
    session: &SessionId,
    policy: &Policy,
    counter: &dyn TokenCounter,
    source: &str,
    now: Stamp,
) -> Vec<(Stamp, Event)> {
    let queue = collect_exchanges(folder, now);
    let by_id: BTreeMap<&EffortId, &ImportedEffort> = folder.efforts.iter().map(|e| (&e.id, e)).collect();
    let mut left: BTreeMap<EffortId, usize> = BTreeMap::new();
    for id in queue.iter().filter_map(|exchange| exchange.scope.effort()) {
        *left.entry(id.clone()).or_default() += 1;
    }
    let began = queue.first().map_or(now, |exchange| exchange.at);
    let mut builder = EventBuilder { events: Vec::new(), state: SessionState::default() };
    let new = NewSession {
        id: session,
        encoding: counter.encoding(),
        policy: policy.clone(),
        imported_from: Some(source.to_owned()),
    };
    let created = builder.state.create_if_new(began, new);
    builder.events.extend(created.map(|created| (began, created.event)));
    for exchange in queue {
        let effort = exchange.scope.effort().and_then(|id| by_id.get(id).copied());
        let at = exchange.at;
        builder.push_exchange(exchange, effort, counter);
        if let Some(effort) = effort {
            let left = left.entry(effort.id.clone()).or_default();
            *left = left.saturating_sub(1);
            if *left == 0 {
                builder.conclude_effort(effort, at, counter);
            }
        }
    }
    for effort in &folder.efforts {
        let at = effort.updated.or(effort.created).unwrap_or(now);
        if builder.state.effort(&effort.id).is_none() {
            let turn = builder.state.turn();
            builder.enter_effort(effort, at, turn);
            builder.conclude_effort(effort, at, counter);
        }
    }
    builder.restore_state(folder, now);
    builder.events
}

/// Events with the state they lead to, so that only valid events are added.
struct EventBuilder {
    events: Vec<(Stamp, Event)>,
    state: SessionState,
}

impl EventBuilder {
    fn push(&mut self, at: Stamp, event: impl Into<Event>) {
        let event = event.into();
        self.state.record(at, event.clone());
        self.events.push((at, event));
    }

    fn push_exchange(
        &mut self,
        exchange: ImportedExchange,
        effort: Option<&ImportedEffort>,
        counter: &dyn TokenCounter,
    ) {
        let ImportedExchange { scope, at, user, reply } = exchange;
        let (turn, message) = (self.state.turn().next(), CountedMessage::new(counter, user));
        self.push(at, TurnEvent::Started { turn, message, turn_id: None, author: Some(Author::Import) });
        if let Some(effort) = effort {
            self.enter_effort(effort, at, turn);
        }
        let end = match reply.map(|reply| CountedMessage::new(counter, reply)) {
            Some(reply) => TurnEvent::Completed { turn, reply, scope, ledger: Box::default() },
            None => TurnEvent::Abandoned { turn, reason: AbandonReason::ProcessEnded, scope },
        };
        self.push(at, end);
    }

    fn enter_effort(&mut self, effort: &ImportedEffort, at: Stamp, turn: TurnNo) {
        let id = effort.id.clone();
        match self.state.effort(&id) {
            None => {
                let name = effort.name.chars().take(200).collect();
                self.push(effort.created.unwrap_or(at), EffortEvent::Opened { id, name, turn });
            }
            Some(_) if self.state.active_effort().is_some_and(|active| active.id == id) => {}
            Some(_) => self.push(at, EffortEvent::Switched { id, turn }),
        }
    }

    fn conclude_effort(&mut self, effort: &ImportedEffort, at: Stamp, counter: &dyn TokenCounter) {
        if effort.status == EffortStatus::Open {
            return;
        }
        let text = effort.summary.clone().filter(|text| !text.trim().is_empty());
        let text = text.unwrap_or_else(|| format!("Imported effort: {} (it had no summary)", effort.id));
        let summary = Summary::new(counter, &effort.id, &text, Some(effort.updated.unwrap_or(at)));
        let next_active = self.state.open_efforts().find(|e| e.id != effort.id).map(|e| e.id.clone());
        let turn = self.state.turn();
        let at = effort.updated.unwrap_or(at);
        self.push(
            at,
            EffortEvent::Concluded {
                id: effort.id.clone(),
                summary,
                turn,
                next_active,
                provisional: false,
                receipt: None,
            },
        );
    }

    /// Restores the active effort, and evicts summaries that had faded in the folder or by our own count of turns.
    fn restore_state(&mut self, folder: &ImportedFolder, now: Stamp) {
        let turn = self.state.turn();
        let active = folder.efforts.iter().find(|e| e.active && e.status == EffortStatus::Open);
        if let Some(effort) = active
            && self.state.active_effort().is_none_or(|active| active.id != effort.id)
        {
            self.push(now, EffortEvent::Switched { id: effort.id.clone(), turn });
        }
        let threshold = self.state.policy().summary_eviction_threshold;
        let turn_count = folder.turn_count.unwrap_or(turn.0);
        let faded = |id: &EffortId| {
            folder.last_referenced.get(id).is_some_and(|last| turn_count.saturating_sub(*last) >= threshold)
        };
        let mut ids: BTreeSet<EffortId> = decay::evictable_summaries(&self.state).into_iter().collect();
        ids.extend(self.state.shown_efforts().map(|e| e.id.clone()).filter(faded));
        let ids: Vec<EffortId> = ids.into_iter().collect();
        if !ids.is_empty() {
            self.push(now, EffortEvent::Evicted { turn, ids });
        }
    }
}

/// All exchanges by time. A log keeps its own order, and a line without a time follows its predecessor.
fn collect_exchanges(folder: &ImportedFolder, now: Stamp) -> Vec<ImportedExchange> {
    let mut all = pair_lines(Scope::Ambient, &folder.ambient, now);
    for effort in &folder.efforts {
        let start = effort.created.unwrap_or(now);
        all.extend(pair_lines(Scope::Effort(effort.id.clone()), &effort.lines, start));
    }
    all.sort_by_key(|exchange| exchange.at);
    all
}

fn pair_lines(scope: Scope, lines: &[ImportedLine], start: Stamp) -> Vec<ImportedExchange> {
    let mut out: Vec<ImportedExchange> = Vec::new();
    let mut at = lines.iter().find_map(|line| line.ts).unwrap_or(start);
    for line in lines {
        at = at.max(line.ts.unwrap_or(at));
        let text = line.content.as_str();
        match (line.role, out.last_mut()) {
            (Role::Assistant, Some(exchange)) if exchange.reply.is_none() => {
                exchange.reply = Some(Message::assistant(text))
            }
            (Role::Assistant | Role::Tool | Role::System, _) => {
                // A reply without a question becomes an exchange of its own.
                let user = Message::user(format!("[{}]", line.role.as_str()));
                out.push(ImportedExchange {
                    scope: scope.clone(),
                    at,
                    user,
                    reply: Some(Message::assistant(text)),
                });
            }
            (Role::User, _) => {
                out.push(ImportedExchange { scope: scope.clone(), at, user: Message::user(text), reply: None });
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An id is made from its name: no secret may remain in it.
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
