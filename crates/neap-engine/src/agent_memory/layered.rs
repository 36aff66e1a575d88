//! A window with a vector memory behind it.

use async_trait::async_trait;
use neap_core::base::ids::{Stamp, TurnNo};
use neap_core::base::message::{Message, Role};
use neap_core::base::tokens::Tokens;

use super::vector::VectorMemory;
use super::window::{WindowMemory, into_messages};
use super::{AgentMemory, check_budget};
use crate::error::EngineError;

/// Of the budget, for recalled text.
const RECALL_SHARE_PERCENT: u64 = 25;

/// A window, and behind it what a vector memory recalls for the latest question. Both share the window's budget:
/// recalled text takes at most its share, and the window gets the rest.
///
/// ```no_run
/// # use neap_engine::agent_memory::{LayeredMemory, SessionId, Tokens, VectorMemory, WindowMemory};
/// # async fn open(engine: &neap_engine::Engine) -> Result<LayeredMemory, Box<dyn std::error::Error>> {
/// let session = SessionId::from_name("my agent")?;
/// let window = WindowMemory::open(engine, &session, Tokens(8_000)).await?;
/// let vector = VectorMemory::open(engine, &session, Tokens(2_000)).await?;
/// Ok(LayeredMemory::new(window).with_vector(vector))
/// # }
/// ```
///
/// On the window's own session, as above, the vector memory recalls only what left the window. On another session,
/// it recalls that session's past and adds no message to it. Messages are stored once, in the window's session.
///
/// Recalled text comes right before the exchange in flight, so that everything before it stays as it was sent.
pub struct LayeredMemory {
    window: WindowMemory,
    vector: Option<VectorMemory>,
}

impl LayeredMemory {
    /// A window without recall.
    pub fn new(window: WindowMemory) -> Self {
        Self { window, vector: None }
    }

    /// Puts a vector memory behind the window.
    pub fn with_vector(mut self, vector: VectorMemory) -> Self {
        self.vector = Some(vector);
        self
    }

    /// The wrapped window.
    pub fn window(&self) -> &WindowMemory {
        &self.window
    }
}

#[async_trait]
impl AgentMemory for LayeredMemory {
    async fn add(&mut self, role: Role, content: &str, timestamp: Stamp) -> Result<(), EngineError> {
        self.window.add(role, content, timestamp).await
    }

    async fn reserve_tokens(&mut self, budget: Tokens) -> Result<(), EngineError> {
        self.window.reserve_tokens(check_budget(budget)?).await
    }

    async fn fetch_for_prompt(&mut self) -> Result<Vec<Message>, EngineError> {
        let budget = self.window.budget();
        let share = budget.percent(RECALL_SHARE_PERCENT);
        let latest = self.window.conversation.latest_query().await?;
        let (Some(vector), Some((turn, query))) = (&mut self.vector, latest) else {
            return self.window.fetch_for_prompt().await;
        };
        let is_own_past = vector.session() == self.window.session();
        let narrow = self.window.render(budget - share).await?;
        if is_own_past && narrow.is_whole {
            return Ok(into_messages(narrow.messages));
        }
        let may_recall = |raw_from: Option<TurnNo>| {
            let shown_from = raw_from.unwrap_or(turn).min(turn);
            move |candidate: TurnNo| !is_own_past || candidate < shown_from
        };
        let mut chunks = vector.recall(&query, vector.k(), may_recall(narrow.raw_from)).await?;
        // The window gets what recall leaves, and may then show more of the same turns.
        let recall_tokens = vector.render_chunks(&chunks, share).map_or(Tokens::ZERO, |record| record.tokens);
        let mut rendered = self.window.render(budget - recall_tokens).await?;
        chunks.retain(|chunk| may_recall(rendered.raw_from)(chunk.turn));
        let record = vector.render_chunks(&chunks, recall_tokens);
        rendered.messages.splice(rendered.in_flight_at..rendered.in_flight_at, record);
        Ok(into_messages(rendered.messages))
    }
}
