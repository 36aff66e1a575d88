//! A stage for proofs: a fresh store, a scripted model, the real engine and the built-in summariser.

use std::sync::Arc;

use neap_core::ids::{EffortId, SessionId};
use neap_core::ledger::{Layer, LayerTokens};
use neap_engine::{Author, Engine, Quiet, Session, SessionOptions, TurnReply};
use neap_model::scripted::Scripted;
use neap_store::SqliteStore;
use serde::Deserialize;

use crate::out::Failure;

/// The logs that efforts are made of.
pub(super) const AUTH_BUG: &str = include_str!("scripts/auth-bug.jsonl");
pub(super) const PERF_FIX: &str = include_str!("scripts/perf-fix.jsonl");
pub(super) const SAILING_TRIP: &str = include_str!("scripts/sailing-trip.jsonl");
pub(super) const DB_MIGRATION: &str = include_str!("scripts/db-migration.jsonl");
pub(super) const LOGO_DESIGN: &str = include_str!("scripts/logo-design.jsonl");

#[derive(Deserialize)]
struct Said {
    user: String,
    assistant: String,
}

pub(super) struct Stage {
    model: Arc<Scripted>,
    pub(super) session: Session,
    // Lives as long as the store in it.
    _folder: tempfile::TempDir,
}

impl Stage {
    pub(super) async fn new() -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let store = SqliteStore::open(&folder.path().join("proof.db"))?;
        let model = Arc::new(Scripted::new());
        let engine = Engine::builder(Arc::new(store)).model(model.clone()).build();
        let id = SessionId::from_name("proof").map_err(|error| Failure::new(error.to_string()))?;
        // The seeds rewrite the prompt every turn.
        let set = vec![("epoch".to_owned(), "every-turn".to_owned())];
        let session = engine.resume(&id, &SessionOptions { set }).await?;
        Ok(Self { model, session, _folder: folder })
    }

    /// One turn: what the user says, the calls the model makes, what it answers.
    pub(super) async fn say(
        &mut self,
        user: &str,
        calls: &[(&str, &str)],
        assistant: &str,
    ) -> Result<TurnReply, Failure> {
        let calls: Vec<(String, String)> = calls.iter().map(|(n, a)| ((*n).to_owned(), (*a).to_owned())).collect();
        self.model.push_turn(calls, assistant);
        Ok(self.session.turn(Author::Person, user, &mut Quiet).await?)
    }

    /// Opens an effort with the first exchange of a script and says the rest.
    pub(super) async fn work(&mut self, name: &str, script: &str) -> Result<(), Failure> {
        let open = format!("{{\"name\":\"{name}\"}}");
        for (at, line) in script.lines().enumerate() {
            let said: Said = serde_json::from_str(line).map_err(|error| Failure::new(error.to_string()))?;
            let calls: &[(&str, &str)] = if at == 0 { &[("open_effort", &open)] } else { &[] };
            self.say(&said.user, calls, &said.assistant).await?;
        }
        Ok(())
    }

    /// The same, and concludes it.
    pub(super) async fn work_through(&mut self, name: &str, script: &str) -> Result<(), Failure> {
        self.work(name, script).await?;
        self.say("That is done, thanks.", &[("close_effort", "{}")], "Concluded.").await?;
        Ok(())
    }

    /// Tokens of each layer, before anything new is said.
    pub(super) async fn layers(&mut self) -> Result<LayerTokens, Failure> {
        Ok(self.session.assemble(None).await?.ledger.tokens)
    }

    /// Tokens that efforts take: everything but our fixed text and ambient chat.
    pub(super) async fn efforts(&mut self) -> Result<u64, Failure> {
        let layers = self.layers().await?;
        Ok(layers.variable().0 - layers.get(Layer::Ambient).0)
    }

    pub(super) fn raw_tokens(&self, id: &str) -> u64 {
        self.effort(id, |effort| effort.log.tokens.0)
    }

    pub(super) fn summary_tokens(&self, id: &str) -> u64 {
        self.effort(id, |effort| effort.summary.as_ref().map_or(0, |summary| summary.tokens.0))
    }

    fn effort(&self, id: &str, get: impl Fn(&neap_core::effort::Effort) -> u64) -> u64 {
        EffortId::from_name(id).ok().and_then(|id| self.session.state().effort(&id)).map_or(0, get)
    }

    pub(super) fn expanded(&self) -> String {
        let ids: Vec<&str> = self.session.state().expanded().map(|effort| effort.id.as_str()).collect();
        if ids.is_empty() { "none".to_owned() } else { ids.join(" ") }
    }

    pub(super) fn shown(&self) -> usize {
        self.session.state().shown().filter(|effort| effort.expanded.is_none()).count()
    }
}

/// A change, with its sign.
pub(super) fn delta(before: u64, after: u64) -> String {
    if after >= before { format!("+{}", after - before) } else { format!("-{}", before - after) }
}
