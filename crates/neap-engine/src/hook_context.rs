//! Context for other agents' hooks: what is relevant or open, and what the agent's own summary left out.

use neap_core::base::ids::SessionId;
use neap_core::base::ledger::Layer;
use neap_core::base::project_id::{Place, ProjectId};
use neap_core::client::hook_reply::{
    HOOK_LAYERS, HookBudgets, OpenEffort, effort_filter, follows_compaction, join_parts, may_show_effort,
    message_filter, question_of, render_efforts, render_open_efforts, sessions_to_list, turns_in_sight,
};
use neap_core::client::transcript::render_loss;
use neap_core::recall::{PageCause, ProjectFilter, TextKey};
use neap_core::session::event::Event;
use neap_core::session::state::SessionState;
use neap_model::bpe::counter_for;
use neap_store::{SessionInfo, StoredEvent};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::handle_lookup::fetch_exchanges;
use crate::retrieval::{CurrentSession, RetrievalRequest};

impl Engine {
    /// What is relevant to a prompt in another agent's session; empty if nothing is. Does not repeat what that
    /// agent still has in its context.
    pub async fn prompt_context(&self, session: &SessionId, prompt: &str) -> Result<String, EngineError> {
        let budgets = HookBudgets::default();
        let question = question_of(prompt);
        let state = self.parts.store.load(session).await?.unwrap_or_default();
        let mut request = RetrievalRequest::new(question, budgets.recalled);
        request.embedding = self.embed_query(question).await;
        let mut parts = vec![
            self.compaction_losses(session, &state, &budgets).await?,
            self.agent_knowledge(question, state.head().project.as_ref(), &HOOK_LAYERS, &budgets).await?,
            self.related_efforts(session, &state, &request, &budgets).await?,
        ];
        let counter = counter_for(&self.parts.encoding);
        // What the other parts leave of the reply.
        request.budget = budgets.left(parts.iter().map(|part| counter.count(part)).sum());
        parts.push(self.recalled_past(session, &state, request).await?);
        Ok(join_parts(&parts))
    }

    /// Open efforts of the latest sessions in the same project, and what always applies; empty if there is nothing.
    pub async fn session_start_context(&self, session: &SessionId, place: &Place) -> Result<String, EngineError> {
        let known = self.parts.store.load(session).await?.and_then(|state| state.head().project.clone());
        let project = known.or_else(|| self.parts.project_at(place));
        let asked_in = project.clone().map(ProjectFilter::Only);
        let (budgets, counter) = (HookBudgets::default(), counter_for(&self.parts.encoding));
        let is_here = |info: &SessionInfo| {
            !info.scrubbed && asked_in.as_ref().is_none_or(|filter| filter.matches(info.project.as_ref()))
        };
        let sessions = self.parts.store.sessions().await?.into_iter().filter(is_here);
        let mut open = Vec::new();
        for session in sessions_to_list(sessions.map(|info| (info.session, info.updated)).collect()) {
            let Some(state) = self.parts.store.load(&session).await? else { continue };
            open.extend(OpenEffort::of(&session, &state));
        }
        let standing =
            self.agent_knowledge("", project.as_ref(), &[Layer::Profile, Layer::Censors], &budgets).await?;
        Ok(join_parts(&[render_open_efforts(open, counter.as_ref(), budgets.efforts), standing]))
    }

    /// What the agent's own summary left out, if this is the first prompt since.
    async fn compaction_losses(
        &self,
        session: &SessionId,
        state: &SessionState,
        budgets: &HookBudgets,
    ) -> Result<String, EngineError> {
        if !follows_compaction(state) {
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
        project: Option<&ProjectId>,
        layers: &[Layer],
        budgets: &HookBudgets,
    ) -> Result<String, EngineError> {
        let Some(agent) = self.agent().await? else { return Ok(String::new()) };
        let project = project.cloned().map(ProjectFilter::First);
        let context = agent.context_in(question, None, project, Some(budgets.knowledge)).await?;
        Ok(context.knowledge.render_layers(layers, counter_for(&self.parts.encoding).as_ref()))
    }

    async fn related_efforts(
        &self,
        session: &SessionId,
        state: &SessionState,
        request: &RetrievalRequest,
        budgets: &HookBudgets,
    ) -> Result<String, EngineError> {
        let filter = effort_filter().asked_in(state.head().project.as_ref());
        let request = RetrievalRequest { filter, budget: budgets.efforts, ..request.clone() };
        let found = self.retrieve(&request).await?;
        if !found.bears_on(&self.parse_question(&request), PageCause::Unasked) {
            return Ok(String::new());
        }
        let mut all = Vec::new();
        for shown in &found.shown {
            let (Some(id), TextKey::Effort(effort)) =
                (shown.candidate.id.stream.session(), &shown.candidate.id.key)
            else {
                continue;
            };
            if !may_show_effort(&id, session, state) {
                continue;
            }
            let loaded = self.parts.store.load(&id).await?;
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
        request.filter = message_filter().asked_in(state.head().project.as_ref());
        // A page that nobody asked for must bear on the prompt; files in work would take the place of what does.
        request.weights.file_in_work = 0.0;
        request.current = Some(CurrentSession {
            session: session.clone().into(),
            visible_texts: self.visible_message_count(session, state).await?,
        });
        let found = self.retrieve(&request).await?;
        Ok(if found.bears_on(&self.parse_question(&request), PageCause::Unasked) {
            found.text
        } else {
            String::new()
        })
    }

    /// Latest messages that the agent still has in its context: all, until it replaces them with a summary.
    async fn visible_message_count(&self, session: &SessionId, state: &SessionState) -> Result<u64, EngineError> {
        let Some(since) = turns_in_sight(state) else { return Ok(u64::MAX) };
        let exchanges = fetch_exchanges(self.parts.store.as_ref(), session, state, &since).await?;
        Ok(exchanges.iter().map(|exchange| exchange.messages.len() as u64).sum())
    }

    async fn last_compaction(&self, session: &SessionId) -> Result<Option<Event>, EngineError> {
        let mut found = self.parts.store.events_of_kinds(session, &["client_compacted"], None, 1).await?;
        Ok(found.pop().and_then(StoredEvent::whole).map(|recorded| recorded.event))
    }
}
