//! A session for proofs: a fresh store, a scripted model, the real engine and the built-in summariser.

use std::sync::Arc;

use neap_core::base::ids::{EffortId, SessionId};
use neap_core::base::ledger::{Layer, LayerTokens};
use neap_engine::{Author, Engine, NullObserver, Session, SessionOptions, TurnReply};
use neap_model::scripted::ScriptedModel;
use neap_sqlite::SqliteStore;
use serde::Deserialize;

use crate::LabError;

pub(super) const AUTH_BUG: &str = include_str!("scripts/auth-bug.jsonl");
pub(super) const PERF_FIX: &str = include_str!("scripts/perf-fix.jsonl");
pub(super) const SAILING_TRIP: &str = include_str!("scripts/sailing-trip.jsonl");
pub(super) const DB_MIGRATION: &str = include_str!("scripts/db-migration.jsonl");
pub(super) const LOGO_DESIGN: &str = include_str!("scripts/logo-design.jsonl");

#[derive(Deserialize)]
struct ScriptExchange {
    user: String,
    assistant: String,
}

pub(super) struct ProofSession {
    model: Arc<ScriptedModel>,
    pub(super) session: Session,
    // Kept for as long as the store in it.
    _folder: tempfile::TempDir,
}

impl ProofSession {
    pub(super) async fn new() -> Result<Self, LabError> {
        let folder = tempfile::tempdir()?;
        let store = SqliteStore::open(&folder.path().join("proof.db"))?;
        let model = Arc::new(ScriptedModel::new());
        let engine = Engine::builder(Arc::new(store)).model(model.clone()).build();
        let id = SessionId::from_name("proof").map_err(|error| LabError::new(error.to_string()))?;
        // The proofs rewrite the prompt every turn.
        let set = vec![("epoch".to_owned(), "every-turn".to_owned())];
        let session = engine.resume(&id, &SessionOptions { set }).await?;
        Ok(Self { model, session, _folder: folder })
    }

    pub(super) async fn take_turn(
        &mut self,
        user: &str,
        calls: &[(&str, &str)],
        assistant: &str,
    ) -> Result<TurnReply, LabError> {
        let calls: Vec<(String, String)> = calls.iter().map(|(n, a)| ((*n).to_owned(), (*a).to_owned())).collect();
        self.model.push_turn(calls, assistant);
        Ok(self.session.turn(Author::Person, user, &mut NullObserver).await?)
    }

    /// Opens an effort with the first exchange of a script and plays the rest.
    pub(super) async fn play_script(&mut self, name: &str, script: &str) -> Result<(), LabError> {
        let open = format!("{{\"name\":\"{name}\"}}");
        for (at, line) in script.lines().enumerate() {
            let exchange: ScriptExchange =
                serde_json::from_str(line).map_err(|error| LabError::new(error.to_string()))?;
            let calls: &[(&str, &str)] = if at == 0 { &[("open_effort", &open)] } else { &[] };
            self.take_turn(&exchange.user, calls, &exchange.assistant).await?;
        }
        Ok(())
    }

    pub(super) async fn play_and_conclude(&mut self, name: &str, script: &str) -> Result<(), LabError> {
        self.play_script(name, script).await?;
        self.take_turn("That is done, thanks.", &[("close_effort", "{}")], "Concluded.").await?;
        Ok(())
    }

    /// Tokens per layer before the next message.
    pub(super) async fn layer_tokens(&mut self) -> Result<LayerTokens, LabError> {
        Ok(self.session.assemble(None).await?.ledger.tokens)
    }

    /// Tokens of efforts: everything but the fixed text and ambient chat.
    pub(super) async fn effort_tokens(&mut self) -> Result<u64, LabError> {
        let layers = self.layer_tokens().await?;
        Ok(layers.variable().0 - layers.get(Layer::Ambient).0)
    }

    pub(super) fn raw_tokens(&self, id: &str) -> u64 {
        self.effort_figure(id, |effort| effort.log.tokens.0)
    }

    pub(super) fn summary_tokens(&self, id: &str) -> u64 {
        self.effort_figure(id, |effort| effort.summary.as_ref().map_or(0, |summary| summary.tokens.0))
    }

    fn effort_figure(&self, id: &str, get: impl Fn(&neap_core::session::effort::Effort) -> u64) -> u64 {
        EffortId::from_name(id).ok().and_then(|id| self.session.state().effort(&id)).map_or(0, get)
    }

    pub(super) fn expanded_ids(&self) -> String {
        let ids: Vec<&str> = self.session.state().expanded_efforts().map(|effort| effort.id.as_str()).collect();
        if ids.is_empty() { "none".to_owned() } else { ids.join(" ") }
    }

    pub(super) fn summaries_shown(&self) -> usize {
        self.session.state().shown_efforts().filter(|effort| effort.expanded.is_none()).count()
    }
}

pub(super) fn delta(before: u64, after: u64) -> String {
    if after >= before { format!("+{}", after - before) } else { format!("-{}", before - after) }
}
