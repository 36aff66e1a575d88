//! Asks the questions, and looks at what is loaded for them.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use neap_core::ids::{AgentId, Stamp};
use neap_core::knowledge::{Fate, Outlook, used};
use neap_core::ledger::Layer;
use neap_engine::{Agent, Engine, FixedClock};
use neap_model::scripted::Scripted;
use neap_store::{SqliteStore, Store};

use super::corpus::{AGENT, Corpus, NOW};
use super::questions::Asked;
use crate::cmd::proof::window::stage::ms;
use crate::out::Failure;

const IDENTITY: &str = "You are the assistant of a small software company and of the family of its founder, Tim. You know \
    the code base, the people and the house. You are careful with money and with other people's data, you say what you \
    are not sure of, and you would rather ask than guess.";

/// What came of one question.
pub(super) struct Answered {
    pub(super) tokens: u64,
    pub(super) budget: u64,
    /// What the layers that are filled by relevance cost, and what they may.
    pub(super) recalled_tokens: u64,
    /// What all candidates of the topic would cost in full.
    pub(super) of_topic_tokens: u64,
    pub(super) items: usize,
    /// In thousandths, added up.
    pub(super) similarity_sum: u64,
    pub(super) met: usize,
    pub(super) of_topic: usize,
    pub(super) near: usize,
    pub(super) used: usize,
    /// Candidates about just what was asked, loaded or not.
    pub(super) met_candidates: usize,
}

/// An engine over a store.
pub(super) fn engine(store: Arc<dyn Store>, model: Arc<Scripted>) -> Result<Engine, Failure> {
    let agent = AgentId::from_name(AGENT).map_err(|error| Failure::new(error.to_string()))?;
    let outlook = Outlook { identity: IDENTITY.to_owned(), ..Outlook::default() };
    let clock = Arc::new(FixedClock::at(Stamp(NOW.0)));
    Ok(Engine::builder(store).model(model).clock(clock).agent(agent, outlook).build())
}

/// The agent over a store that is opened for it.
pub(super) async fn agent(path: &Path) -> Result<Agent, Failure> {
    let engine = engine(Arc::new(SqliteStore::open(path)?), Arc::new(Scripted::new()))?;
    engine.memory().await?.ok_or_else(|| Failure::new("the engine has no agent"))
}

/// Asks one question.
pub(super) async fn ask(agent: &Agent, corpus: &Corpus, asked: &Asked) -> Result<Answered, Failure> {
    let page = agent.context(asked.text, None, None).await?.page;
    let flexible = [Layer::Decisions, Layer::Facts, Layer::Procedures, Layer::Episodes];
    let about = |id| corpus.about.get(id);
    let loaded = |is: &dyn Fn(&super::corpus::About) -> bool| {
        page.items.iter().filter(|item| about(&item.id).is_some_and(is)).count()
    };
    let mut of_topic_tokens = 0;
    let mut met_candidates = 0;
    for weighed in page.weighed.iter().filter(|weighed| weighed.fate != Fate::AlwaysLoaded) {
        let Some(about) = about(&weighed.id) else { continue };
        met_candidates += usize::from(asked.is_met_by(about));
        if asked.is_of_topic(about)
            && let Some(memory) = agent.get(weighed.id).await?
        {
            of_topic_tokens += memory.lines.summary_tokens.0;
        }
    }
    Ok(Answered {
        tokens: page.tokens.total().0,
        budget: page.budget.0,
        recalled_tokens: flexible.iter().map(|layer| page.tokens.get(*layer).0).sum(),
        of_topic_tokens,
        items: page.items.len(),
        similarity_sum: page.items.iter().map(|item| item.similarity.thousandths()).sum(),
        met: loaded(&|about| asked.is_met_by(about)),
        of_topic: loaded(&|about| asked.is_of_topic(about)),
        near: loaded(&|about| asked.is_near(about, corpus)),
        used: used(&page, &asked.reply(corpus)).len(),
        met_candidates,
    })
}

/// Times one build, in milliseconds.
pub(super) async fn time(agent: &Agent, asked: &Asked) -> Result<f64, Failure> {
    let began = Instant::now();
    agent.context(asked.text, None, None).await?;
    Ok(ms(began.elapsed()))
}

/// Times one build with all that comes before it, in milliseconds: the store is opened, the agent loaded.
pub(super) async fn time_cold(path: &Path, asked: &Asked) -> Result<f64, Failure> {
    let began = Instant::now();
    agent(path).await?.context(asked.text, None, None).await?;
    Ok(ms(began.elapsed()))
}
