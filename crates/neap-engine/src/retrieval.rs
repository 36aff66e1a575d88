//! Recalls earlier text from any session: the store finds candidates, the core ranks and packs them.

use neap_core::base::ids::{Stamp, StreamId};
use neap_core::base::tokens::Tokens;
use neap_core::client::RecallNeed;
use neap_core::memory::knowledge::{RELATED_STEPS_MAX, add_related, related_request};
use neap_core::memory::{Memory, RecallRequest, RecallResponse};
use neap_core::recall::{
    Candidates, Embedding, Filter, FoundText, PageCounting, ParsedQuestion, Query, RankWeights, RankedResults,
    RankedSearch, Ranking, RecalledContext, TextSearch, pack,
};
use neap_model::bpe::counter_for;
use neap_store::{Store, StoreError};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::parts::Parts;

/// The session in which a question is asked.
#[derive(Debug, Clone)]
pub struct CurrentSession {
    /// The session's id.
    pub session: StreamId,
    /// How many of its latest texts the reader still has, which need not be recalled.
    pub visible_texts: u64,
}

/// What to recall, and within which budget.
#[derive(Debug, Clone)]
pub struct RetrievalRequest {
    /// The question, or other text to which the result must be relevant.
    pub query: String,
    /// The query's embedding, if known already ([`Engine::embed_query`]).
    pub embedding: Option<Embedding>,
    /// Which texts to search.
    pub filter: Filter,
    /// The time of the question; now by default.
    pub now: Option<Stamp>,
    /// The session in which it is asked, if any.
    pub current: Option<CurrentSession>,
    /// Token budget of the result.
    pub budget: Tokens,
    /// Weights of the ranking.
    pub weights: RankWeights,
    /// What the texts must have besides a good rank.
    pub need: Option<RecallNeed>,
}

impl RetrievalRequest {
    /// Searches everything that is recorded.
    pub fn new(question: impl Into<String>, budget: Tokens) -> Self {
        Self {
            query: question.into(),
            embedding: None,
            filter: Filter::default(),
            now: None,
            current: None,
            budget,
            weights: RankWeights::default(),
            need: None,
        }
    }
}

impl Engine {
    /// The texts that answer a question best within a budget.
    pub async fn retrieve(&self, request: &RetrievalRequest) -> Result<RecalledContext, EngineError> {
        let counter = counter_for(&self.parts.encoding);
        self.retrieve_counted(request, PageCounting { counter: counter.as_ref(), has_candidate_counts: true })
            .await
    }

    pub(crate) fn parse_question(&self, request: &RetrievalRequest) -> ParsedQuestion {
        ParsedQuestion::parse(&request.query, request.now.unwrap_or_else(|| self.parts.clock.now()))
    }

    pub(crate) async fn retrieve_counted(
        &self,
        request: &RetrievalRequest,
        counting: PageCounting<'_>,
    ) -> Result<RecalledContext, EngineError> {
        let question = self.parse_question(request);
        if question.is_empty() {
            return Ok(RecalledContext::default());
        }
        let embedding = request.embedding.clone().map(|embedding| (self.parts.embedder_name(), embedding));
        let query = question.to_query(embedding, request.filter.clone());
        let current_session =
            request.current.clone().map(|CurrentSession { session, visible_texts }| (session, visible_texts));
        let (weights, budget) = (request.weights.clone(), request.budget);
        let search = RankedSearch { question, query, weights, current_session, budget };
        let RankedResults { ranked, texts } = self.parts.store.search(&search).await?;
        let ranked = match &request.need {
            Some(need) => need.filter(ranked, &texts),
            None => ranked,
        };
        Ok(pack(counting, &search.question, ranked, &texts, budget))
    }
}

impl Parts {
    /// An agent's relevant records, by words and by meaning; without search terms, the newest.
    pub(crate) async fn search_memories(
        &self,
        stream: &StreamId,
        request: &RecallRequest,
        question: &str,
    ) -> Result<RecallResponse, StoreError> {
        let mut recalled = self.store.recall(stream, request).await?;
        if request.terms.is_empty() {
            return Ok(recalled);
        }
        self.add_similar_memories(stream, request, question, &mut recalled).await;
        self.add_related_memories(stream, request, &mut recalled).await?;
        Ok(recalled)
    }

    async fn add_similar_memories(
        &self,
        stream: &StreamId,
        request: &RecallRequest,
        question: &str,
        recalled: &mut RecallResponse,
    ) {
        let Some(embedding) = self.embed_query(question).await else { return };
        let query = request.to_semantic_query(stream, self.embedder_name(), embedding);
        match self.nearest_memories(stream, (request, question), &query, recalled).await {
            Ok(more) => recalled.memories.extend(more.into_iter().filter(|memory| request.matches_status(memory))),
            // The matches by words stand.
            Err(error) => tracing::warn!(target: "neap::recall", %error, "memories were searched by words alone"),
        }
    }

    /// Searches by the words of what was found, and of what that finds.
    async fn add_related_memories(
        &self,
        stream: &StreamId,
        request: &RecallRequest,
        recalled: &mut RecallResponse,
    ) -> Result<(), StoreError> {
        for _ in 0..RELATED_STEPS_MAX {
            let Some(related) = related_request(request, recalled) else { break };
            let found = self.store.recall(stream, &related).await?;
            if !add_related(request, recalled, &related.terms, found) {
                break;
            }
        }
        Ok(())
    }

    async fn nearest_memories(
        &self,
        stream: &StreamId,
        (request, question): (&RecallRequest, &str),
        query: &Query,
        recalled: &mut RecallResponse,
    ) -> Result<Vec<Memory>, StoreError> {
        let more = recalled.add_similarities(request, question, &self.store.find_candidates(query).await?);
        self.store.memories(stream, &more).await
    }
}

/// Candidates of a search that lists texts.
pub(crate) async fn propose(
    store: &dyn Store,
    question: &ParsedQuestion,
    query: &Query,
) -> Result<Candidates, StoreError> {
    let mut proposed = store.find_candidates(query).await?;
    if let Some(others) = query.in_other_projects() {
        proposed.add_from_elsewhere(question, store.find_candidates(&others).await?);
    }
    for named_time in query.in_named_times(question) {
        proposed.add_more(store.find_candidates(&named_time).await?);
    }
    Ok(proposed)
}

/// The texts that match by themselves, best first: neighbours of a match are not added.
pub(crate) async fn find_texts(parts: &Parts, search: &TextSearch) -> Result<Vec<FoundText>, EngineError> {
    let TextSearch { question, filter, weights, max } = search;
    if question.is_empty() {
        return Ok(Vec::new());
    }
    let store = parts.store.as_ref();
    let embedding =
        parts.embed_query(&question.question).await.map(|embedding| (parts.embedder_name(), embedding));
    let query = question.to_query(embedding, filter.clone());
    let proposed = propose(store, question, &query).await?;
    let mut matches = Ranking::new(question, weights, proposed).into_matches();
    matches.truncate(*max);
    let ids: Vec<_> = matches.iter().map(|ranked| ranked.candidate.id.clone()).collect();
    let (texts, scopes) = (store.texts(&ids).await?, store.scopes(&ids).await?);
    let all = matches.into_iter().zip(texts).zip(scopes);
    Ok(all.filter_map(|((ranked, text), scope)| Some(FoundText { ranked, scope, text: text? })).collect())
}
