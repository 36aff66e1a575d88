//! Context for other agents' hooks: what is relevant or open, and what the agent's own summary left out.

use neap_core::base::handle::Handle;
use neap_core::base::ids::{SessionId, TurnNo};
use neap_core::base::ledger::Layer;
use neap_core::client::hook_reply::{
    HOOK_LAYERS, HookBudgets, OpenEffort, is_relevant, join_parts, render_efforts, render_open_efforts,
};
use neap_core::client::transcript::render_loss;
use neap_core::recall::{Filter, TextKey, TextKind};
use neap_core::session::event::Event;
use neap_core::session::state::SessionState;
use neap_model::bpe::counter_for;
use neap_store::StoredEvent;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::handle_lookup::fetch_exchanges;
use crate::retrieval::{CurrentSession, RetrievalRequest};

/// Latest sessions of which open efforts are listed.
const SESSIONS_MAX: usize = 5;
/// Bytes of a prompt that are searched for, from its end.
const QUERY_BYTES_MAX: usize = 4_096;

impl Engine {
    /// What is relevant to a prompt in another agent's session; empty if nothing is. Does not repeat what that
    /// agent still has in its context.
    pub async fn prompt_context(&self, session: &SessionId, prompt: &str) -> Result<String, EngineError> {
        let budgets = HookBudgets::default();
        let question = &prompt[prompt.ceil_char_boundary(prompt.len().saturating_sub(QUERY_BYTES_MAX))..];
        let state = self.parts.store.load(session).await?.unwrap_or_default();
        let mut request = RetrievalRequest::new(question, budgets.recalled);
        request.embedding = self.embed_query(question).await;
        let parts = [
            self.compaction_losses(session, &state, &budgets).await?,
            self.agent_knowledge(question, &HOOK_LAYERS, &budgets).await?,
            self.related_efforts(session, &state, &request, &budgets).await?,
            self.recalled_past(session, &state, request).await?,
        ];
        Ok(join_parts(&parts))
    }

    /// Open efforts of the latest sessions, and what always applies; empty if there is nothing.
    pub async fn session_start_context(&self) -> Result<String, EngineError> {
        let (budgets, counter) = (HookBudgets::default(), counter_for(&self.parts.encoding));
        let mut sessions = self.parts.store.sessions().await?;
        sessions.sort_by(|a, b| b.updated.cmp(&a.updated).then_with(|| a.session.cmp(&b.session)));
        let mut open = Vec::new();
        for info in sessions.into_iter().filter(|info| !info.scrubbed).take(SESSIONS_MAX) {
            let Some(state) = self.parts.store.load(&info.session).await? else { continue };
            open.extend(state.open_efforts().map(|effort| OpenEffort {
                session: info.session.clone(),
                id: effort.id.clone(),
                updated: effort.updated,
            }));
        }
        let standing = self.agent_knowledge("", &[Layer::Profile, Layer::Censors], &budgets).await?;
        Ok(join_parts(&[render_open_efforts(open, counter.as_ref(), budgets.efforts), standing]))
    }

    /// What the agent's own summary left out, if this is the first prompt since.
    async fn compaction_losses(
        &self,
        session: &SessionId,
        state: &SessionState,
        budgets: &HookBudgets,
    ) -> Result<String, EngineError> {
        let is_first = state.head().compacted.is_some_and(|turn| turn.next() >= state.turn());
        if !is_first {
            return Ok(String::new());
        }
        let counter = counter_for(&self.parts.encoding);
        let event = self.last_compaction(session).await?;
        Ok(event.map_or_else(String::new, |event| {
            render_loss(counter.as_ref(), &event, session.as_str(), budgets.lost)
        }))
    }

    async fn agent_knowledge(
        &self,
        question: &str,
        layers: &[Layer],
        budgets: &HookBudgets,
    ) -> Result<String, EngineError> {
        let Some(agent) = self.agent().await? else { return Ok(String::new()) };
        let context = agent.context(question, None, Some(budgets.knowledge)).await?;
        Ok(context.knowledge.render_layers(layers, counter_for(&self.parts.encoding).as_ref()))
    }

    async fn related_efforts(
        &self,
        session: &SessionId,
        state: &SessionState,
        request: &RetrievalRequest,
        budgets: &HookBudgets,
    ) -> Result<String, EngineError> {
        let filter = Filter { kinds: Some([TextKind::Effort].into()), ..Filter::default() };
        let request = RetrievalRequest { filter, budget: budgets.efforts, ..request.clone() };
        let found = self.retrieve(&request).await?;
        if !is_relevant(&found) {
            return Ok(String::new());
        }
        let mut all = Vec::new();
        for shown in &found.shown {
            let (Some(id), TextKey::Effort(effort)) =
                (shown.candidate.id.stream.session(), &shown.candidate.id.key)
            else {
                continue;
            };
            // Not what the agent still has in its context.
            let is_in_sight = id == *session && state.head().compacted.is_none();
            let loaded = self.parts.store.load(&id).await?.filter(|_| !is_in_sight);
            all.extend(loaded.and_then(|state| state.effort(effort).cloned()).map(|effort| (id, effort)));
        }
        let counter = counter_for(&self.parts.encoding);
        let listed = all.iter().map(|(id, effort)| (id, effort));
        Ok(render_efforts(listed, counter.as_ref(), budgets.efforts))
    }

    async fn recalled_past(
        &self,
        session: &SessionId,
        state: &SessionState,
        mut request: RetrievalRequest,
    ) -> Result<String, EngineError> {
        request.filter.kinds = Some([TextKind::User, TextKind::Assistant, TextKind::Tool].into());
        request.current = Some(CurrentSession {
            session: session.clone().into(),
            visible_texts: self.visible_message_count(session, state).await?,
        });
        let found = self.retrieve(&request).await?;
        Ok(if is_relevant(&found) { found.text } else { String::new() })
    }

    /// Latest messages that the agent still has in its context: all, until it replaces them with a summary.
    async fn visible_message_count(&self, session: &SessionId, state: &SessionState) -> Result<u64, EngineError> {
        let Some(turn) = state.head().compacted else { return Ok(u64::MAX) };
        let since = Handle::Turns { first: turn.next(), last: TurnNo(state.turn().0.max(turn.0 + 1)) };
        let exchanges = fetch_exchanges(self.parts.store.as_ref(), session, state, &since).await?;
        Ok(exchanges.iter().map(|exchange| exchange.messages.len() as u64).sum())
    }

    async fn last_compaction(&self, session: &SessionId) -> Result<Option<Event>, EngineError> {
        let mut found = self.parts.store.events_of_kinds(session, &["client_compacted"], None, 1).await?;
        Ok(found.pop().and_then(|stored| match stored {
            StoredEvent::Whole(recorded) => Some(recorded.event),
            StoredEvent::Damaged { .. } => None,
        }))
    }
}
