//! Another process on the same session: it takes a turn, calls a tool or opens the session anew, just when a
//! commit of ours is under way.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use neap_core::ids::SessionId;
use neap_core::message::ToolCall;
use neap_engine::{Author, Engine, EngineError, Quiet, SessionOptions};
use serde_json::json;

use crate::agent::{SimAgent, person};
use crate::model::memory::sensible;
use crate::model::{SimModel, Stops};
use crate::rng::Rng;
use crate::store::Rival;
use crate::tape::Tape;
use crate::user::User;

/// The other process.
pub struct Visitor {
    engine: Engine,
    model: Arc<SimModel>,
    tape: Tape,
    agent: Option<SimAgent>,
    inner: Mutex<(Rng, User)>,
}

impl Visitor {
    /// A visitor with an engine of its own.
    pub fn new(engine: Engine, model: Arc<SimModel>, tape: Tape, rng: Rng, user: User) -> Self {
        Self { engine, model, tape, agent: None, inner: Mutex::new((rng, user)) }
    }

    /// The same, as a conversation of an agent.
    pub fn of(mut self, agent: Option<&SimAgent>) -> Self {
        self.agent = agent.cloned();
        self
    }

    fn draw(&self) -> (u64, Rng, String) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let (rng, user) = &mut *inner;
        let rng = Rng::new(rng.draw());
        (rng.clone().below(10), rng, user.says())
    }

    async fn visit(&self, session: &SessionId) -> Result<(), EngineError> {
        let (what, mut rng, text) = self.draw();
        if what == 0 && session.agent().is_none() {
            // As a restart does: a turn in flight is taken for dead, expansions are gone.
            self.engine.resume(session, &SessionOptions::default()).await?;
            return Ok(());
        }
        if let Some(agent) = &self.agent {
            if session.agent().is_some() || rng.chance(200) {
                // What is known changes at once.
                return person(&self.engine, &mut rng, &agent.canary).await;
            }
            if rng.chance(150) {
                let ToolCall { name, arguments, .. } = sensible(&mut rng, agent);
                self.engine.attach(session).await?.call_tool(&name, &arguments).await?;
                return Ok(());
            }
        }
        let mut other = self.engine.attach(session).await?;
        if what < 4 {
            let (name, id) = tool_call(&mut rng, &other);
            other.call_tool(name, &json!({"id": id, "name": id}).to_string()).await?;
            return Ok(());
        }
        self.model.prepare(&text, Stops::default());
        match other.turn(Author::Person, &text, &mut Quiet).await {
            Ok(_) | Err(EngineError::NoReply { .. } | EngineError::Turn(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// A tool a person might use on an effort that is there.
pub(crate) fn tool_call(rng: &mut Rng, on: &neap_engine::Session) -> (&'static str, String) {
    let all = || on.state().efforts().map(|effort| (effort.id.to_string(), effort.is_concluded()));
    // Mostly what can be expanded: expansions are what decays.
    let concluded: Vec<String> = all().filter(|(_, concluded)| *concluded).map(|(id, _)| id).collect();
    if rng.chance(500)
        && let Some(id) = rng.pick(&concluded)
    {
        return ("expand_effort", id.clone());
    }
    let ids: Vec<String> = all().map(|(id, _)| id).collect();
    let id = rng.pick(&ids).cloned().unwrap_or_else(|| "something".to_owned());
    let tools = [
        "expand_effort",
        "expand_effort",
        "collapse_effort",
        "close_effort",
        "reopen_effort",
        "switch_effort",
        "effort_status",
        "open_effort",
    ];
    (rng.word(&tools), id)
}

#[async_trait]
impl Rival for Visitor {
    async fn act(&self, session: &SessionId) {
        if let Err(error) = self.visit(session).await {
            self.tape.note(|step| step.complaints.push(error.to_string()));
        }
    }
}
