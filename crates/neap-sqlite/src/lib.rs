//! A store in one SQLite file. One thread writes, grouping pending requests into one durable transaction; readers
//! have their own connections and never wait for it; slow work runs on a second thread. Any number of processes
//! may use the file at once.
//!
//! Start with `schema` (what is stored), then `writer` (how it gets there).

mod access;
mod background;
mod cards;
mod checkpoint;
mod cold;
mod commit;
mod connect;
mod db_error;
mod derived_rows;
mod erase;
mod events;
mod events_by_kind;
mod examine;
mod footprint;
mod links;
mod log;
mod marker;
mod memories;
mod memory_recall;
mod migrations;
mod pool;
mod preflight;
mod progress;
mod read;
mod reader;
mod rebuild;
pub mod salvage;
mod schema;
mod scrub;
mod search;
mod task;
mod text_filter;
mod texts;
mod vector_cache;
mod vectors;
mod wal;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use neap_core::base::digest::Digest;
use neap_core::base::ids::{Seq, SessionId, Stamp, StreamId, TurnNo};
use neap_core::base::message::Scope;
use neap_core::memory::{Memory, MemoryId, MemoryKind, RecallRequest, RecallResponse};
use neap_core::recall::{Candidates, Embedding, Query, RankedResults, RankedSearch, TextId};
use neap_core::session::log::{Log, LogRequest};
use neap_core::session::state::{SessionHead, SessionState};
use neap_core::text::secrets::Masking;

pub use access::SqliteAccess;
use connect::{BUSY_TIMEOUT, OpenMode, StoreLocation};
use marker::Marker;
use neap_store::backend::prepared_commit::PreparedCommit;
use neap_store::folder::{FolderCursor, FolderCursors};
use neap_store::{
    AgentInfo, Commit, EventStore, Finding, Footprint, Maintenance, MemoryStore, SearchStore, SessionInfo,
    StoreError, StoredEvent,
};
use pool::ReaderPool;
pub use preflight::FileMismatch;
use rusqlite::Transaction;
use search::QueryContext;
use texts::IdCache;
use vector_cache::VectorCache;
use writer::{WriteKind, Writer};

#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// Where this store's session folders are, if it has any. A session whose folder shows events that the store
    /// lacks cannot be loaded: [`StoreError::Lost`].
    pub folders: Option<PathBuf>,
    /// For repairs: such a session can be loaded.
    pub is_repair: bool,
    /// For a short-lived process: its commits are as durable, but it packs nothing and closes without a checkpoint
    /// of the WAL. While it runs, a WAL that is long, or unchanged for a while, is still checkpointed.
    pub is_brief: bool,
    /// How long to wait for another process's lock before [`StoreError::Busy`], which the caller may retry.
    /// Opening the store itself retries for up to 10 seconds all the same.
    pub lock_wait: Option<Duration>,
}

/// A store in one file, with its `-wal` and `-shm` beside it.
pub struct SqliteStore {
    readers: Arc<ReaderPool>,
    writer: Writer,
    vector_cache: Arc<VectorCache>,
    /// Checked on load for events that the store lacks.
    folders: Option<Arc<PathBuf>>,
    masking: Masking,
}

impl SqliteStore {
    /// Sets whether secrets are masked before they are recorded; they are by default.
    pub fn with_masking(self, masking: Masking) -> Self {
        Self { masking, ..self }
    }

    /// Opens a store, creating it if there is nothing; a file that is not a store is left alone. On a read-only
    /// disk the store can be read, and commits fail with [`StoreError::ReadOnly`] until it is writable.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// Like [`open`](Self::open). Fails with [`StoreError::Lost`] if the WAL, the marker or a session folder does
    /// not fit the database, or shows commits or events that it lacks.
    pub fn open_with(path: &Path, options: &OpenOptions) -> Result<Self, StoreError> {
        let mode = if options.is_brief { OpenMode::Brief } else { OpenMode::LongLived };
        let OpenOptions { folders, is_repair, .. } = options;
        // Without a marker for the store, every folder is checked.
        let cursors = folders.as_deref().filter(|_| !is_repair && Marker::read(path).is_none());
        let cursors = cursors.and_then(|root| Some((root, FolderCursors::read(root).ok()?)));
        let lock_wait = options.lock_wait.unwrap_or(BUSY_TIMEOUT);
        let (location, db) = StoreLocation::find_or_create(path, folders.as_deref(), mode, lock_wait)?;
        let location = Arc::new(location);
        let readers = Arc::new(ReaderPool::new(location.clone()));
        if let Some((root, cursors)) = cursors {
            let ahead = cursors.sessions_ahead(root, &readers.read_now(read::sessions)?);
            if let Some((_, first)) = ahead.first() {
                let more = if ahead.len() > 1 {
                    format!(" (and {} more sessions)", ahead.len() - 1)
                } else {
                    String::new()
                };
                return Err(StoreError::Lost { path: path.to_owned(), why: format!("{first}{more}") });
            }
        }
        let writer = Writer::start(location, db)?;
        let folders = folders.clone().filter(|_| !is_repair).map(Arc::new);
        Ok(Self { readers, writer, vector_cache: Arc::default(), folders, masking: Masking::default() })
    }
}

impl SqliteStore {
    /// Opens a store without changing any of its files or creating one beside them; every write fails. Does not
    /// check that its files belong together: see [`find_mismatch`].
    pub fn open_to_examine(path: &Path) -> Result<Self, StoreError> {
        let location = Arc::new(StoreLocation::examine(path)?);
        let writer = Writer::none();
        let (readers, masking) = (Arc::new(ReaderPool::new(location)), Masking::default());
        Ok(Self { readers, writer, vector_cache: Arc::default(), folders: None, masking })
    }

    /// Embeddings whose sign bits are in memory, and their bytes: 65 each for 384 dimensions, and what is reserved for
    /// more. Grows with the store, by design.
    pub fn vector_cache_size(&self) -> (usize, usize) {
        self.vector_cache.size()
    }

    /// Checks the file itself: pages, indexes, the order of rows. Do not write to a file with findings.
    pub async fn examine_file(&self) -> Result<Vec<Finding>, StoreError> {
        self.readers.read(|db| Ok(examine::file_findings(db)?)).await
    }
}

/// Why the files of a store cannot be opened together; `None` if they fit. Changes nothing.
pub fn find_mismatch(path: &Path, folders: Option<&Path>) -> Result<Option<FileMismatch>, StoreError> {
    preflight::find_mismatch(path, folders).map_err(|e| preflight::unreadable(path, &e))
}

/// Renames the files that keep a store from being opened; removes nothing. Returns the old and new names.
pub fn set_aside(path: &Path, folders: Option<&Path>, now: Stamp) -> Result<Vec<(PathBuf, PathBuf)>, StoreError> {
    let mut renamed = Vec::new();
    // The remaining files may not fit either.
    while let Some(mismatch) =
        preflight::find_mismatch(path, folders).map_err(|e| preflight::unreadable(path, &e))?
    {
        let failed = |e: std::io::Error| preflight::unreadable(path, &e);
        let before = renamed.len();
        for old in mismatch.to_set_aside {
            let new =
                connect::sibling_path(&old, &format!(".aside-{}", neap_store::folder::compact_timestamp(now)));
            if neap_store::files::file_len(&old).map_err(failed)?.is_some() {
                neap_store::files::rename(&old, &new).map_err(failed)?;
                renamed.push((old, new));
            }
        }
        if renamed.len() == before {
            return Err(StoreError::Lost { path: path.to_owned(), why: mismatch.why });
        }
    }
    Ok(renamed)
}

#[async_trait]
impl EventStore for SqliteStore {
    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        let prepared = PreparedCommit::new(commit).await?;
        self.writer.commit(prepared).await
    }

    fn masking(&self) -> Masking {
        self.masking
    }

    async fn load(&self, session: &StreamId) -> Result<Option<SessionState>, StoreError> {
        let (session, folders) = (session.clone(), self.folders.clone());
        let folders = folders.filter(|_| session.agent().is_none());
        let read = move |db: &Transaction<'_>| {
            let cursor = folders.as_ref().map(|root| (root, FolderCursor::read(root, &session)));
            let state = read::load(db, &session)?;
            if let Some((root, cursor)) = cursor {
                cursor.check(root, &session, state.as_ref())?;
            }
            Ok(state)
        };
        self.readers.read(read).await
    }

    async fn head(&self, session: &StreamId) -> Result<Option<SessionHead>, StoreError> {
        let session = session.clone();
        self.readers.read(move |db| read::current_head(db, &session)).await
    }

    async fn last_seq(&self, session: &StreamId) -> Result<Seq, StoreError> {
        let session = session.clone();
        self.readers.read(move |db| read::last_seq(db, &session)).await
    }

    async fn commit_count(&self) -> Result<u64, StoreError> {
        self.readers.read(|db| Ok(progress::read(db)?.map_or(0, |progress| progress.commits))).await
    }

    async fn last_seqs(&self) -> Result<Vec<(StreamId, Seq)>, StoreError> {
        self.readers.read(|db| read::last_seqs(db)).await
    }

    async fn events(&self, session: &StreamId, from: Seq, max: usize) -> Result<Vec<StoredEvent>, StoreError> {
        let session = session.clone();
        self.readers.read(move |db| read::events(db, &session, from, max)).await
    }

    async fn events_of_kinds(
        &self,
        session: &StreamId,
        kinds: &[&str],
        before: Option<Seq>,
        max: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        let session = session.clone();
        let kinds: Vec<String> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
        self.readers.read(move |db| events_by_kind::events_of(db, &session, &kinds, before, max)).await
    }

    async fn log(&self, session: &StreamId, request: &LogRequest) -> Result<Log, StoreError> {
        let (session, request) = (session.clone(), request.clone());
        self.readers.read(move |db| log::log(db, &session, &request)).await
    }

    async fn turn_by_id(&self, session: &StreamId, turn_id: &str) -> Result<Option<TurnNo>, StoreError> {
        let (session, turn_id) = (session.clone(), turn_id.to_owned());
        self.readers.read(move |db| read::turn_by_id(db, &session, &turn_id)).await
    }

    async fn turn_span(&self, session: &StreamId, turn: TurnNo) -> Result<Option<(Seq, Seq)>, StoreError> {
        let session = session.clone();
        self.readers.read(move |db| read::turn_span(db, &session, turn)).await
    }

    async fn sessions_by_digest(&self, digests: &[Digest]) -> Result<Vec<Vec<(SessionId, TurnNo)>>, StoreError> {
        let digests = digests.to_vec();
        self.readers.read(move |db| links::sessions_by_digest(db, &digests)).await
    }
}

#[async_trait]
impl SearchStore for SqliteStore {
    async fn find_candidates(&self, query: &Query) -> Result<Candidates, StoreError> {
        let (cache, query) = (self.vector_cache.clone(), query.clone());
        self.readers.read(move |db| QueryContext::new(db, &cache, &query)?.find_candidates()).await
    }

    async fn texts(&self, ids: &[TextId]) -> Result<Vec<Option<Arc<str>>>, StoreError> {
        let ids = ids.to_vec();
        self.readers.read(move |db| Ok(texts::texts(db, &mut IdCache::default(), &ids)?)).await
    }

    async fn search(&self, request: &RankedSearch) -> Result<RankedResults, StoreError> {
        let (cache, request) = (self.vector_cache.clone(), request.clone());
        self.readers.read(move |db| search::search(db, &cache, &request)).await
    }

    async fn scopes(&self, ids: &[TextId]) -> Result<Vec<Option<Scope>>, StoreError> {
        let ids = ids.to_vec();
        self.readers.read(move |db| texts::scopes(db, &ids)).await
    }

    async fn unembedded(&self, model: &str, max: usize) -> Result<Vec<(TextId, Arc<str>)>, StoreError> {
        let model = model.to_owned();
        self.readers.read(move |db| vectors::unembedded(db, &model, max)).await
    }

    async fn put_embeddings(
        &self,
        model: &str,
        batch: Vec<(TextId, Arc<str>, Embedding)>,
    ) -> Result<(), StoreError> {
        let model = model.to_owned();
        self.writer.run(WriteKind::Keeps, move |db| vectors::put_embeddings(db, &model, &batch)).await
    }
}

#[async_trait]
impl MemoryStore for SqliteStore {
    async fn recall(&self, stream: &StreamId, request: &RecallRequest) -> Result<RecallResponse, StoreError> {
        let (stream, request) = (stream.clone(), request.clone());
        self.readers.read(move |db| memory_recall::recall(db, &stream, &request)).await
    }

    async fn memories(&self, stream: &StreamId, ids: &[MemoryId]) -> Result<Vec<Memory>, StoreError> {
        let (stream, ids) = (stream.clone(), ids.to_vec());
        self.readers.read(move |db| memories::memories(db, &stream, &ids)).await
    }

    async fn list_memories(
        &self,
        stream: &StreamId,
        kind: Option<MemoryKind>,
        before: Option<MemoryId>,
        max: usize,
    ) -> Result<Vec<Memory>, StoreError> {
        let stream = stream.clone();
        self.readers.read(move |db| memories::list(db, &stream, kind, before, max)).await
    }

    async fn memories_due(&self, stream: &StreamId, now: Stamp, max: usize) -> Result<Vec<Memory>, StoreError> {
        let stream = stream.clone();
        self.readers.read(move |db| memories::due(db, &stream, now, max)).await
    }

    async fn memory_history(&self, stream: &StreamId, id: MemoryId) -> Result<Vec<StoredEvent>, StoreError> {
        let stream = stream.clone();
        self.readers.read(move |db| memories::history(db, &stream, id)).await
    }
}

#[async_trait]
impl Maintenance for SqliteStore {
    async fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError> {
        self.readers.read(read::sessions).await
    }

    async fn agents(&self) -> Result<Vec<AgentInfo>, StoreError> {
        self.readers.read(read::agents).await
    }

    async fn footprint(&self, session: Option<&StreamId>) -> Result<Footprint, StoreError> {
        let (session, path) = (session.cloned(), self.readers.path().to_owned());
        self.readers.read(move |db| footprint::footprint(db, &path, session.as_ref())).await
    }

    async fn examine(&self, session: Option<&StreamId>) -> Result<Vec<Finding>, StoreError> {
        let session = session.cloned();
        self.readers.read(move |db| examine::examine(db, session.as_ref())).await
    }

    async fn rebuild(&self, session: &StreamId) -> Result<Vec<Finding>, StoreError> {
        let session = session.clone();
        self.writer.run(WriteKind::Keeps, move |db| rebuild::rebuild(db, &session)).await
    }

    async fn scrub(&self, session: &StreamId, now: Stamp) -> Result<u64, StoreError> {
        let session = session.clone();
        self.writer.run(WriteKind::Erases, move |db| scrub::scrub(db, &session, now)).await
    }

    async fn erase_memory(&self, stream: &StreamId, id: MemoryId, now: Stamp) -> Result<u64, StoreError> {
        let stream = stream.clone();
        self.writer.run(WriteKind::Erases, move |db| erase::erase_memory(db, &stream, id, now)).await
    }
}
