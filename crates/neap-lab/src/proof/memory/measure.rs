//! Asks the questions and measures what is loaded for them.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use neap_core::base::ids::{AgentId, Stamp};
use neap_core::base::ledger::Layer;
use neap_core::memory::knowledge::{AgentProfile, SelectionOutcome, used_memories};
use neap_engine::{Agent, Engine, FixedClock};
use neap_model::scripted::ScriptedModel;
use neap_sqlite::SqliteStore;
use neap_store::Store;

use super::corpus::{AGENT, Corpus, NOW};
use super::questions::TopicQuestion;
use crate::LabError;
use crate::measure::ms;

const IDENTITY: &str = "You are the assistant of a small software company and of the family of its founder, Tim. You know \
    the code base, the people and the house. You are careful with money and with other people's data, you say what you \
    are not sure of, and you would rather ask than guess.";

pub(super) struct QuestionResult {
    pub(super) tokens: u64,
    pub(super) budget: u64,
    /// Tokens of the layers that are filled by relevance.
    pub(super) recalled_tokens: u64,
    /// Tokens of all candidates of the topic, in full.
    pub(super) topic_tokens: u64,
    pub(super) items: u64,
    /// Sum, in thousandths.
    pub(super) similarity_sum: u64,
    pub(super) exact: u64,
    pub(super) same_topic: u64,
    pub(super) same_field: u64,
    pub(super) used: u64,
    /// Candidates about exactly what was asked, loaded or not.
    pub(super) exact_candidates: u64,
}

pub(super) fn build_engine(store: Arc<dyn Store>, model: Arc<ScriptedModel>) -> Result<Engine, LabError> {
    let agent = AgentId::from_name(AGENT)?;
    let profile = AgentProfile { identity: IDENTITY.to_owned(), ..AgentProfile::default() };
    let clock = Arc::new(FixedClock::at(Stamp(NOW.0)));
    Ok(Engine::builder(store).model(model).clock(clock).agent(agent, profile).build())
}

pub(super) async fn open_agent(path: &Path) -> Result<Agent, LabError> {
    let engine = build_engine(Arc::new(SqliteStore::open(path)?), Arc::new(ScriptedModel::new()))?;
    engine.agent().await?.ok_or_else(|| LabError::new("the engine has no agent"))
}

pub(super) async fn ask(
    agent: &Agent,
    corpus: &Corpus,
    question: &TopicQuestion,
) -> Result<QuestionResult, LabError> {
    let page = agent.context(question.text, None, None).await?.knowledge;
    let flexible = [Layer::Decisions, Layer::Facts, Layer::Procedures, Layer::Episodes];
    let about = |id| corpus.about.get(id);
    let loaded = |matches: &dyn Fn(&super::corpus::About) -> bool| {
        page.items.iter().filter(|item| about(&item.id).is_some_and(matches)).count() as u64
    };
    let mut topic_tokens = 0;
    let mut exact_candidates = 0;
    for candidate in page.candidates.iter().filter(|candidate| candidate.outcome != SelectionOutcome::AlwaysLoaded)
    {
        let Some(about) = about(&candidate.id) else { continue };
        exact_candidates += u64::from(question.is_exact_match(about));
        if question.is_of_topic(about)
            && let Some(memory) = agent.get(candidate.id).await?
        {
            topic_tokens += memory.lines.summary_tokens.0;
        }
    }
    Ok(QuestionResult {
        tokens: page.tokens.total().0,
        budget: page.budget.0,
        recalled_tokens: flexible.iter().map(|layer| page.tokens.get(*layer).0).sum(),
        topic_tokens,
        items: page.items.len() as u64,
        similarity_sum: page.items.iter().map(|item| item.similarity.thousandths()).sum(),
        exact: loaded(&|about| question.is_exact_match(about)),
        same_topic: loaded(&|about| question.is_of_topic(about)),
        same_field: loaded(&|about| question.is_same_field(about, corpus)),
        used: used_memories(&page, &question.reply(corpus)).len() as u64,
        exact_candidates,
    })
}

/// In milliseconds.
pub(super) async fn time_build(agent: &Agent, question: &TopicQuestion) -> Result<f64, LabError> {
    let began = Instant::now();
    agent.context(question.text, None, None).await?;
    Ok(ms(began.elapsed()))
}

/// In milliseconds; includes opening the store and loading the agent.
pub(super) async fn time_cold_build(path: &Path, question: &TopicQuestion) -> Result<f64, LabError> {
    let began = Instant::now();
    open_agent(path).await?.context(question.text, None, None).await?;
    Ok(ms(began.elapsed()))
}
