//! Another process on the same session: it takes a turn, calls a tool or reopens the session just when a commit is
//! under way.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use neap_core::base::ids::StreamId;
use neap_core::base::message::ToolCall;
use neap_engine::{Author, Engine, EngineError, NullObserver, SessionOptions};
use serde_json::json;

use crate::agent::{SimAgent, run_person_command};
use crate::model::memory::sensible_call;
use crate::model::{SimModel, StopHandles};
use crate::rng::Rng;
use crate::store::Rival;
use crate::trace::Trace;
use crate::user::User;

pub struct RivalProcess {
    engine: Engine,
    model: Arc<SimModel>,
    trace: Trace,
    agent: Option<SimAgent>,
    inner: Mutex<(Rng, User)>,
}

impl RivalProcess {
    pub fn new(engine: Engine, model: Arc<SimModel>, trace: Trace, rng: Rng, user: User) -> Self {
        Self { engine, model, trace, agent: None, inner: Mutex::new((rng, user)) }
    }

    pub fn for_agent(mut self, agent: Option<&SimAgent>) -> Self {
        self.agent = agent.cloned();
        self
    }

    fn draw(&self) -> (u64, Rng, String) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let (rng, user) = &mut *inner;
        let rng = Rng::new(rng.draw());
        (rng.clone().below(10), rng, user.next_message())
    }

    async fn visit(&self, stream: &StreamId) -> Result<(), EngineError> {
        let (action, mut rng, text) = self.draw();
        let session = stream.session();
        if let Some(session) = session.as_ref().filter(|_| action == 0) {
            // As a restart does: a turn in flight counts as dead, expansions are gone.
            self.engine.resume(session, &SessionOptions::default()).await?;
            return Ok(());
        }
        if let Some(agent) = &self.agent
            && (session.is_none() || rng.chance(200))
        {
            return run_person_command(&self.engine, &mut rng, &agent.canary).await;
        }
        let Some(session) = session else { return Ok(()) };
        if let Some(agent) = self.agent.as_ref().filter(|_| rng.chance(150)) {
            let ToolCall { name, arguments, .. } = sensible_call(&mut rng, agent);
            self.engine.attach(&session).await?.call_tool(&name, &arguments).await?;
            return Ok(());
        }
        let mut other = self.engine.attach(&session).await?;
        if action < 4 {
            let (name, id) = random_tool_call(&mut rng, &other);
            other.call_tool(name, &json!({"id": id, "name": id}).to_string()).await?;
            return Ok(());
        }
        self.model.prepare(&text, StopHandles::default());
        match other.turn(Author::Person, &text, &mut NullObserver).await {
            Ok(_) | Err(EngineError::NoReply { .. } | EngineError::Turn(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// A tool call that a person might make on an existing effort.
pub(crate) fn random_tool_call(rng: &mut Rng, session: &neap_engine::Session) -> (&'static str, String) {
    let all = || session.state().efforts().map(|effort| (effort.id.to_string(), effort.is_concluded()));
    // Mostly expansions, since they are what decays.
    let concluded: Vec<String> = all().filter(|(_, concluded)| *concluded).map(|(id, _)| id).collect();
    if rng.chance(500)
        && let Some(id) = rng.pick(&concluded)
    {
        return ("expand_effort", id.clone());
    }
    let ids: Vec<String> = all().map(|(id, _)| id).collect();
    let id = rng.pick(&ids).cloned().unwrap_or_else(|| "something".to_owned());
    let tools = [
        "expand_effort", "expand_effort", "collapse_effort", "close_effort", "reopen_effort", "switch_effort",
        "effort_status", "open_effort",
    ];
    (rng.word(&tools), id)
}

#[async_trait]
impl Rival for RivalProcess {
    async fn act(&self, stream: &StreamId) {
        if let Err(error) = self.visit(stream).await {
            self.trace.note(|step| step.complaints.push(error.to_string()));
        }
    }
}
