//! The MCP server: efforts and memories for agents that run the model themselves, over standard input and output (`neap mcp`) and
//! over HTTP (`/mcp` on `neap serve`).
//!
//! A tool is what the core says it is ([`tools`] only dresses it up), and is carried out by the engine ([`call`]). Which session is
//! meant is told by [`whose`]. Every call reads the session as it is in the store: several processes on one store are the normal
//! case, and who loses a race decides again.

mod call;
mod change;
mod complete;
#[cfg(debug_assertions)]
mod fixture;
mod forget;
mod handler;
mod http;
mod lines;
mod progress;
mod prompts;
mod resources;
mod sessions;
mod stdio;
mod tools;
mod uri;
mod whose;

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

use neap_core::ids::{Seq, SessionId};
use neap_core::memory::Author;
use neap_core::tools::Refusal;
use neap_engine::EngineError;

#[cfg(debug_assertions)]
pub(crate) use fixture::Fixture;
pub(crate) use http::Mcp;
pub(crate) use sessions::SessionLimits;
pub(crate) use stdio::serve;
pub(crate) use whose::Place;

/// News that a client has not heard yet, at most; who lags hears that there was news.
const NEWS_MAX: usize = 16;

/// What every request needs, whoever asks.
pub(crate) struct Desk {
    engine: Engine,
    tools: Vec<Tool>,
    place: Place,
    /// Whose words `record_turn`'s `user` is: a model calls it, so a person's only where who started the server vouches
    /// that the host passes its user's own prompts on.
    user_words: Author,
    /// Told when the list of resources changed by what was done here.
    listed: broadcast::Sender<()>,
}

impl Desk {
    pub(crate) fn new(engine: Engine, place: Place, user_words: Author) -> Self {
        Self { engine, tools: tools::all(), place, user_words, listed: broadcast::Sender::new(NEWS_MAX) }
    }

    /// Which session a request means: the one of its name, or the one that was called otherwise before, if only that is there.
    async fn which(
        &self,
        given: Option<&Value>,
        context: &RequestContext<RoleServer>,
    ) -> Result<whose::Which, Refusal> {
        let mut which = whose::which(&self.place, given, context)?;
        if let Some(old) = which.old.take() {
            let is_there = async |id: &SessionId| self.engine.store().seq(id).await.is_ok_and(|seq| seq > Seq(0));
            // What was cut off a name told it from others: one name goes on with what was recorded without it.
            if !is_there(&which.session).await
                && is_there(&old).await
                && self.engine.goes_by(&old, &which.session).await.is_ok_and(|goes_by| goes_by)
            {
                which.session = old;
            }
        }
        Ok(which)
    }

    /// Opens a session as it is now. One that is not there yet is begun, unless somebody named it only to look at it.
    async fn open(&self, which: &whose::Which, looks: bool) -> Result<Session, Told> {
        match self.engine.attach(&which.session).await {
            Ok(session) => Ok(session),
            Err(EngineError::NoSession(id)) if which.is_named && looks => Err(no_session(&id)),
            Err(EngineError::NoSession(id)) => {
                let session = self.engine.resume(&id, &SessionOptions::default()).await?;
                self.listed_anew();
                Ok(session)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Says that there are other resources than before.
    fn listed_anew(&self) {
        // Nobody may be listening.
        let _ = self.listed.send(());
    }
}

/// One client's server.
#[derive(Clone)]
pub(crate) struct Server {
    desk: Arc<Desk>,
    /// What the client watches, by its URI.
    watched: Arc<Mutex<BTreeMap<String, AbortHandle>>>,
    /// Whether the client is told of other resources already.
    tells_lists: Arc<AtomicBool>,
}

impl Server {
    pub(crate) fn new(desk: Arc<Desk>) -> Self {
        Self { desk, watched: Arc::default(), tells_lists: Arc::default() }
    }
}

/// Why something was not done, in words for the model: not a fault of the protocol.
#[derive(Debug)]
struct Told(Refusal);

impl From<Refusal> for Told {
    fn from(refusal: Refusal) -> Self {
        Told(refusal)
    }
}

impl From<EngineError> for Told {
    fn from(error: EngineError) -> Self {
        let hint = error.hint();
        let refusal = Refusal::new(error.to_string());
        Told(if hint.is_empty() { refusal } else { refusal.hint(hint) })
    }
}

fn no_session(id: &SessionId) -> Told {
    Told(
        Refusal::new(format!("There is no session '{id}'."))
            .hint("leave 'session' out for the one of this client"),
    )
}
