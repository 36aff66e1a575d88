//! The MCP server: efforts and memories for agents that run the model themselves, over standard input and output
//! (`neap mcp`) and over HTTP (`/mcp` of `neap serve`).
//!
//! The core defines the tools (`tools` adds what MCP needs) and the engine executes them (`call`);
//! `session_resolver` finds the session of a request. Every call reads the session from the store, since several
//! processes may share one store; a call that loses a race is retried.

mod call;
mod completion;
mod forget;
mod handler;
mod http;
mod progress;
mod prompts;
mod resources;
mod session_resolver;
mod sessions;
mod stdio;
mod stdio_transport;
mod subscriptions;
mod tools;
mod uri;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use neap_engine::{Engine, Session, SessionOptions};
use rmcp::RoleServer;
use rmcp::model::Tool;
use rmcp::service::RequestContext;
use serde_json::Value;
use tokio::sync::broadcast;
use tokio::task::AbortHandle;

use neap_core::base::ids::{Seq, SessionId};
use neap_core::base::refusal::Refusal;
use neap_core::memory::Author;
use neap_engine::EngineError;

pub use http::{McpHttp, McpService};
pub use session_resolver::ServerDefaults;
pub use sessions::SessionLimits;
pub use stdio::serve;

/// Undelivered list changes per client; one that lags just learns that something changed.
const LIST_EVENTS_MAX: usize = 16;

pub struct McpState {
    engine: Engine,
    tools: Vec<Tool>,
    defaults: ServerDefaults,
    /// Author of `record_turn`'s `user`. A model makes that call, so it counts as the person's only where whoever
    /// started the server vouches that the host passes its user's own prompts.
    user_words: Author,
    /// Called for every request that lists or calls tools.
    on_request: Option<Box<dyn Fn() + Send + Sync>>,
    /// Notified when this process changes the list of resources.
    list_changed: broadcast::Sender<()>,
}

impl McpState {
    pub fn new(engine: Engine, defaults: ServerDefaults, user_words: Author) -> Self {
        Self {
            engine,
            tools: tools::all_tools(),
            defaults,
            user_words,
            on_request: None,
            list_changed: broadcast::Sender::new(LIST_EVENTS_MAX),
        }
    }

    /// What a client that lists or calls tools brings about; it must not take long.
    #[must_use]
    pub fn on_request(self, action: impl Fn() + Send + Sync + 'static) -> Self {
        Self { on_request: Some(Box::new(action)), ..self }
    }

    fn notify_request(&self) {
        if let Some(action) = &self.on_request {
            action();
        }
    }

    /// Resolves a request's session, falling back to its legacy id if only that exists.
    async fn resolve_session(
        &self,
        argument: Option<&Value>,
        context: &RequestContext<RoleServer>,
    ) -> Result<session_resolver::ResolvedSession, Refusal> {
        let mut resolved = session_resolver::resolve(&self.defaults, argument, context)?;
        if let Some(legacy) = resolved.legacy.take() {
            let exists =
                async |id: &SessionId| self.engine.store().last_seq(id).await.is_ok_and(|seq| seq > Seq(0));
            // Legacy ids were truncated and may be shared: the first full name to claim one keeps it.
            if !exists(&resolved.session).await
                && exists(&legacy).await
                && self
                    .engine
                    .claim_truncated_id(&legacy, &resolved.session)
                    .await
                    .is_ok_and(|is_claimed| is_claimed)
            {
                resolved.session = legacy;
            }
        }
        Ok(resolved)
    }

    /// Opens a session in its current state. Creates a missing one, unless a read-only call named it.
    async fn open_session(
        &self,
        resolved: &session_resolver::ResolvedSession,
        is_read_only: bool,
    ) -> Result<Session, ToolFailure> {
        match self.engine.attach(&resolved.session).await {
            Ok(session) => Ok(session),
            Err(EngineError::NoSession(_)) if resolved.is_named && is_read_only => {
                Err(no_session(&resolved.session))
            }
            Err(EngineError::NoSession(_)) => {
                let session = self.engine.resume(&resolved.session, &SessionOptions::default()).await?;
                self.notify_list_changed();
                Ok(session)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn notify_list_changed(&self) {
        // There may be no receiver.
        let _ = self.list_changed.send(());
    }
}

#[derive(Clone)]
pub struct Server {
    state: Arc<McpState>,
    watched: Arc<Mutex<BTreeMap<String, AbortHandle>>>,
    /// Whether this client already receives list changes.
    is_notifying_lists: Arc<AtomicBool>,
}

impl Server {
    pub fn new(state: Arc<McpState>) -> Self {
        Self { state, watched: Arc::default(), is_notifying_lists: Arc::default() }
    }
}

/// A failure reported to the model as a tool result, not as a protocol error.
#[derive(Debug)]
struct ToolFailure(Refusal);

impl From<Refusal> for ToolFailure {
    fn from(refusal: Refusal) -> Self {
        ToolFailure(refusal)
    }
}

impl From<EngineError> for ToolFailure {
    fn from(error: EngineError) -> Self {
        let hint = error.hint();
        let refusal = Refusal::new(error.to_string());
        ToolFailure(if hint.is_empty() { refusal } else { refusal.hint(hint) })
    }
}

fn no_session(id: &SessionId) -> ToolFailure {
    ToolFailure(
        Refusal::new(format!("There is no session '{id}'."))
            .hint("leave 'session' out for the one of this client"),
    )
}
