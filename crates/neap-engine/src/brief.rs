//! Telling a host where things stand: the parts of a page are fetched, the core puts it together.

use neap_core::brief::{Brief, Briefing, Progress, known};
use neap_core::ids::SessionId;
use neap_core::recall::{Filter, TextKind};
use neap_core::tokens::Tokens;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::recollect::Asking;

impl Engine {
    /// Where a session stands, what the agent knows, and what was said before that bears on a question: a page of at most so
    /// many tokens. Changes nothing.
    pub async fn brief(&self, id: &SessionId, query: Option<&str>, budget: Tokens) -> Result<Brief, EngineError> {
        let mut session = self.attach(id).await?;
        let counter = session.counter().clone();
        let mut briefing = Briefing::new(budget);
        let known = match self.memory().await? {
            Some(agent) => {
                let asked = agent.context(query.unwrap_or_default(), None, Some(briefing.known_room())).await?;
                known(&asked.page, counter.as_ref())
            }
            None => String::new(),
        };
        let past = match query {
            Some(query) => self.said_about(query, briefing.past_room()).await?,
            None => String::new(),
        };
        let mut progress = briefing.take(counter.as_ref(), known, past);
        loop {
            progress = match progress {
                Progress::Stand(room) => {
                    let context = session.stand(room).await?;
                    briefing.stood(counter.as_ref(), context.as_ref(), room)
                }
                Progress::Done(brief) => return Ok(brief),
            };
        }
    }

    /// What people and models said of it, in any conversation.
    async fn said_about(&self, query: &str, room: Tokens) -> Result<String, EngineError> {
        let mut asking = Asking::new(query, room);
        let kinds = [TextKind::User, TextKind::Assistant, TextKind::Tool];
        asking.filter = self.shown_in(Filter { kinds: Some(kinds.into()), ..Filter::default() }).await?;
        asking.embedding = self.meaning(query).await;
        Ok(self.recollect(&asking).await?.text)
    }
}
