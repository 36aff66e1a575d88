//! Follows an expected text through [`Engine::search`].

use neap_core::base::ids::{EffortId, SessionId, TurnNo};
use neap_core::memory::MemoryId;
use neap_core::recall::{Candidate, Expectation, Filter, ParsedQuestion, RankWeights, Ranking, Stage, TextKey};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::retrieval::propose;

/// A text that a search should find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectedText {
    /// Any message of a turn.
    Turn(SessionId, TurnNo),
    /// An effort, of any session.
    Effort(EffortId),
    /// A memory of an agent whose stream the filter names.
    Memory(MemoryId),
}

impl ExpectedText {
    fn is(&self, candidate: &Candidate) -> bool {
        match self {
            Self::Turn(session, turn) => candidate.id.stream == **session && candidate.turn == *turn,
            Self::Effort(id) => candidate.id.key == TextKey::Effort(id.clone()),
            Self::Memory(id) => candidate.id.key == TextKey::Memory(*id),
        }
    }
}

impl Engine {
    /// What became of an expected text in a search that lists at most `max` texts.
    pub async fn expect(
        &self,
        query: &str,
        filter: Filter,
        max: usize,
        expected: &ExpectedText,
    ) -> Result<Expectation, EngineError> {
        let filter = self.restrict_to_visible(filter).await?;
        let question = ParsedQuestion::parse(query, self.parts.clock.now());
        if !self.is_stored(expected, &filter).await? {
            return Ok(Expectation::lost(Stage::NotStored));
        }
        let embedding = self.embed_query(&question.question).await;
        let embedding = embedding.map(|embedding| (self.parts.embedder_name(), embedding));
        let query = question.to_query(embedding, filter);
        let proposed = propose(self.parts.store.as_ref(), &question, &query).await?;
        let weights = RankWeights::for_topics();
        let ranking = Ranking::new(&question, &weights, proposed);
        Ok(Expectation::of(ranking, &question, |candidate| expected.is(candidate), max))
    }

    async fn is_stored(&self, expected: &ExpectedText, filter: &Filter) -> Result<bool, EngineError> {
        Ok(match expected {
            ExpectedText::Turn(session, turn) => {
                let state = self.parts.store.load(session).await?;
                state.is_some_and(|state| (1..=state.turn().0).contains(&turn.0))
            }
            ExpectedText::Effort(id) => {
                let mut is_known = false;
                for info in self.sessions().await? {
                    let state = self.parts.store.load(&info.session).await?;
                    is_known |= state.is_some_and(|state| state.effort(id).is_some());
                }
                is_known
            }
            ExpectedText::Memory(id) => {
                let mut is_known = false;
                for agent in filter.streams.iter().flatten() {
                    is_known |= !self.parts.store.memories(agent, &[*id]).await?.is_empty();
                }
                is_known
            }
        })
    }
}
