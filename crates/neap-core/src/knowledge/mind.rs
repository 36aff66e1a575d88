//! An agent as a session has it: what it knows, how it sees things, and what of that is loaded.

use std::collections::BTreeSet;

use super::{Inputs, Knowledge, LoadCause, Loaded, Placement, build, cause, focus, is_follow_up, request, used};
use crate::censor::Patterns;
use crate::event::Event;
use crate::frame::{Chosen, Frames, select};
use crate::ids::{SessionId, Stamp};
use crate::learn::MemoryAsk;
use crate::memory::{AgentHead, Change, Memory, MemoryId, Recalled};
use crate::state::SessionState;
use crate::tokens::{TokenCounter, Tokens};

/// How an agent sees things: configuration, not memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outlook {
    /// Who it is, in words for the model; may be empty.
    pub identity: String,
    /// The stances it can take.
    pub frames: Frames,
    /// Where what it knows stands in a prompt.
    pub placement: Placement,
}

impl Default for Outlook {
    fn default() -> Self {
        Self { identity: String::new(), frames: Frames::built_in(), placement: Placement::System }
    }
}

/// What is loaded. Kept in memory only: whoever does not have it looks it up again.
#[derive(Debug, Clone, Default)]
pub struct Known {
    page: Option<Knowledge>,
    /// What of it replies have made use of.
    used: BTreeSet<MemoryId>,
    /// Patterns of censors, made ready.
    pub(crate) patterns: Patterns,
    /// Censors, preferences and standing rules as they were: when one changes, the page is made anew.
    rules: Vec<(MemoryId, String)>,
    /// Whether something on the page has changed since.
    is_outdated: bool,
    /// What of the page was in the last prompt, if something had to leave it for lack of room.
    pressed: Option<Vec<MemoryId>>,
}

impl Known {
    /// What is loaded.
    pub fn page(&self) -> Option<&Knowledge> {
        self.page.as_ref()
    }

    /// What is on the page.
    pub fn loaded(&self) -> Vec<MemoryId> {
        self.page.iter().flat_map(|page| page.items.iter().map(|item| item.id)).collect()
    }

    /// Holds the page against its records as they are now; says whether one of them was erased.
    pub fn compare(&mut self, now: &[Memory]) -> bool {
        let Some(page) = &self.page else { return false };
        let is_as_shown = |memory: &&Memory| {
            memory.status.is_current() && page.has_line(&memory.lines.micro, &memory.lines.summary)
        };
        let erased = now.len() < page.items.len();
        self.is_outdated |= erased || !now.iter().all(|memory| is_as_shown(&memory));
        erased
    }

    /// Records were changed from here: if they are on the page, it is out of date.
    pub fn changed(&mut self, ids: &[MemoryId]) {
        self.is_outdated |= self.loaded().iter().any(|id| ids.contains(id));
    }

    /// Notes what is left of the page in a prompt, if not all of it; says whether that is news.
    pub(crate) fn note_pressed(&mut self, left: Option<&Loaded>) -> bool {
        let left = left.map(|left| left.items.iter().map(|item| item.id).collect());
        let is_news = left.is_some() && left != self.pressed;
        self.pressed = left;
        is_news
    }

    /// Memories that this reply is the first to make use of.
    pub(crate) fn note_used(&mut self, reply: &str) -> Vec<MemoryId> {
        let Some(page) = &self.page else { return Vec::new() };
        used(page, reply).into_iter().filter(|id| self.used.insert(*id)).collect()
    }
}

/// An agent in a turn.
pub struct Mind<'a> {
    /// The id of its stream.
    pub id: &'a SessionId,
    /// Its stream; decisions are applied to it at once.
    pub agent: &'a mut SessionState,
    /// What is loaded.
    pub known: &'a mut Known,
    /// How its records are counted.
    pub counter: &'a dyn TokenCounter,
    /// How it sees things.
    pub outlook: &'a Outlook,
}

impl Mind<'_> {
    fn head(&self) -> Option<&AgentHead> {
        self.agent.head().agent.as_deref()
    }

    /// The stance for a message: a follow-up, or one for which nothing speaks, keeps the one there was.
    fn chosen(&self, text: &str) -> Chosen<'_> {
        let chosen = select(&self.outlook.frames, text);
        match &self.known.page {
            Some(page) if is_follow_up(text) => {
                let before = self.outlook.frames.get(&page.frame);
                before.map_or(chosen, Chosen::asked_for)
            }
            Some(page) => chosen.or_stay(&self.outlook.frames, &page.frame),
            None => chosen,
        }
    }

    /// What to look up for a message, and why; nothing if what is loaded serves, or there is nothing to load.
    pub(crate) fn wants(
        &mut self,
        state: &SessionState,
        text: &str,
        now: Stamp,
    ) -> Option<(LoadCause, MemoryAsk)> {
        if self.head().is_none() && self.outlook.identity.trim().is_empty() {
            return None;
        }
        let chosen = self.chosen(text);
        let changed = self.known.is_outdated || rules(self.head()) != self.known.rules;
        let cause = match &self.known.page {
            None => Some(LoadCause::First),
            Some(page) => cause(page, &chosen, text, is_follow_up(text)).or(changed.then_some(LoadCause::Changed)),
        };
        let question = question(state, text);
        let request = request(&question, chosen.frame, now);
        if let (None, Some(page)) = (cause, &mut self.known.page) {
            page.heard(text);
        }
        cause.map(|cause| (cause, MemoryAsk::Search { request, question }))
    }

    /// Chooses from what was found, and says what was chosen.
    #[allow(clippy::too_many_arguments, reason = "each is a thing of its own")]
    pub(crate) fn choose(
        &mut self,
        state: &SessionState,
        text: &str,
        recalled: &Recalled,
        cause: LoadCause,
        room: Tokens,
        counter: &dyn TokenCounter,
        now: Stamp,
    ) -> Loaded {
        let nothing = AgentHead::default();
        let head = self.head().unwrap_or(&nothing);
        let question = question(state, text);
        let chosen = self.chosen(text);
        let page = build(&Inputs {
            question: &question,
            chosen: &chosen,
            identity: &self.outlook.identity,
            agent: head,
            focus: &focus(state, head, state.head().task.as_deref()),
            recalled,
            terms: &request(&question, chosen.frame, now).terms,
            room,
            counter,
            lines_are_counted: counter.encoding() == self.counter.encoding(),
            placement: self.outlook.placement,
            now,
        });
        let loaded = page.loaded(cause);
        let rules = rules(Some(head));
        let patterns = std::mem::take(&mut self.known.patterns);
        *self.known = Known { page: Some(page), patterns, rules, ..Known::default() };
        loaded
    }
}

/// What is asked: a follow-up says it together with what it follows.
fn question(state: &SessionState, text: &str) -> String {
    match &state.head().task {
        Some(task) if is_follow_up(text) => format!("{task}\n{text}"),
        Some(_) | None => text.to_owned(),
    }
}

/// What is always loaded, as it stands there: counting how often a rule was met changes nothing of it.
fn rules(head: Option<&AgentHead>) -> Vec<(MemoryId, String)> {
    let all = head.into_iter().flat_map(|head| head.censors.values().chain(head.pinned.values()));
    all.filter(|memory| memory.is_a_persons()).map(|memory| (memory.id, memory.lines.summary.clone())).collect()
}

/// The record that an event changed in what it says; counting its uses does not.
pub fn changed_record(event: &Event) -> Option<MemoryId> {
    let Event::MemoryChanged { change, memory, .. } = event else { return None };
    (!matches!(change, Change::Triggered | Change::Activated { .. })).then_some(memory.id)
}
