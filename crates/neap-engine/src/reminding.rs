//! What another agent is told by its hooks: what bears on what is asked, what is open, what its own summary left out.

use neap_core::event::Event;
use neap_core::handle::Handle;
use neap_core::hook::{OpenWork, PARTS, Rooms, answer, bears, open_work, works};
use neap_core::ids::{SessionId, TurnNo};
use neap_core::ledger::Layer;
use neap_core::recall::{Filter, TextKey, TextKind};
use neap_core::state::SessionState;
use neap_core::transcript::told;
use neap_model::bpe::counter_for;
use neap_store::Stored;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::original::fetch;
use crate::recollect::{Asking, Here};

/// Conversations whose open work is told, the latest.
const SESSIONS_MAX: usize = 5;
/// Efforts that are looked for, at most.
const WORKS_MAX: usize = 3;
/// What is looked at of a question, from its end, in bytes.
const QUESTION_BYTES: usize = 4_096;

impl Engine {
    /// What bears on what is asked in a conversation that another agent holds; empty if nothing does. What that agent has in
    /// sight is not repeated.
    pub async fn remind(&self, session: &SessionId, asked: &str) -> Result<String, EngineError> {
        let rooms = Rooms::default();
        let question = &asked[asked.ceil_char_boundary(asked.len().saturating_sub(QUESTION_BYTES))..];
        let state = self.parts.store.load(session).await?.unwrap_or_default();
        let mut asking = Asking::new(question, rooms.past);
        asking.embedding = self.meaning(question).await;
        let parts = [
            self.left_out(session, &state, &rooms).await?,
            self.known(question, &PARTS, &rooms).await?,
            self.works(session, &state, &asking, &rooms).await?,
            self.past(session, &state, asking).await?,
        ];
        Ok(answer(&parts))
    }

    /// What is open in the latest conversations, and what always holds; empty if there is nothing.
    pub async fn recap(&self) -> Result<String, EngineError> {
        let (rooms, counter) = (Rooms::default(), counter_for(&self.parts.encoding));
        let mut sessions = self.parts.store.sessions().await?;
        sessions.sort_by(|a, b| b.updated.cmp(&a.updated).then_with(|| a.session.cmp(&b.session)));
        let mut open = Vec::new();
        for info in sessions.into_iter().filter(|info| !info.scrubbed).take(SESSIONS_MAX) {
            let Some(state) = self.parts.store.load(&info.session).await? else { continue };
            open.extend(state.open().map(|effort| OpenWork {
                session: info.session.clone(),
                id: effort.id.clone(),
                updated: effort.updated,
            }));
        }
        let standing = self.known("", &[Layer::Profile, Layer::Censors], &rooms).await?;
        Ok(answer(&[open_work(open, counter.as_ref(), rooms.works), standing]))
    }

    /// What the agent's own summary left out, if this is the first that is asked since.
    async fn left_out(
        &self,
        session: &SessionId,
        state: &SessionState,
        rooms: &Rooms,
    ) -> Result<String, EngineError> {
        let is_first = state.head().compacted.is_some_and(|turn| turn.next() >= state.turn());
        if !is_first {
            return Ok(String::new());
        }
        let counter = counter_for(&self.parts.encoding);
        let event = self.compaction(session).await?;
        Ok(event.map_or_else(String::new, |event| told(counter.as_ref(), &event, session.as_str(), rooms.lost)))
    }

    /// What the engine's agent knows.
    async fn known(&self, question: &str, layers: &[Layer], rooms: &Rooms) -> Result<String, EngineError> {
        let Some(agent) = self.memory().await? else { return Ok(String::new()) };
        let context = agent.context(question, None, Some(rooms.known)).await?;
        Ok(context.page.only(layers, counter_for(&self.parts.encoding).as_ref()))
    }

    /// Earlier work.
    async fn works(
        &self,
        session: &SessionId,
        state: &SessionState,
        asking: &Asking,
        rooms: &Rooms,
    ) -> Result<String, EngineError> {
        let filter = Filter { kinds: Some([TextKind::Effort].into()), ..Filter::default() };
        let asking = Asking { filter, budget: rooms.works, ..asking.clone() };
        let found = self.recollect(&asking).await?;
        if !bears(&found) {
            return Ok(String::new());
        }
        let mut all = Vec::new();
        for shown in &found.shown {
            let (id, TextKey::Effort(effort)) = (&shown.card.id.stream, &shown.card.id.key) else { continue };
            // Of this conversation, what the agent still has in sight is not told again.
            let is_in_sight = id == session && state.head().compacted.is_none();
            let of = self.parts.store.load(id).await?.filter(|_| !is_in_sight);
            all.extend(of.and_then(|state| state.effort(effort).cloned()).map(|effort| (id.clone(), effort)));
        }
        let counter = counter_for(&self.parts.encoding);
        let listed = all.iter().take(WORKS_MAX).map(|(id, effort)| (id, effort));
        Ok(works(listed, counter.as_ref(), rooms.works))
    }

    /// What was said before.
    async fn past(
        &self,
        session: &SessionId,
        state: &SessionState,
        mut asking: Asking,
    ) -> Result<String, EngineError> {
        asking.filter.kinds = Some([TextKind::User, TextKind::Assistant, TextKind::Tool].into());
        asking.here = Some(Here { session: session.clone(), in_sight: self.in_sight(session, state).await? });
        let found = self.recollect(&asking).await?;
        Ok(if bears(&found) { found.text } else { String::new() })
    }

    /// How many of a conversation's latest texts the agent has in sight: all, until it puts a summary in their place.
    async fn in_sight(&self, session: &SessionId, state: &SessionState) -> Result<u64, EngineError> {
        let Some(turn) = state.head().compacted else { return Ok(u64::MAX) };
        let since = Handle::Turns { first: turn.next(), last: TurnNo(state.turn().0.max(turn.0 + 1)) };
        let said = fetch(self.parts.store.as_ref(), session, state, &since).await?;
        Ok(said.iter().map(|exchange| exchange.messages.len() as u64).sum())
    }

    /// The receipt of the latest summary that an agent put in the place of what was said.
    async fn compaction(&self, session: &SessionId) -> Result<Option<Event>, EngineError> {
        let mut found = self.parts.store.events_of(session, &["client_compacted"], None, 1).await?;
        Ok(found.pop().and_then(|stored| match stored {
            Stored::Event(recorded) => Some(recorded.event),
            Stored::Damaged { .. } => None,
        }))
    }
}
