//! A window with a vector memory behind it.

use async_trait::async_trait;
use neap_core::ids::{Stamp, TurnNo};
use neap_core::message::{Message, Role};
use neap_core::tokens::Tokens;

use super::vector::VectorMemory;
use super::window::{WindowMemory, plain};
use super::{AgentMemory, check};
use crate::error::EngineError;

/// What may be recalled, in per cent of the budget, unless said otherwise.
const SHARE_PERCENT: u64 = 25;

/// A window, and behind it what a vector memory recalls for the latest question. The window's budget is the budget of both:
/// what is recalled takes its share of it at most, and what it does not take is the window's.
///
/// ```no_run
/// # use neap_engine::agent_memory::{Layers, SessionId, Tokens, VectorMemory, WindowMemory};
/// # async fn open(engine: &neap_engine::Engine) -> Result<Layers, Box<dyn std::error::Error>> {
/// let session = SessionId::from_name("my agent")?;
/// let window = WindowMemory::open(engine, &session, Tokens(8_000)).await?;
/// let vector = VectorMemory::open(engine, &session, Tokens(2_000)).await?;
/// Ok(Layers::new(window).behind(vector))
/// # }
/// ```
///
/// Opened on the window's own session, as above, the vector memory recalls what left the window, and only that: what is
/// still shown in its own words is not recalled again. Opened on another session, it brings that one's past in, and is only
/// read. What is added goes to the window's session, and is stored once.
///
/// What is recalled stands after the past and before the exchange in flight, so that all before it stays as it was sent.
pub struct Layers {
    window: WindowMemory,
    behind: Option<VectorMemory>,
    share_percent: u64,
}

impl Layers {
    /// A window alone.
    pub fn new(window: WindowMemory) -> Self {
        Self { window, behind: None, share_percent: SHARE_PERCENT }
    }

    /// Puts a vector memory behind it.
    pub fn behind(mut self, vector: VectorMemory) -> Self {
        self.behind = Some(vector);
        self
    }

    /// What may be recalled, in per cent of the budget; a quarter by default, nine tenths at most.
    pub fn share(mut self, percent: u64) -> Self {
        self.share_percent = percent.min(90);
        self
    }

    /// The window.
    pub fn window(&self) -> &WindowMemory {
        &self.window
    }
}

#[async_trait]
impl AgentMemory for Layers {
    async fn add(&mut self, role: Role, content: &str, timestamp: Stamp) -> Result<(), EngineError> {
        self.window.add(role, content, timestamp).await
    }

    async fn reserve_tokens(&mut self, budget: Tokens) -> Result<(), EngineError> {
        self.window.reserve_tokens(check(budget)?).await
    }

    async fn fetch_for_prompt(&mut self) -> Result<Vec<Message>, EngineError> {
        let budget = self.window.budget();
        let share = budget.percent(self.share_percent);
        let asked = self.window.keeper.asked().await?;
        let (Some(vector), Some((turn, query))) = (&mut self.behind, asked) else {
            return self.window.fetch_for_prompt().await;
        };
        let is_own_past = vector.session() == self.window.session();
        let narrow = self.window.show(budget - share).await?;
        if is_own_past && narrow.is_whole {
            return Ok(plain(narrow.messages));
        }
        let may = |raw_from: Option<TurnNo>| {
            let shown_from = raw_from.unwrap_or(turn).min(turn);
            move |of: TurnNo| !is_own_past || of < shown_from
        };
        let mut chunks = vector.recall(&query, vector.k(), may(narrow.raw_from)).await?;
        // What is not needed for that is the window's, which may then show more of the same.
        let taken = vector.write(&chunks, share).map_or(Tokens::ZERO, |record| record.tokens);
        let mut shown = self.window.show(budget - taken).await?;
        chunks.retain(|chunk| may(shown.raw_from)(chunk.turn));
        let record = vector.write(&chunks, taken);
        shown.messages.splice(shown.in_flight_at..shown.in_flight_at, record);
        Ok(plain(shown.messages))
    }
}
