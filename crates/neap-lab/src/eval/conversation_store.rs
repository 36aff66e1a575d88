//! Records a conversation through the real engine, in a store of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use neap_core::base::ids::{SessionId, Stamp};
use neap_core::base::message::{Message, Role};
use neap_core::base::project_id::ProjectId;
use neap_core::recall::Embedding;
use neap_engine::{Author, Engine};
use neap_model::Embedder;
use neap_sqlite::SqliteStore;
use neap_store::Store;

use super::data::{Conversation, Turn};
use super::surface::QuestionClock;
use super::time::parse_timestamp;
use crate::LabError;

/// Between two turns without usable times.
const STEP_MS: i64 = 1_000;
/// Names of the two sides in conversations with a model; any other name is a person's.
const USERS: [&str; 3] = ["user", "human", ""];
const ASSISTANTS: [&str; 4] = ["assistant", "agent", "ai", "model"];

pub(crate) struct ConversationStore {
    pub(crate) engine: Engine,
    pub(crate) conversation: Arc<Conversation>,
    /// Turn indexes by session, in the order in which the sessions began.
    order: Vec<usize>,
    recorded_turns: usize,
    now: Stamp,
    /// Of its sessions' names.
    pub(crate) prefix: String,
    /// Where the questions are asked.
    pub(crate) project: Option<ProjectId>,
    pub(crate) clock: Arc<QuestionClock>,
    _folder: Option<tempfile::TempDir>,
}

impl ConversationStore {
    pub(crate) fn new(
        conversation: Arc<Conversation>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Result<Self, LabError> {
        let folder = tempfile::tempdir()?;
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&folder.path().join("eval.db"))?);
        let alone = Self::within(store, conversation, String::new(), None, embedder);
        Ok(Self { _folder: Some(folder), ..alone })
    }

    /// A conversation in a store that has others as well.
    pub(crate) fn within(
        store: Arc<dyn Store>,
        conversation: Arc<Conversation>,
        prefix: String,
        project: Option<ProjectId>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Self {
        let mut began: BTreeMap<i64, usize> = BTreeMap::new();
        for (at, turn) in conversation.turns.iter().enumerate() {
            began.entry(turn.session).or_insert(at);
        }
        let mut order: Vec<usize> = (0..conversation.turns.len()).collect();
        order.sort_by_key(|at| began.get(&conversation.turns[*at].session));
        let clock = Arc::new(QuestionClock::default());
        let mut builder = Engine::builder(store).project(project.clone()).clock(clock.clone());
        if let Some(embedder) = embedder {
            builder = builder.embedder(embedder);
        }
        let engine = builder.build();
        let (recorded_turns, now) = (0, Stamp(0));
        Self { engine, conversation, order, recorded_turns, now, prefix, project, clock, _folder: None }
    }

    pub(crate) async fn record_before(&mut self, before: Option<i64>) -> Result<(), LabError> {
        let is_later = |at: &usize| before.is_some_and(|before| self.conversation.turns[*at].session >= before);
        let turns = self.order.iter().position(is_later).unwrap_or(self.order.len());
        self.record_turns(turns).await
    }

    /// Records turns up to this count, and embeds them.
    pub(crate) async fn record_turns(&mut self, turns: usize) -> Result<(), LabError> {
        if turns <= self.recorded_turns {
            return Ok(());
        }
        let next: Vec<usize> = self.order[self.recorded_turns..turns].to_vec();
        for session_turns in
            next.chunk_by(|a, b| self.conversation.turns[*a].session == self.conversation.turns[*b].session)
        {
            let id = occasion_session(&self.prefix, self.conversation.turns[session_turns[0]].session)?;
            let mut messages = Vec::with_capacity(session_turns.len());
            for at in session_turns {
                let turn = &self.conversation.turns[*at];
                // Without times, or with one time for a whole session, turns are a step apart.
                let at = parse_timestamp(&turn.time).unwrap_or(self.now);
                self.now = Stamp(if at > self.now { at.0 } else { self.now.0 + STEP_MS });
                messages.push((self.now, message(turn)));
            }
            self.engine.record(&id, Author::Import, &messages).await?;
        }
        self.recorded_turns = turns;
        self.engine.index_all().await?;
        Ok(())
    }

    /// The query's embedding; `None` without an embedder. Fails rather than measure something else.
    pub(crate) async fn embed_query(&self, question: &str) -> Result<Option<Embedding>, LabError> {
        let embedding = self.engine.embed_query(question).await;
        match self.engine.embed_fault() {
            Some(fault) => Err(LabError::new(format!("a question was not embedded: {fault}"))),
            None => Ok(embedding),
        }
    }

    pub(crate) fn now(&self) -> Stamp {
        self.now
    }

    pub(crate) async fn footprint(&self) -> Result<neap_store::Footprint, LabError> {
        Ok(self.engine.store().footprint(None).await?)
    }
}

pub(crate) fn occasion_session(prefix: &str, session: i64) -> Result<SessionId, LabError> {
    Ok(SessionId::from_name(&format!("{prefix}s{session}"))?)
}

pub(crate) fn role(who: &str) -> Role {
    if ASSISTANTS.contains(&who.trim().to_lowercase().as_str()) { Role::Assistant } else { Role::User }
}

fn message(turn: &Turn) -> Message {
    let (who, role) = (turn.who.trim(), role(&turn.who));
    let is_named = role == Role::User && !USERS.contains(&who.to_lowercase().as_str());
    let name = is_named.then(|| who.to_owned());
    Message { role, name, ..Message::user(turn.text.as_str()) }
}
