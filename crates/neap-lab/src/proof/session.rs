//! A session for proofs: a fresh store, a scripted model, the real engine and the built-in summariser.

use std::sync::Arc;

use neap_core::base::ids::{EffortId, SessionId};
use neap_core::base::ledger::{Layer, LayerTokens};
use neap_core::session::effort::Effort;
use neap_engine::{Author, Engine, NullObserver, Session, SessionOptions, TurnReply};
use neap_model::scripted::ScriptedModel;
use neap_sqlite::SqliteStore;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Proof;
use crate::LabError;

pub(super) const AUTH_BUG: &str = include_str!("scripts/auth-bug.jsonl");
pub(super) const PERF_FIX: &str = include_str!("scripts/perf-fix.jsonl");
pub(super) const DB_MIGRATION: &str = include_str!("scripts/db-migration.jsonl");

/// Sentences that share at most one keyword with any summary.
const SMALL_TALK: [&str; 7] = [
    "Tell me a joke about cats.",
    "Does pasta cook quicker at altitude?",
    "I slept badly last night.",
    "Which planet has most moons?",
    "My neighbour plays violin at midnight.",
    "Do penguins have knees?",
    "Chess or checkers tonight?",
];

/// A turn of a script, and the row of a proof that it makes: a line may have either or both.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct ScriptLine {
    pub(super) step: String,
    pub(super) action: String,
    pub(super) expected: String,
    /// Turns about nothing that come before it.
    small_talk: usize,
    pub(super) user: String,
    calls: Vec<(String, Value)>,
    pub(super) assistant: String,
}

pub(super) fn read_script(text: &str) -> Result<Vec<ScriptLine>, LabError> {
    Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

/// The context after a turn, before the next message.
#[derive(Default)]
pub(super) struct ContextState {
    pub(super) layers: LayerTokens,
    pub(super) ambient_exchanges: u64,
    /// Tokens of efforts: everything but the fixed text and ambient chat. `before` is the same before the turn.
    pub(super) tokens: u64,
    pub(super) before: u64,
    pub(super) banners: Vec<String>,
}

impl ContextState {
    pub(super) fn delta(&self) -> String {
        format!("{:+}", self.tokens as i64 - self.before as i64)
    }
}

pub(super) struct ProofSession {
    pub(super) model: Arc<ScriptedModel>,
    pub(super) session: Session,
    small_talk_turns: usize,
    // Kept for as long as the store in it.
    _folder: tempfile::TempDir,
}

impl ProofSession {
    pub(super) async fn new() -> Result<Self, LabError> {
        let folder = tempfile::tempdir()?;
        let store = SqliteStore::open(&folder.path().join("proof.db"))?;
        let model = Arc::new(ScriptedModel::new());
        let engine = Engine::builder(Arc::new(store)).model(model.clone()).build();
        // The proofs rewrite the prompt every turn.
        let set = vec![("epoch".to_owned(), "every-turn".to_owned())];
        let session = engine
            .resume(&SessionId::from_name("proof")?, &SessionOptions { set, ..SessionOptions::default() })
            .await?;
        Ok(Self { model, session, small_talk_turns: 0, _folder: folder })
    }

    async fn take_turn(&mut self, line: &ScriptLine) -> Result<TurnReply, LabError> {
        let calls = line.calls.iter().map(|(name, arguments)| (name.clone(), arguments.to_string()));
        self.model.push_turn(calls.collect(), &line.assistant);
        Ok(self.session.turn(Author::Person, &line.user, &mut NullObserver).await?)
    }

    pub(super) async fn small_talk(&mut self, turns: usize) -> Result<(), LabError> {
        for _ in 0..turns {
            let user = SMALL_TALK[self.small_talk_turns % SMALL_TALK.len()].to_owned();
            self.small_talk_turns += 1;
            self.take_turn(&ScriptLine { user, assistant: "Hm.".to_owned(), ..ScriptLine::default() }).await?;
        }
        Ok(())
    }

    /// Opens an effort with the first exchange of a script and plays the rest.
    pub(super) async fn work_on(&mut self, name: &str, script: &str) -> Result<(), LabError> {
        let mut lines = read_script(script)?;
        if let Some(first) = lines.first_mut() {
            first.calls = vec![("open_effort".to_owned(), json!({"name": name}))];
        }
        for line in &lines {
            self.take_turn(line).await?;
        }
        Ok(())
    }

    pub(super) async fn conclude(&mut self) -> Result<TurnReply, LabError> {
        let (user, assistant) = ("That is done, thanks.".to_owned(), "Concluded.".to_owned());
        let calls = vec![("close_effort".to_owned(), json!({}))];
        self.take_turn(&ScriptLine { user, calls, assistant, ..ScriptLine::default() }).await
    }

    pub(super) async fn work_and_conclude(&mut self, efforts: &[(&str, &str)]) -> Result<(), LabError> {
        for (name, script) in efforts {
            self.work_on(name, script).await?;
            self.conclude().await?;
        }
        Ok(())
    }

    /// Plays a script; `judge` says for each row what was measured, and whether that is as expected.
    pub(super) async fn prove_script(
        &mut self,
        proof: &mut Proof,
        script: &str,
        mut judge: impl FnMut(&Self, &ScriptLine, &ContextState) -> (String, bool),
    ) -> Result<(), LabError> {
        let mut now = self.context_state().await?;
        for line in read_script(script)? {
            self.small_talk(line.small_talk).await?;
            let mut banners = Vec::new();
            if !line.user.is_empty() {
                banners = self.take_turn(&line).await?.banners.iter().map(ToString::to_string).collect();
            }
            if line.small_talk > 0 || !line.user.is_empty() {
                now = ContextState { before: now.tokens, banners, ..self.context_state().await? };
            }
            if !line.step.is_empty() {
                let (measured, ok) = judge(self, &line, &now);
                proof.add_row(line.step, line.action, line.expected, measured, ok);
            }
        }
        Ok(())
    }

    pub(super) async fn context_state(&mut self) -> Result<ContextState, LabError> {
        let ledger = self.session.assemble(None).await?.ledger;
        let ambient = ledger.logs.iter().filter(|log| log.layer == Layer::Ambient);
        let tokens = ledger.tokens.variable().0 - ledger.tokens.get(Layer::Ambient).0;
        let ambient_exchanges = ambient.map(|log| log.exchanges).sum();
        Ok(ContextState { layers: ledger.tokens, ambient_exchanges, tokens, ..ContextState::default() })
    }

    pub(super) fn effort(&self, id: &str) -> Option<&Effort> {
        EffortId::from_name(id).ok().and_then(|id| self.session.state().effort(&id))
    }

    pub(super) fn raw_tokens(&self, id: &str) -> u64 {
        self.effort(id).map_or(0, |effort| effort.log.tokens.0)
    }

    pub(super) fn expanded_ids(&self) -> String {
        let ids: Vec<&str> = self.session.state().expanded_efforts().map(|effort| effort.id.as_str()).collect();
        if ids.is_empty() { "none".to_owned() } else { ids.join(" ") }
    }
}
