//! A scene: a fresh store, a past made without any model, and then the model that is asked.

use std::fmt;
use std::sync::Arc;

use neap_core::event::Event;
use neap_core::ids::{EffortId, Seq, SessionId};
use neap_engine::{Author, Engine, Quiet, Session, SessionOptions};
use neap_model::summarize::ModelSummarizer;
use neap_store::{SqliteStore, Stored};
use serde::Deserialize;
use serde_json::json;

use super::rows::Given;
use crate::cmd::proof::stage::{AUTH_BUG, DB_MIGRATION};
use crate::model::Chosen;
use crate::out::Failure;

/// The effort that is open, or was concluded lately.
pub(super) const LOGIN: &str = "login-401";
/// The one of long ago.
pub(super) const BILLING: &str = "billing-migration";

/// Talk that belongs to no effort.
const CHATTER: [(&str, &str); 3] = [
    ("Which planet has most moons?", "Saturn."),
    ("Do penguins have knees?", "They do, hidden under feathers."),
    ("Chess or checkers tonight?", "Chess."),
];

/// What happened since the model was asked.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) calls: Vec<String>,
    pub(super) opened: Vec<String>,
    pub(super) concluded: Vec<String>,
    pub(super) expanded: Vec<String>,
    pub(super) reopened: Vec<String>,
    /// What is active and what is expanded at the end.
    pub(super) active: Option<String>,
    pub(super) expanded_now: Vec<String>,
    /// What stands for the login effort.
    pub(super) summary: String,
    reply: String,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls = if self.calls.is_empty() { "no call".to_owned() } else { self.calls.join(", ") };
        let words = if self.reply.is_empty() { &self.summary } else { &self.reply };
        write!(f, "{calls}: {words}")
    }
}

#[derive(Deserialize)]
struct Said {
    user: String,
    assistant: String,
}

pub(super) struct Scene {
    engine: Engine,
    session: Session,
    /// Where the past ends.
    began: Seq,
    // Lives as long as the store in it.
    _folder: tempfile::TempDir,
}

impl Scene {
    pub(super) async fn new(chosen: &Chosen, given: Given) -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let store = SqliteStore::open(&folder.path().join("proof.db"))?;
        let model = chosen.client.clone();
        let mut builder = Engine::builder(Arc::new(store)).model(model.clone()).encoding(&chosen.encoding());
        if given == Given::SummarizedByModel {
            builder = builder.summarizer(Arc::new(ModelSummarizer::new(model))).summary_limit(None);
        }
        let engine = builder.build();
        let id = SessionId::from_name("proof").map_err(|error| Failure::new(error.to_string()))?;
        let session = engine.resume(&id, &SessionOptions { set: chosen.settings(Vec::new()) }).await?;
        let mut scene = Self { engine, session, began: Seq::default(), _folder: folder };
        chosen.fit(&mut scene.session).await?;
        scene.past(given).await?;
        scene.began = scene.session.state().seq();
        Ok(scene)
    }

    /// Says the lines to the model, and tells what happened.
    pub(super) async fn play(&mut self, says: &[&str]) -> Result<Seen, Failure> {
        let mut seen = Seen::default();
        for line in says {
            seen.reply = self.session.turn(Author::Person, line, &mut Quiet).await?.text;
        }
        let events = self.engine.store().events(self.session.id(), self.began.next(), usize::MAX).await?;
        for stored in events {
            if let Stored::Event(recorded) = stored {
                seen.follow(&recorded.event);
            }
        }
        let state = self.session.state();
        seen.active = state.active().map(|effort| effort.id.to_string());
        seen.expanded_now = state.expanded().map(|effort| effort.id.to_string()).collect();
        let login = EffortId::from_name(LOGIN).ok().and_then(|id| state.effort(&id)?.summary.clone());
        seen.summary = login.map(|summary| summary.text).unwrap_or_default();
        Ok(seen)
    }

    /// Makes what there is before.
    async fn past(&mut self, given: Given) -> Result<(), Failure> {
        match given {
            Given::Nothing => {}
            Given::Working => self.work(LOGIN, AUTH_BUG, 3).await?,
            Given::Concluded => self.conclude(LOGIN, AUTH_BUG).await?,
            Given::SummarizedByModel => {
                self.conclude(LOGIN, AUTH_BUG).await?;
                self.session.tend().await?;
            }
            Given::Expanded => {
                self.conclude(LOGIN, AUTH_BUG).await?;
                self.tool("expand_effort", json!({"id": LOGIN})).await?;
            }
            Given::Evicted => {
                self.conclude(BILLING, DB_MIGRATION).await?;
                let turns = self.session.state().policy().summary_eviction_threshold + 1;
                for (said, answered) in CHATTER.iter().cycle().take(usize::try_from(turns).unwrap_or(usize::MAX)) {
                    self.session.record(Author::Person, said, answered, None).await?;
                }
            }
        }
        Ok(())
    }

    async fn conclude(&mut self, name: &str, script: &str) -> Result<(), Failure> {
        self.work(name, script, usize::MAX).await?;
        self.tool("close_effort", json!({})).await
    }

    async fn work(&mut self, name: &str, script: &str, most: usize) -> Result<(), Failure> {
        self.tool("open_effort", json!({"name": name})).await?;
        for line in script.lines().take(most) {
            let Said { user, assistant } =
                serde_json::from_str(line).map_err(|error| Failure::new(error.to_string()))?;
            self.session.record(Author::Person, &user, &assistant, None).await?;
        }
        Ok(())
    }

    async fn tool(&mut self, name: &str, arguments: serde_json::Value) -> Result<(), Failure> {
        let outcome = self.session.call_tool(name, &arguments.to_string()).await?;
        outcome.refusal.map_or(Ok(()), |refusal| Err(Failure::new(format!("{name}: {refusal}"))))
    }
}

impl Seen {
    fn follow(&mut self, event: &Event) {
        if let Event::ToolsCalled { round, .. } = event {
            self.calls.extend(round.assistant.message.tool_calls.iter().map(|call| call.name.clone()));
        }
        let (list, id) = if let Event::EffortOpened { id, .. } = event {
            (&mut self.opened, id)
        } else if let Event::EffortConcluded { id, .. } = event {
            (&mut self.concluded, id)
        } else if let Event::EffortExpanded { id, .. } = event {
            (&mut self.expanded, id)
        } else if let Event::EffortReopened { id, .. } = event {
            (&mut self.reopened, id)
        } else {
            return;
        };
        list.push(id.to_string());
    }
}
