//! A place for memories: a real store in a folder of its own.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::path::PathBuf;
use std::sync::Arc;

use neap_core::base::tokens::TokenCounter;
use neap_engine::Engine;
use neap_engine::agent_memory::{Message, SessionId, Tokens, VectorMemory, WindowMemory};
use neap_model::Summarizer;
use neap_model::bpe::counter_for;
use neap_model::summarize::ExtractiveSummarizer;
use neap_sqlite::SqliteStore;
use neap_store::{Maintenance, Severity};
use tempfile::TempDir;

pub(crate) struct Place {
    folder: TempDir,
    pub(crate) store: Arc<SqliteStore>,
    pub(crate) engine: Engine,
    pub(crate) session: SessionId,
    pub(crate) counter: Arc<dyn TokenCounter>,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::with(Arc::new(ExtractiveSummarizer::new(counter_for("o200k_base"))))
    }

    pub(crate) fn with(summarizer: Arc<dyn Summarizer>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(SqliteStore::open(&folder.path().join("agent.db")).unwrap());
        let engine = Engine::builder(store.clone()).summarizer(summarizer).build();
        let session = SessionId::parse("agent").unwrap();
        Self { folder, store, engine, session, counter: counter_for("o200k_base") }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("agent.db")
    }

    /// Nothing that the store finds is more than a note.
    pub(crate) async fn assert_sound(&self) {
        let found = self.store.examine(None).await.unwrap();
        let bad: Vec<_> = found.into_iter().filter(|finding| finding.severity > Severity::Note).collect();
        assert_eq!(bad, []);
    }

    pub(crate) async fn window(&self, max: u64) -> WindowMemory {
        WindowMemory::open(&self.engine, &self.session, Tokens(max)).await.unwrap()
    }

    pub(crate) async fn vector(&self, max: u64) -> VectorMemory {
        VectorMemory::open(&self.engine, &self.session, Tokens(max)).await.unwrap()
    }
}

/// What messages cost, counted here and not by the core: each text on its own, and four tokens around it.
pub(crate) fn cost(prompt: &[Message]) -> u64 {
    let counter = counter_for("o200k_base");
    prompt
        .iter()
        .map(|message| {
            assert!(message.tool_calls.is_empty() && message.tool_call_id.is_none());
            4 + counter.count(&message.content).0
        })
        .sum()
}

pub(crate) fn texts(prompt: &[Message]) -> String {
    prompt.iter().map(|message| format!("{}\n", message.content)).collect()
}

pub(crate) fn question(n: usize) -> String {
    format!(
        "Question {n}: where does service svc-{n} listen, and who owns it? I need it for ticket OPS-{}.",
        4_000 + n
    )
}

pub(crate) fn answer(n: usize) -> String {
    format!(
        "Service svc-{n} listens on port {}. It is owned by team {}; we decided not to restart it before the release. \
         Its settings are in /etc/svc/{n}.toml, and the last deploy took {} seconds.",
        8_000 + n,
        ["red", "green", "blue"][n % 3],
        n % 97
    )
}
