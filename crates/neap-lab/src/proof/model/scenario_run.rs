//! Runs a scenario: a fresh store, a history written without a model, then the model under test.

use std::fmt;
use std::sync::Arc;

use neap_core::base::ids::{EffortId, Seq, SessionId};
use neap_core::session::event::{EffortEvent, Event, TurnEvent};
use neap_engine::{Author, Engine, NullObserver, Session, SessionOptions};
use neap_model::summarize::ModelSummarizer;
use neap_sqlite::SqliteStore;
use neap_store::StoredEvent;
use serde_json::json;

use super::TestedModel;
use super::scenarios::Setup;
use crate::LabError;
use crate::proof::session::{AUTH_BUG, DB_MIGRATION, read_script};

/// The effort that is open, or was concluded recently.
pub(super) const LOGIN: &str = "login-401";
/// The effort of long ago.
pub(super) const BILLING: &str = "billing-migration";

const CHATTER: [(&str, &str); 3] = [
    ("Which planet has most moons?", "Saturn."),
    ("Do penguins have knees?", "They do, hidden under feathers."),
    ("Chess or checkers tonight?", "Chess."),
];

#[derive(Debug, Default)]
pub(super) struct Observed {
    pub(super) calls: Vec<String>,
    pub(super) opened: Vec<String>,
    pub(super) concluded: Vec<String>,
    pub(super) expanded: Vec<String>,
    pub(super) reopened: Vec<String>,
    /// Active and expanded efforts at the end.
    pub(super) active: Option<String>,
    pub(super) expanded_now: Vec<String>,
    /// Summary of the login effort.
    pub(super) summary: String,
    reply: String,
}

impl fmt::Display for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls = if self.calls.is_empty() { "no call".to_owned() } else { self.calls.join(", ") };
        let words = if self.reply.is_empty() { &self.summary } else { &self.reply };
        write!(f, "{calls}: {words}")
    }
}

pub(super) struct ScenarioRun {
    engine: Engine,
    session: Session,
    /// Where the prepared history ends.
    start: Seq,
    // Kept for as long as the store in it.
    _folder: tempfile::TempDir,
}

impl ScenarioRun {
    pub(super) async fn new(tested: &TestedModel, setup: Setup) -> Result<Self, LabError> {
        let folder = tempfile::tempdir()?;
        let store = SqliteStore::open(&folder.path().join("proof.db"))?;
        let model = tested.model.clone();
        let mut builder = Engine::builder(Arc::new(store)).model(model.clone()).encoding(&tested.encoding);
        if setup == Setup::SummarizedByModel {
            builder = builder.summarizer(Arc::new(ModelSummarizer::new(model))).summary_timeout(None);
        }
        let engine = builder.build();
        let id = SessionId::from_name("proof")?;
        let mut session = engine
            .resume(&id, &SessionOptions { set: tested.settings.clone(), ..SessionOptions::default() })
            .await?;
        let budget = session.state().policy().context_budget();
        if let Some(limit) = tested.context_tokens_max.filter(|limit| budget > *limit) {
            session.set("context_tokens_max", &limit.0.to_string()).await?;
        }
        let mut run = Self { engine, session, start: Seq::default(), _folder: folder };
        run.prepare(setup).await?;
        run.start = run.session.state().seq();
        Ok(run)
    }

    pub(super) async fn run(&mut self, messages: &[String]) -> Result<Observed, LabError> {
        let mut observed = Observed::default();
        for message in messages {
            observed.reply = self.session.turn(Author::Person, message, &mut NullObserver).await?.text;
        }
        let events = self.engine.store().events(self.session.id(), self.start.next(), usize::MAX).await?;
        for stored in events {
            if let StoredEvent::Whole(recorded) = stored {
                observed.record_event(&recorded.event);
            }
        }
        let state = self.session.state();
        observed.active = state.active_effort().map(|effort| effort.id.to_string());
        observed.expanded_now = state.expanded_efforts().map(|effort| effort.id.to_string()).collect();
        let login = EffortId::from_name(LOGIN).ok().and_then(|id| state.effort(&id)?.summary.clone());
        observed.summary = login.map(|summary| summary.text).unwrap_or_default();
        Ok(observed)
    }

    async fn prepare(&mut self, setup: Setup) -> Result<(), LabError> {
        match setup {
            Setup::Nothing => {}
            Setup::Working => self.work(LOGIN, AUTH_BUG, 3).await?,
            Setup::Concluded => self.conclude(LOGIN, AUTH_BUG).await?,
            Setup::SummarizedByModel => {
                self.conclude(LOGIN, AUTH_BUG).await?;
                self.session.run_upkeep().await?;
            }
            Setup::Expanded => {
                self.conclude(LOGIN, AUTH_BUG).await?;
                self.call_tool("expand_effort", json!({"id": LOGIN})).await?;
            }
            Setup::Evicted => {
                self.conclude(BILLING, DB_MIGRATION).await?;
                let turns = self.session.state().policy().summary_eviction_threshold + 1;
                for (user, assistant) in CHATTER.iter().cycle().take(usize::try_from(turns).unwrap_or(usize::MAX))
                {
                    self.session.record(Author::Person, user, assistant, None).await?;
                }
            }
        }
        Ok(())
    }

    async fn conclude(&mut self, name: &str, script: &str) -> Result<(), LabError> {
        self.work(name, script, usize::MAX).await?;
        self.call_tool("close_effort", json!({})).await
    }

    async fn work(&mut self, name: &str, script: &str, lines_max: usize) -> Result<(), LabError> {
        self.call_tool("open_effort", json!({"name": name})).await?;
        for line in read_script(script)?.iter().take(lines_max) {
            self.session.record(Author::Person, &line.user, &line.assistant, None).await?;
        }
        Ok(())
    }

    async fn call_tool(&mut self, name: &str, arguments: serde_json::Value) -> Result<(), LabError> {
        let outcome = self.session.call_tool(name, &arguments.to_string()).await?;
        outcome.refusal.map_or(Ok(()), |refusal| Err(LabError::new(format!("{name}: {refusal}"))))
    }
}

impl Observed {
    fn record_event(&mut self, event: &Event) {
        if let Event::Turn(TurnEvent::ToolsCalled { round, .. }) = event {
            self.calls.extend(round.assistant.message.tool_calls.iter().map(|call| call.name.clone()));
        }
        let (list, id) = if let Event::Effort(EffortEvent::Opened { id, .. }) = event {
            (&mut self.opened, id)
        } else if let Event::Effort(EffortEvent::Concluded { id, .. }) = event {
            (&mut self.concluded, id)
        } else if let Event::Effort(EffortEvent::Expanded { id, .. }) = event {
            (&mut self.expanded, id)
        } else if let Event::Effort(EffortEvent::Reopened { id, .. }) = event {
            (&mut self.reopened, id)
        } else {
            return;
        };
        list.push(id.to_string());
    }
}
