//! Sessions in one SQLite file. One thread writes, gathering what waits into one durable transaction; readers
//! have connections of their own and never wait for it; what takes long is done beside it. Any number of processes may do the same at once.
//!
//! Start with `schema` (what is kept), then `writer` (how it gets there).

mod aside;
mod cards;
mod checkpoint;
mod cold;
mod connect;
mod consult;
mod effects;
mod erase;
mod events;
mod examine;
mod fault;
mod footprint;
mod kinds;
mod links;
mod log;
mod memories;
mod narrow;
mod pool;
mod prepare;
mod read;
mod reader;
mod rebuild;
mod recall;
mod schema;
mod scrub;
mod space;
mod task;
mod texts;
mod vectors;
mod writer;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use neap_core::ids::{Seq, SessionId, Stamp, TurnNo};
use neap_core::ingest::Digest;
use neap_core::log::{Log, LogRequest};
use neap_core::memory::{Memory, MemoryId, MemoryKind, RecallRequest, Recalled};
use neap_core::message::Scope;
use neap_core::recall::{Around, Card, Consult, Consulted, Embedding, Proposed, Query, TextId};
use neap_core::secrets::Masking;
use neap_core::state::SessionState;

use crate::{AgentInfo, Commit, Finding, Footprint, SessionInfo, Store, StoreError, Stored};
use connect::{Place, Stay};
use consult::Inquiry;
use pool::Pool;
use prepare::Prepared;
use space::Space;
use texts::Names;
use writer::Writer;

/// A store in one file (and its `-wal` and `-shm` beside it).
pub struct SqliteStore {
    readers: Arc<Pool>,
    writer: Writer,
    space: Arc<Space>,
    masking: Masking,
}

impl SqliteStore {
    /// The same store, with secrets masked in what is recorded or not; they are, unless this says otherwise.
    pub fn with_masking(self, masking: Masking) -> Self {
        Self { masking, ..self }
    }

    /// Opens a store, or makes one where there is nothing. What is there and is not a store is left alone. Where
    /// nothing may be written, the store can be read, and a commit is [`StoreError::ReadOnly`].
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_for(path, Stay::Whole)
    }

    /// The same for a process that stays for a moment and is waited for. What it commits is as durable, in the log of writes beside
    /// the file; it leaves that there, unless it has grown long, and whoever opens the store next goes on with it.
    pub fn open_briefly(path: &Path) -> Result<Self, StoreError> {
        Self::open_for(path, Stay::Brief)
    }

    fn open_for(path: &Path, stay: Stay) -> Result<Self, StoreError> {
        let (place, db) = Place::find(path, stay)?;
        let place = Arc::new(place);
        let writer = Writer::start(place.clone(), db)?;
        let (readers, masking) = (Arc::new(Pool::new(place)), Masking::default());
        Ok(Self { readers, writer, space: Arc::default(), masking })
    }
}

#[async_trait]
impl Store for SqliteStore {
    fn masking(&self) -> Masking {
        self.masking
    }

    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        let prepared = Prepared::new(commit).await?;
        self.writer.commit(prepared).await
    }

    async fn load(&self, session: &SessionId) -> Result<Option<SessionState>, StoreError> {
        let session = session.clone();
        self.readers.read(move |db| read::load(db, &session)).await
    }

    async fn seq(&self, session: &SessionId) -> Result<Seq, StoreError> {
        let session = session.clone();
        self.readers.read(move |db| read::seq(db, &session)).await
    }

    async fn events(&self, session: &SessionId, from: Seq, max: usize) -> Result<Vec<Stored>, StoreError> {
        let session = session.clone();
        self.readers.read(move |db| read::events(db, &session, from, max)).await
    }

    async fn events_of(
        &self,
        session: &SessionId,
        kinds: &[&str],
        before: Option<Seq>,
        max: usize,
    ) -> Result<Vec<Stored>, StoreError> {
        let session = session.clone();
        let kinds: Vec<String> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
        self.readers.read(move |db| kinds::events_of(db, &session, &kinds, before, max)).await
    }

    async fn log(&self, session: &SessionId, request: &LogRequest) -> Result<Log, StoreError> {
        let (session, request) = (session.clone(), request.clone());
        self.readers.read(move |db| log::log(db, &session, &request)).await
    }

    async fn propose(&self, query: &Query) -> Result<Proposed, StoreError> {
        let (space, query) = (self.space.clone(), query.clone());
        self.readers.read(move |db| Inquiry::new(db, &space, &query)?.propose()).await
    }

    async fn around(&self, around: &Around, query: &Query) -> Result<Vec<Card>, StoreError> {
        let (space, around, query) = (self.space.clone(), around.clone(), query.clone());
        self.readers.read(move |db| Inquiry::new(db, &space, &query)?.around(&around)).await
    }

    async fn consult(&self, consult: &Consult) -> Result<Consulted, StoreError> {
        let (space, consult) = (self.space.clone(), consult.clone());
        self.readers.read(move |db| consult::consult(db, &space, &consult)).await
    }

    async fn scopes(&self, ids: &[TextId]) -> Result<Vec<Option<Scope>>, StoreError> {
        let ids = ids.to_vec();
        self.readers.read(move |db| texts::scopes(db, &ids)).await
    }

    async fn texts(&self, ids: &[TextId]) -> Result<Vec<Option<Arc<str>>>, StoreError> {
        let ids = ids.to_vec();
        self.readers.read(move |db| Ok(texts::texts(db, &mut Names::default(), &ids)?)).await
    }

    async fn unembedded(&self, model: &str, max: usize) -> Result<Vec<(TextId, Arc<str>)>, StoreError> {
        let model = model.to_owned();
        self.readers.read(move |db| vectors::unembedded(db, &model, max)).await
    }

    async fn embed(&self, model: &str, batch: Vec<(TextId, Arc<str>, Embedding)>) -> Result<(), StoreError> {
        self.writer.embed(model.to_owned(), batch).await
    }

    async fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError> {
        self.readers.read(read::sessions).await
    }

    async fn agents(&self) -> Result<Vec<AgentInfo>, StoreError> {
        self.readers.read(read::agents).await
    }

    async fn recall(&self, agent: &SessionId, request: &RecallRequest) -> Result<Recalled, StoreError> {
        let (agent, request) = (agent.clone(), request.clone());
        self.readers.read(move |db| recall::recall(db, &agent, &request)).await
    }

    async fn memories(&self, agent: &SessionId, ids: &[MemoryId]) -> Result<Vec<Memory>, StoreError> {
        let (agent, ids) = (agent.clone(), ids.to_vec());
        self.readers.read(move |db| memories::memories(db, &agent, &ids)).await
    }

    async fn list_memories(
        &self,
        agent: &SessionId,
        kind: Option<MemoryKind>,
        before: Option<MemoryId>,
        max: usize,
    ) -> Result<Vec<Memory>, StoreError> {
        let agent = agent.clone();
        self.readers.read(move |db| memories::list(db, &agent, kind, before, max)).await
    }

    async fn memories_due(&self, agent: &SessionId, now: Stamp, max: usize) -> Result<Vec<Memory>, StoreError> {
        let agent = agent.clone();
        self.readers.read(move |db| memories::due(db, &agent, now, max)).await
    }

    async fn memory_history(&self, agent: &SessionId, id: MemoryId) -> Result<Vec<Stored>, StoreError> {
        let agent = agent.clone();
        self.readers.read(move |db| memories::history(db, &agent, id)).await
    }

    async fn linked(&self, digests: &[Digest]) -> Result<Vec<Vec<(SessionId, TurnNo)>>, StoreError> {
        let digests = digests.to_vec();
        self.readers.read(move |db| links::linked(db, &digests)).await
    }

    async fn turn_of(&self, session: &SessionId, turn_id: &str) -> Result<Option<TurnNo>, StoreError> {
        let (session, turn_id) = (session.clone(), turn_id.to_owned());
        self.readers.read(move |db| read::turn_of(db, &session, &turn_id)).await
    }

    async fn turn_span(&self, session: &SessionId, turn: TurnNo) -> Result<Option<(Seq, Seq)>, StoreError> {
        let session = session.clone();
        self.readers.read(move |db| read::turn_span(db, &session, turn)).await
    }

    async fn footprint(&self, session: Option<&SessionId>) -> Result<Footprint, StoreError> {
        let (session, path) = (session.cloned(), self.readers.path().to_owned());
        self.readers.read(move |db| footprint::footprint(db, &path, session.as_ref())).await
    }

    async fn examine(&self, session: Option<&SessionId>) -> Result<Vec<Finding>, StoreError> {
        let session = session.cloned();
        self.readers.read(move |db| examine::examine(db, session.as_ref())).await
    }

    async fn rebuild(&self, session: &SessionId) -> Result<Vec<Finding>, StoreError> {
        self.writer.rebuild(session.clone()).await
    }

    async fn scrub(&self, session: &SessionId, now: Stamp) -> Result<u64, StoreError> {
        self.writer.scrub(session.clone(), now).await
    }

    async fn erase_memory(&self, agent: &SessionId, id: MemoryId, now: Stamp) -> Result<u64, StoreError> {
        self.writer.erase_memory(agent.clone(), id, now).await
    }
}
