//! Recalling what was said, in whatever conversation: the store proposes, the core puts in order and packs.

use neap_core::ids::{SessionId, Stamp};
use neap_core::memory::{Memory, RecallRequest, Recalled};
use neap_core::recall::{
    Consult, Consulted, Counting, Embedding, Filter, Found, Query, Ranking, Recollection, Search, Wanted, Weights,
    pack,
};
use neap_core::tokens::Tokens;
use neap_model::bpe::counter_for;
use neap_store::StoreError;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::parts::Parts;

/// A conversation that goes on.
#[derive(Debug, Clone)]
pub struct Here {
    /// Which.
    pub session: SessionId,
    /// So many of its latest texts are in sight, and need not be recalled.
    pub in_sight: u64,
}

/// What is to be recalled.
#[derive(Debug, Clone)]
pub struct Asking {
    /// The question, or whatever else the recalled is to bear on.
    pub question: String,
    /// What it means, if that is known already ([`Engine::meaning`]).
    pub embedding: Option<Embedding>,
    /// Where it is looked for.
    pub filter: Filter,
    /// When it is asked; now by default.
    pub now: Option<Stamp>,
    /// The conversation that goes on, if it is asked in one.
    pub here: Option<Here>,
    /// What the recalled may cost.
    pub budget: Tokens,
    /// What counts how much.
    pub weights: Weights,
}

impl Asking {
    /// A question to everything that was said.
    pub fn new(question: impl Into<String>, budget: Tokens) -> Self {
        Self {
            question: question.into(),
            embedding: None,
            filter: Filter::default(),
            now: None,
            here: None,
            budget,
            weights: Weights::default(),
        }
    }
}

impl Engine {
    /// What answers a question best within a budget.
    pub async fn recollect(&self, asking: &Asking) -> Result<Recollection, EngineError> {
        let counter = counter_for(&self.parts.encoding);
        self.recollect_for(asking, Counting { counter: counter.as_ref(), is_of_cards: true }).await
    }

    /// The same where a page costs what somebody else counts.
    pub(crate) async fn recollect_for(
        &self,
        asking: &Asking,
        counting: Counting<'_>,
    ) -> Result<Recollection, EngineError> {
        let wanted = Wanted::of(&asking.question, asking.now.unwrap_or_else(|| self.parts.clock.now()));
        if wanted.is_empty() {
            return Ok(Recollection::default());
        }
        let meant = asking.embedding.clone().map(|embedding| (self.parts.embedder_name(), embedding));
        let query = wanted.query(meant, asking.filter.clone());
        let here = asking.here.clone().map(|Here { session, in_sight }| (session, in_sight));
        let (weights, budget) = (asking.weights.clone(), asking.budget);
        let consult = Consult { wanted, query, weights, here, budget };
        let Consulted { ranked, texts } = self.parts.store.consult(&consult).await?;
        Ok(pack(counting, &consult.wanted, ranked, &texts, budget))
    }
}

impl Parts {
    /// An agent's records that bear on a question: by words, and by what it means where there is an embedder. A question that has no words to go
    /// by asks for the newest.
    pub(crate) async fn search_memories(
        &self,
        agent: &SessionId,
        request: &RecallRequest,
        question: &str,
    ) -> Result<Recalled, StoreError> {
        let mut recalled = self.store.recall(agent, request).await?;
        if request.terms.is_empty() {
            return Ok(recalled);
        }
        let Some(meant) = self.meaning(question).await else { return Ok(recalled) };
        let query = request.by_meaning(agent, self.embedder_name(), meant);
        match self.nearest_memories(agent, &query, &mut recalled).await {
            Ok(more) => recalled.memories.extend(more.into_iter().filter(|memory| request.admits(memory))),
            // What words found is there.
            Err(error) => tracing::warn!(target: "neap::recall", %error, "memories were searched by words alone"),
        }
        Ok(recalled)
    }

    async fn nearest_memories(
        &self,
        agent: &SessionId,
        query: &Query,
        recalled: &mut Recalled,
    ) -> Result<Vec<Memory>, StoreError> {
        let more = recalled.note_near(&self.store.propose(query).await?);
        self.store.memories(agent, &more).await
    }
}

/// The texts that answer by themselves, best first, with their words.
pub(crate) async fn find(parts: &Parts, search: &Search) -> Result<Vec<Found>, EngineError> {
    let Search { wanted, filter, weights, max } = search;
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let store = parts.store.as_ref();
    let meant = parts.meaning(&wanted.question).await.map(|embedding| (parts.embedder_name(), embedding));
    let query = wanted.query(meant, filter.clone());
    let mut matches = Ranking::new(wanted, weights, store.propose(&query).await?).matches();
    matches.truncate(*max);
    let ids: Vec<_> = matches.iter().map(|ranked| ranked.card.id.clone()).collect();
    let (texts, scopes) = (store.texts(&ids).await?, store.scopes(&ids).await?);
    let all = matches.into_iter().zip(texts).zip(scopes);
    Ok(all.filter_map(|((ranked, text), scope)| Some(Found { ranked, scope, text: text? })).collect())
}
