//! The store of one tenant.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use neap_core::base::access::TenantName;
use neap_core::base::digest::Digest;
use neap_core::base::ids::{Seq, SessionId, Stamp, StreamId, TurnNo};
use neap_core::base::message::Scope;
use neap_core::memory::{Memory, MemoryId, MemoryKind, RecallRequest, RecallResponse};
use neap_core::recall::{Candidates, Embedding, Query, RankedResults, RankedSearch, TextId};
use neap_core::session::log::{Log, LogRequest};
use neap_core::session::state::{SessionHead, SessionState};
use neap_core::text::secrets::Masking;
use neap_store::backend::prepared_commit::PreparedCommit;
use neap_store::{
    AgentInfo, Commit, EventStore, Finding, Footprint, Maintenance, MemoryStore, SearchStore, SessionInfo,
    StoreError, StoredEvent,
};

use crate::db_error::DbError;
use crate::server::PostgresServer;
use crate::sql::params;
use crate::tx::Tx;
use crate::vector_cache::VectorCache;
use crate::{
    embeddings, erase, events, examine, footprint, heads, links, log, memories, memory_recall, rebuild, search,
    texts, write,
};

/// Made by [`PostgresServer::tenant`]. Clones share what is cached.
#[derive(Clone)]
pub struct PostgresStore {
    pub(crate) server: Arc<PostgresServer>,
    pub(crate) tenant: TenantName,
    pub(crate) cache: Arc<VectorCache>,
    pub(crate) masking: Masking,
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.server.name(), self.tenant)
    }
}

impl PostgresStore {
    /// Sets whether secrets are masked before they are recorded; they are by default.
    pub fn with_masking(self, masking: Masking) -> Self {
        Self { masking, ..self }
    }

    /// The store of another tenant in the same database.
    pub fn of_tenant(&self, tenant: TenantName) -> Self {
        self.server.tenant(tenant).with_masking(self.masking)
    }

    pub fn tenant(&self) -> &TenantName {
        &self.tenant
    }

    /// Embeddings whose sign bits are in memory, and their bytes. Grows with the tenant, by design.
    pub async fn vector_cache_size(&self) -> (usize, usize) {
        self.cache.size().await
    }

    pub(crate) async fn begin_read(&self) -> Result<Tx, DbError> {
        Ok(Tx::read(self.server.client().await?, &self.tenant))
    }

    pub(crate) async fn begin_write(&self) -> Result<Tx, DbError> {
        Ok(Tx::write(self.server.client().await?, &self.tenant))
    }

    fn error(&self, error: DbError) -> StoreError {
        error.into_store_error(self.server.name())
    }
}

/// Does what may be done twice; again if the connection broke or the transaction was given up. Several pooled
/// connections may be broken at once.
macro_rules! again {
    ($store:ident, $work:expr) => {{
        let mut tries_left = TRIES;
        loop {
            tries_left -= 1;
            let result: Result<_, DbError> = $work.await;
            match result {
                Err(error) if tries_left > 0 && (error.is_lost_connection() || error.is_retryable()) => {}
                result => break result.map_err(|error| $store.error(error)),
            }
        }
    }};
}

/// Reads on one snapshot.
macro_rules! read {
    ($store:ident, |$tx:ident| $read:expr) => {
        again!($store, async {
            let transaction = $store.begin_read().await?;
            let $tx = &transaction;
            let found = $read.await?;
            transaction.end();
            Ok(found)
        })
    };
}

macro_rules! write_twice {
    ($store:ident, |$tx:ident| $write:expr) => {
        again!($store, async {
            let $tx = $store.begin_write().await?;
            $write.await
        })
    };
}

/// Attempts in all.
const TRIES: usize = 3;

#[async_trait]
impl EventStore for PostgresStore {
    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        let prepared = PreparedCommit::new(commit).await?;
        write::commit(self, &prepared).await.map_err(|error| self.error(error))
    }

    fn masking(&self) -> Masking {
        self.masking
    }

    async fn load(&self, session: &StreamId) -> Result<Option<SessionState>, StoreError> {
        read!(self, |tx| heads::load(tx, session))
    }

    async fn head(&self, session: &StreamId) -> Result<Option<SessionHead>, StoreError> {
        read!(self, |tx| heads::current_head(tx, session))
    }

    async fn last_seq(&self, session: &StreamId) -> Result<Seq, StoreError> {
        read!(self, |tx| heads::last_seq(tx, session))
    }

    async fn commit_count(&self) -> Result<u64, StoreError> {
        read!(self, |tx| async {
            let sql = "SELECT commits FROM neap.tenants WHERE tenant = $1";
            let row = tx.query_opt(sql, params![&tx.tenant()]).await?;
            let commits: Option<i64> = row.map(|row| row.try_get(0)).transpose()?;
            Ok::<u64, DbError>(commits.unwrap_or(0) as u64)
        })
    }

    async fn last_seqs(&self) -> Result<Vec<(StreamId, Seq)>, StoreError> {
        let streams = read!(self, |tx| heads::streams(tx))?;
        Ok(streams.into_iter().map(|(_, id, seq)| (id, seq)).collect())
    }

    async fn events(&self, session: &StreamId, from: Seq, max: usize) -> Result<Vec<StoredEvent>, StoreError> {
        read!(self, |tx| events::events(tx, session, from, max))
    }

    async fn events_of_kinds(
        &self,
        session: &StreamId,
        kinds: &[&str],
        before: Option<Seq>,
        max: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        read!(self, |tx| events::of_kinds(tx, session, kinds, before, max))
    }

    async fn log(&self, session: &StreamId, request: &LogRequest) -> Result<Log, StoreError> {
        read!(self, |tx| log::log(tx, session, request))
    }

    async fn turn_by_id(&self, session: &StreamId, turn_id: &str) -> Result<Option<TurnNo>, StoreError> {
        read!(self, |tx| heads::turn_by_id(tx, session, turn_id))
    }

    async fn turn_span(&self, session: &StreamId, turn: TurnNo) -> Result<Option<(Seq, Seq)>, StoreError> {
        read!(self, |tx| heads::turn_span(tx, session, turn))
    }

    async fn sessions_by_digest(&self, digests: &[Digest]) -> Result<Vec<Vec<(SessionId, TurnNo)>>, StoreError> {
        read!(self, |tx| links::sessions_by_digest(tx, digests))
    }
}

#[async_trait]
impl SearchStore for PostgresStore {
    async fn find_candidates(&self, query: &Query) -> Result<Candidates, StoreError> {
        again!(self, async { search::propose(self.begin_read().await?, self.cache.clone(), query).await })
    }

    async fn texts(&self, ids: &[TextId]) -> Result<Vec<Option<Arc<str>>>, StoreError> {
        read!(self, |tx| texts::texts(tx, ids))
    }

    async fn search(&self, request: &RankedSearch) -> Result<RankedResults, StoreError> {
        again!(self, async { search::search(self.begin_read().await?, self.cache.clone(), request).await })
    }

    async fn scopes(&self, ids: &[TextId]) -> Result<Vec<Option<Scope>>, StoreError> {
        read!(self, |tx| texts::scopes(tx, ids))
    }

    async fn unembedded(&self, model: &str, max: usize) -> Result<Vec<(TextId, Arc<str>)>, StoreError> {
        read!(self, |tx| embeddings::unembedded(tx, model, max))
    }

    async fn put_embeddings(
        &self,
        model: &str,
        batch: Vec<(TextId, Arc<str>, Embedding)>,
    ) -> Result<(), StoreError> {
        write_twice!(self, |tx| embeddings::put(tx, model, &batch))
    }
}

#[async_trait]
impl MemoryStore for PostgresStore {
    async fn recall(&self, stream: &StreamId, request: &RecallRequest) -> Result<RecallResponse, StoreError> {
        read!(self, |tx| memory_recall::recall(tx, stream, request))
    }

    async fn memories(&self, stream: &StreamId, ids: &[MemoryId]) -> Result<Vec<Memory>, StoreError> {
        read!(self, |tx| memories::memories(tx, stream, ids))
    }

    async fn list_memories(
        &self,
        stream: &StreamId,
        kind: Option<MemoryKind>,
        before: Option<MemoryId>,
        max: usize,
    ) -> Result<Vec<Memory>, StoreError> {
        read!(self, |tx| memories::list(tx, stream, kind, before, max))
    }

    async fn memories_due(&self, stream: &StreamId, now: Stamp, max: usize) -> Result<Vec<Memory>, StoreError> {
        read!(self, |tx| memories::due(tx, stream, now, max))
    }

    async fn memory_history(&self, stream: &StreamId, id: MemoryId) -> Result<Vec<StoredEvent>, StoreError> {
        read!(self, |tx| memories::history(tx, stream, id))
    }
}

#[async_trait]
impl Maintenance for PostgresStore {
    async fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError> {
        read!(self, |tx| heads::sessions(tx))
    }

    async fn agents(&self) -> Result<Vec<AgentInfo>, StoreError> {
        read!(self, |tx| heads::agents(tx))
    }

    async fn footprint(&self, session: Option<&StreamId>) -> Result<Footprint, StoreError> {
        read!(self, |tx| footprint::footprint(tx, session))
    }

    async fn examine(&self, session: Option<&StreamId>) -> Result<Vec<Finding>, StoreError> {
        read!(self, |tx| examine::examine(tx, &self.server, session))
    }

    async fn rebuild(&self, session: &StreamId) -> Result<Vec<Finding>, StoreError> {
        write_twice!(self, |tx| rebuild::rebuild(tx, session))
    }

    async fn scrub(&self, session: &StreamId, now: Stamp) -> Result<u64, StoreError> {
        write_twice!(self, |tx| erase::scrub(tx, session, now))
    }

    async fn erase_memory(&self, stream: &StreamId, id: MemoryId, now: Stamp) -> Result<u64, StoreError> {
        write_twice!(self, |tx| erase::erase_memory(tx, stream, id, now))
    }
}
