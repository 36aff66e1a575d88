//! A stage for tests: the real engine on a store in memory, with a scripted model.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

pub(crate) mod draft;

use std::sync::Arc;

use neap_core::base::ids::{AgentId, EffortId, SessionId, Stamp};
use neap_core::base::ledger::Layer;
use neap_core::context::WorkingContext;
use neap_core::memory::knowledge::AgentProfile;
use neap_core::session::effort::Effort;
use neap_core::turn::tools::Banner;
use neap_engine::{
    Author, Engine, EngineBuilder, EngineError, FixedClock, NullObserver, Session, SessionOptions, ToolReply,
    TurnObserver, TurnReply,
};
use neap_model::scripted::ScriptedModel;
use neap_store::{MemStore, Store};
use serde_json::Value;

pub(crate) struct Stage {
    pub(crate) engine: Engine,
    pub(crate) model: Arc<ScriptedModel>,
    pub(crate) session: Session,
    pub(crate) clock: Arc<FixedClock>,
}

pub(crate) fn effort(id: &str) -> EffortId {
    EffortId::parse(id).unwrap()
}

/// What a person sees of a reply as it arrives.
#[derive(Default)]
pub(crate) struct Shown(pub(crate) String);

impl TurnObserver for Shown {
    fn on_text(&mut self, words: &str) {
        self.0.push_str(words);
    }
    fn on_banner(&mut self, _banner: &Banner) {}
}

impl Stage {
    pub(crate) async fn new() -> Self {
        Self::with(&[]).await
    }

    pub(crate) async fn with(set: &[(&str, &str)]) -> Self {
        Self::on(Arc::new(MemStore::default()), set).await
    }

    pub(crate) async fn on(store: Arc<dyn Store>, set: &[(&str, &str)]) -> Self {
        Self::built(store, set, |builder| builder).await
    }

    /// A conversation of an agent that has a memory.
    pub(crate) async fn of_agent(store: Arc<dyn Store>, set: &[(&str, &str)]) -> Self {
        let agent = AgentId::from_name("newton").unwrap();
        Self::built(store, set, |builder| builder.agent(agent, AgentProfile::default())).await
    }

    pub(crate) async fn built(
        store: Arc<dyn Store>,
        set: &[(&str, &str)],
        more: impl FnOnce(EngineBuilder) -> EngineBuilder,
    ) -> Self {
        let model = Arc::new(ScriptedModel::new());
        let clock = Arc::new(FixedClock::at(Stamp(1_771_000_000_000)));
        let engine = more(Engine::builder(store).model(model.clone()).clock(clock.clone())).build();
        // The seeds speak of contexts that are rewritten every turn.
        let set = [("epoch", "every-turn")].iter().chain(set);
        let set = set.map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let id = SessionId::parse("test").unwrap();
        let session = engine.resume(&id, &SessionOptions { set, ..SessionOptions::default() }).await.unwrap();
        Self { engine, model, session, clock }
    }

    /// Closes the session and opens it again, as a restart does.
    pub(crate) async fn restart(&mut self) {
        let id = self.session.id().clone();
        self.session = self.engine.resume(&id, &SessionOptions::default()).await.unwrap();
    }

    pub(crate) async fn try_say(
        &mut self,
        user: &str,
        calls: &[(&str, Value)],
        assistant: &str,
    ) -> Result<TurnReply, EngineError> {
        let calls: Vec<(String, String)> = calls.iter().map(|(n, a)| ((*n).to_owned(), a.to_string())).collect();
        self.model.push_turn(calls, assistant);
        self.session.turn(Author::Person, user, &mut NullObserver).await
    }

    pub(crate) async fn say(&mut self, user: &str, calls: &[(&str, Value)], assistant: &str) -> TurnReply {
        self.try_say(user, calls, assistant).await.unwrap()
    }

    /// An exchange that refers to nothing.
    pub(crate) async fn chatter(&mut self) -> TurnReply {
        self.say("hm", &[], "mm").await
    }

    /// An effort with a log of its own, concluded.
    pub(crate) async fn concluded(&mut self, name: &str, said: &str) {
        self.say(said, &[("open_effort", serde_json::json!({"name": name}))], "Let us see.").await;
        self.say(&format!("More on it: {said}"), &[], "Noted, that helps a lot.").await;
        self.say("done", &[("close_effort", serde_json::json!({}))], "Closed.").await;
    }

    pub(crate) async fn call(&mut self, name: &str, arguments: Value) -> ToolReply {
        self.session.call_tool(name, &arguments.to_string()).await.unwrap()
    }

    pub(crate) async fn context(&mut self) -> WorkingContext {
        self.session.assemble(None).await.unwrap()
    }

    /// Everything the model would read, as one text.
    pub(crate) async fn text(&mut self) -> String {
        let messages = self.context().await.request_messages();
        messages.iter().map(|m| format!("{}\n", m.content)).collect()
    }

    pub(crate) async fn layer(&mut self, layer: Layer) -> u64 {
        self.context().await.ledger.tokens.get(layer).0
    }

    pub(crate) fn effort(&self, id: &str) -> &Effort {
        self.session.state().effort(&effort(id)).unwrap()
    }

    pub(crate) fn expanded(&self) -> Vec<&str> {
        self.session.state().expanded_efforts().map(|e| e.id.as_str()).collect()
    }

    pub(crate) fn open(&self) -> Vec<&str> {
        self.session.state().open_efforts().map(|e| e.id.as_str()).collect()
    }

    pub(crate) fn active(&self) -> Option<&str> {
        self.session.state().active_effort().map(|e| e.id.as_str())
    }

    pub(crate) fn shown(&self) -> Vec<&str> {
        let mut ids: Vec<&str> =
            self.session.state().shown_efforts().filter(|e| e.expanded.is_none()).map(|e| e.id.as_str()).collect();
        ids.sort_unstable();
        ids
    }

    pub(crate) fn evicted(&self) -> Vec<&str> {
        self.session.state().evicted_efforts().map(|e| e.id.as_str()).collect()
    }
}

pub(crate) fn banners(reply: &TurnReply) -> Vec<String> {
    reply.banners.iter().map(ToString::to_string).collect()
}
