//! Builds briefs for hosts: this module fetches the parts, the core puts the page together.

use neap_core::base::ids::SessionId;
use neap_core::base::tokens::Tokens;
use neap_core::context::brief::{Brief, BriefBuilder, BriefStep, render_knowledge};
use neap_core::recall::{Filter, TextKind};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::retrieval::RetrievalRequest;

impl Engine {
    /// A page of at most `budget` tokens: where a session stands, what the agent knows, and earlier text that is
    /// relevant to `query`. Changes nothing.
    pub async fn brief(&self, id: &SessionId, query: Option<&str>, budget: Tokens) -> Result<Brief, EngineError> {
        let mut session = self.attach(id).await?;
        let counter = session.counter().clone();
        let mut builder = BriefBuilder::new(budget);
        let knowledge = match self.agent().await? {
            Some(agent) => {
                let selected =
                    agent.context(query.unwrap_or_default(), None, Some(builder.knowledge_budget())).await?;
                render_knowledge(&selected.knowledge, counter.as_ref())
            }
            None => String::new(),
        };
        let recalled = match query {
            Some(query) => self.recall_text(query, builder.recall_budget()).await?,
            None => String::new(),
        };
        let mut step = builder.add_knowledge(counter.as_ref(), knowledge, recalled);
        loop {
            step = match step {
                BriefStep::NeedsContext(context_budget) => {
                    let context = session.context_within(context_budget).await?;
                    builder.add_context(counter.as_ref(), context.as_ref(), context_budget)
                }
                BriefStep::Done(brief) => return Ok(brief),
            };
        }
    }

    async fn recall_text(&self, query: &str, budget: Tokens) -> Result<String, EngineError> {
        let mut request = RetrievalRequest::new(query, budget);
        let kinds = [TextKind::User, TextKind::Assistant, TextKind::Tool];
        request.filter =
            self.restrict_to_visible(Filter { kinds: Some(kinds.into()), ..Filter::default() }).await?;
        request.embedding = self.embed_query(query).await;
        Ok(self.retrieve(&request).await?.text)
    }
}
