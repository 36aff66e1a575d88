//! Builds briefs for hosts: this module fetches the parts, the core puts the page together.

use neap_core::base::ids::SessionId;
use neap_core::base::project_id::ProjectId;
use neap_core::base::tokens::{TokenCounter, Tokens};
use neap_core::context::brief::{Brief, BriefBuilder, BriefStep, render_knowledge};
use neap_core::recall::{Filter, PageCause, ProjectFilter, TextKind};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::retrieval::RetrievalRequest;

impl Engine {
    /// A page of at most `budget` tokens: where a session stands, what the agent knows, and earlier text that is
    /// relevant to `query`. Changes nothing.
    pub async fn brief(&self, id: &SessionId, query: Option<&str>, budget: Tokens) -> Result<Brief, EngineError> {
        self.brief_in(id, query, None, budget).await
    }

    /// The same for a question that is asked in a project, if not in the session's.
    pub async fn brief_in(
        &self,
        id: &SessionId,
        query: Option<&str>,
        project: Option<ProjectId>,
        budget: Tokens,
    ) -> Result<Brief, EngineError> {
        let mut session = self.attach(id).await?;
        let project = project.or_else(|| session.state().head().project.clone());
        let counter = session.counter().clone();
        let mut builder = BriefBuilder::new(budget, query.is_some_and(|query| !query.trim().is_empty()));
        let mut step = builder.begin();
        loop {
            step = match step {
                BriefStep::NeedsKnowledge(budget) => {
                    let knowledge = {
                        let query = query.unwrap_or_default();
                        self.knowledge_text(query, project.clone(), budget, counter.as_ref()).await?
                    };
                    builder.add_knowledge(counter.as_ref(), &knowledge)
                }
                BriefStep::NeedsContext(budget) => {
                    let context = session.context_within(budget).await?;
                    builder.add_context(counter.as_ref(), context.as_ref())
                }
                BriefStep::NeedsRecall(budget) => {
                    let query = query.unwrap_or_default();
                    let recalled = self.recall_text(query, project.as_ref(), budget).await?;
                    builder.add_recalled(counter.as_ref(), &recalled)
                }
                BriefStep::Done(brief) => return Ok(brief),
            };
        }
    }

    async fn knowledge_text(
        &self,
        query: &str,
        project: Option<ProjectId>,
        budget: Tokens,
        counter: &dyn TokenCounter,
    ) -> Result<String, EngineError> {
        let Some(agent) = self.agent().await? else { return Ok(String::new()) };
        let selected = agent.context_in(query, None, project.map(ProjectFilter::First), Some(budget)).await?;
        Ok(render_knowledge(&selected.knowledge, counter))
    }

    async fn recall_text(
        &self,
        query: &str,
        project: Option<&ProjectId>,
        budget: Tokens,
    ) -> Result<String, EngineError> {
        let mut request = RetrievalRequest::new(query, budget);
        let kinds = [TextKind::User, TextKind::Assistant, TextKind::Tool];
        let filter = Filter { kinds: Some(kinds.into()), ..Filter::default() }.asked_in(project);
        request.filter = self.restrict_to_visible(filter).await?;
        request.embedding = self.embed_query(query).await;
        let found = self.retrieve(&request).await?;
        Ok(if found.bears_on(&self.parse_question(&request), PageCause::Asked) {
            found.text
        } else {
            String::new()
        })
    }
}
