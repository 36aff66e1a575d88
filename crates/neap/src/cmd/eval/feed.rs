//! A conversation told to the real engine, in a store of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use neap_core::ids::{SessionId, Stamp};
use neap_core::message::{Message, Role};
use neap_core::recall::Embedding;
use neap_engine::{Author, Engine};
use neap_model::Embedder;
use neap_store::{SqliteStore, Store};

use super::data::{Conversation, Turn};
use super::time::moment;
use crate::out::Failure;

/// Between two turns whose times say nothing.
const STEP_MS: i64 = 1_000;
/// Names of the two sides of a conversation with a machine; any other name is a person's.
const USERS: [&str; 3] = ["user", "human", ""];
const ASSISTANTS: [&str; 4] = ["assistant", "agent", "ai", "model"];

/// A conversation in a store, as far as it has been told.
pub(crate) struct Told {
    pub(crate) engine: Engine,
    pub(crate) conversation: Arc<Conversation>,
    /// The turns, occasion by occasion, in the order in which these took place.
    order: Vec<usize>,
    told: usize,
    now: Stamp,
    _folder: tempfile::TempDir,
}

impl Told {
    /// An empty store for it.
    pub(crate) fn new(
        conversation: Arc<Conversation>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&folder.path().join("eval.db"))?);
        let mut began: BTreeMap<i64, usize> = BTreeMap::new();
        for (at, turn) in conversation.turns.iter().enumerate() {
            began.entry(turn.session).or_insert(at);
        }
        let mut order: Vec<usize> = (0..conversation.turns.len()).collect();
        order.sort_by_key(|at| began.get(&conversation.turns[*at].session));
        let builder = Engine::builder(store);
        let engine = match embedder {
            Some(embedder) => builder.embedder(embedder).build(),
            None => builder.build(),
        };
        Ok(Self { engine, conversation, order, told: 0, now: Stamp(0), _folder: folder })
    }

    /// Tells every occasion before this one, or all.
    pub(crate) async fn tell(&mut self, before: Option<i64>) -> Result<(), Failure> {
        let is_later = |at: &usize| before.is_some_and(|before| self.conversation.turns[*at].session >= before);
        let turns = self.order.iter().position(is_later).unwrap_or(self.order.len());
        self.tell_turns(turns).await
    }

    /// Tells so many turns in all, and waits until all of them are embedded.
    pub(crate) async fn tell_turns(&mut self, turns: usize) -> Result<(), Failure> {
        if turns <= self.told {
            return Ok(());
        }
        let next: Vec<usize> = self.order[self.told..turns].to_vec();
        for of_one in
            next.chunk_by(|a, b| self.conversation.turns[*a].session == self.conversation.turns[*b].session)
        {
            let id = occasion(self.conversation.turns[of_one[0]].session)?;
            let mut said = Vec::with_capacity(of_one.len());
            for at in of_one {
                let turn = &self.conversation.turns[*at];
                // Whoever tells no time says one thing after the other; one time for all of an occasion as well.
                let at = moment(&turn.time).unwrap_or(self.now);
                self.now = Stamp(if at > self.now { at.0 } else { self.now.0 + STEP_MS });
                said.push((self.now, message(turn)));
            }
            self.engine.record(&id, Author::Import, &said).await?;
        }
        self.told = turns;
        self.engine.index_all().await?;
        Ok(())
    }

    /// What a question means; none without an embedder. Where that fails, something else would be measured.
    pub(crate) async fn meaning(&self, question: &str) -> Result<Option<Embedding>, Failure> {
        let meant = self.engine.meaning(question).await;
        match self.engine.meaning_fault() {
            Some(fault) => Err(Failure::new(format!("a question was not embedded: {fault}"))),
            None => Ok(meant),
        }
    }

    /// When the last thing was said.
    pub(crate) fn now(&self) -> Stamp {
        self.now
    }

    /// How large the store is.
    pub(crate) async fn footprint(&self) -> Result<neap_store::Footprint, Failure> {
        Ok(self.engine.store().footprint(None).await?)
    }
}

/// The session of an occasion.
pub(crate) fn occasion(session: i64) -> Result<SessionId, Failure> {
    SessionId::from_name(&format!("s{session}")).map_err(|error| Failure::new(error.to_string()))
}

/// Who speaks: a model, or a person.
pub(crate) fn role(who: &str) -> Role {
    if ASSISTANTS.contains(&who.trim().to_lowercase().as_str()) { Role::Assistant } else { Role::User }
}

fn message(turn: &Turn) -> Message {
    let (who, role) = (turn.who.trim(), role(&turn.who));
    let is_named = role == Role::User && !USERS.contains(&who.to_lowercase().as_str());
    let name = is_named.then(|| who.to_owned());
    Message { role, name, ..Message::user(turn.text.as_str()) }
}
