//! Sessions in one SQLite file. One thread writes, gathering what waits into one durable transaction; readers
//! have connections of their own and never wait for it; what takes long is done beside it. Any number of processes may do the same at once.
//!
//! Start with `schema` (what is kept), then `writer` (how it gets there).

mod aside;
mod cards;
mod checkpoint;
mod cold;
mod commit;
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
mod mark;
mod memories;
mod narrow;
mod pool;
mod preflight;
mod prepare;
mod progress;
mod read;
mod reader;
mod rebuild;
mod recall;
pub mod salvage;
mod schema;
mod scrub;
mod space;
mod task;
mod texts;
mod vectors;
mod wal;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use neap_core::ids::{Seq, SessionId, Stamp, TurnNo};
use neap_core::ingest::Digest;
use neap_core::log::{Log, LogRequest};
use neap_core::memory::{Memory, MemoryId, MemoryKind, RecallRequest, Recalled};
use neap_core::message::Scope;
use neap_core::recall::{Around, Card, Consult, Consulted, Embedding, Proposed, Query, TextId};
use neap_core::secrets::Masking;
use neap_core::state::SessionState;

use crate::folder::{AllShown, Shown};
use crate::{AgentInfo, Commit, Finding, Footprint, SessionInfo, Store, StoreError, Stored};
use connect::{BUSY_TIMEOUT, Place, Stay};
use consult::Inquiry;
use mark::Mark;
use pool::Pool;
pub use preflight::Misfit;
use prepare::Prepared;
use rusqlite::Transaction;
use space::Space;
use texts::Names;
use writer::Writer;

/// How a store is opened.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// Where the session folders are that show this store, if there are any. A session whose folder shows events that the store does
    /// not have cannot be loaded: [`StoreError::Lost`].
    pub folders: Option<PathBuf>,
    /// For whoever repairs: such a session can be loaded.
    pub is_repair: bool,
    /// For a process that stays for a moment and is waited for: what it commits is as durable, in the log beside the file, but it
    /// leaves copying that to whoever comes next.
    pub is_brief: bool,
    /// How long it waits for another process's lock, where that must not be long: what the lock keeps it from is
    /// [`StoreError::Busy`] after that, and its to try again.
    pub lock_wait: Option<Duration>,
}

/// A store in one file (and its `-wal` and `-shm` beside it).
pub struct SqliteStore {
    readers: Arc<Pool>,
    writer: Writer,
    space: Arc<Space>,
    /// Asked whether they show more than a session has.
    folders: Option<Arc<PathBuf>>,
    masking: Masking,
}

impl SqliteStore {
    /// The same store, with secrets masked in what is recorded or not; they are, unless this says otherwise.
    pub fn with_masking(self, masking: Masking) -> Self {
        Self { masking, ..self }
    }

    /// Opens a store, or makes one where there is nothing. What is there and is not a store is left alone. Where
    /// nothing may be written, the store can be read, and a commit is [`StoreError::ReadOnly`] until it may.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// The same for a process that stays for a moment and is waited for. What it commits is as durable, in the log of writes beside
    /// the file; it leaves that there, unless it has grown long, and whoever opens the store next goes on with it.
    pub fn open_briefly(path: &Path) -> Result<Self, StoreError> {
        Self::open_with(path, &OpenOptions { is_brief: true, ..OpenOptions::default() })
    }

    /// Opens a store, or makes one where there is nothing, unless something beside it knows more than it does: that is
    /// [`StoreError::Lost`].
    pub fn open_with(path: &Path, options: &OpenOptions) -> Result<Self, StoreError> {
        let stay = if options.is_brief { Stay::Brief } else { Stay::Whole };
        let OpenOptions { folders, is_repair, .. } = options;
        // Where no marker vouches for the store, every folder is asked.
        let shown = folders.as_deref().filter(|_| !is_repair && Mark::read(path).is_none());
        let shown = shown.and_then(|root| Some((root, AllShown::read(root).ok()?)));
        let lock_wait = options.lock_wait.unwrap_or(BUSY_TIMEOUT);
        let (place, db) = Place::find(path, folders.as_deref(), stay, lock_wait)?;
        let place = Arc::new(place);
        let readers = Arc::new(Pool::new(place.clone()));
        if let Some((root, shown)) = shown {
            let ahead = shown.ahead(root, &readers.read_now(read::sessions)?);
            if let Some((_, first)) = ahead.first() {
                let more = if ahead.len() > 1 {
                    format!(" (and {} more sessions)", ahead.len() - 1)
                } else {
                    String::new()
                };
                return Err(StoreError::Lost { path: path.to_owned(), why: format!("{first}{more}") });
            }
        }
        let writer = Writer::start(place, db)?;
        let folders = folders.clone().filter(|_| !is_repair).map(Arc::new);
        Ok(Self { readers, writer, space: Arc::default(), folders, masking: Masking::default() })
    }
}

impl SqliteStore {
    /// Opens a store to look at it: no file is made or changed, and nothing can be committed. Whether its files belong together is not
    /// asked; [`misfit`] tells.
    pub fn open_to_examine(path: &Path) -> Result<Self, StoreError> {
        let place = Arc::new(Place::examine(path)?);
        let writer = Writer::none();
        let (readers, masking) = (Arc::new(Pool::new(place)), Masking::default());
        Ok(Self { readers, writer, space: Arc::default(), folders: None, masking })
    }

    /// How many embeddings are held in memory, and their bytes. That is the one part that grows with the store, by design: about 600
    /// bytes for each text of 384 numbers.
    pub fn embeddings_held(&self) -> (usize, usize) {
        self.space.size()
    }

    /// What is wrong with the file itself: pages, indexes, the order of rows. Where something is, nothing should be
    /// written to it.
    pub async fn examine_file(&self) -> Result<Vec<Finding>, StoreError> {
        self.readers.read(|db| Ok(examine::file(db)?)).await
    }
}

/// What keeps the files of a store from being opened together; none if they fit. Changes nothing.
pub fn misfit(path: &Path, folders: Option<&Path>) -> Result<Option<Misfit>, StoreError> {
    preflight::misfit(path, folders).map_err(|e| preflight::unreadable(path, &e))
}

/// Renames the files that keep a store from being opened, so that it goes on with what is left; nothing is removed. Returns the old and
/// the new names.
pub fn set_aside(path: &Path, folders: Option<&Path>, now: Stamp) -> Result<Vec<(PathBuf, PathBuf)>, StoreError> {
    let mut renamed = Vec::new();
    // What is left may not fit either.
    while let Some(misfit) = preflight::misfit(path, folders).map_err(|e| preflight::unreadable(path, &e))? {
        let failed = |e: std::io::Error| preflight::unreadable(path, &e);
        let before = renamed.len();
        for old in misfit.in_the_way {
            let new = connect::beside(&old, &format!(".aside-{}", crate::folder::compact(now)));
            if crate::files::size(&old).map_err(failed)?.is_some() {
                crate::files::rename(&old, &new).map_err(failed)?;
                renamed.push((old, new));
            }
        }
        if renamed.len() == before {
            return Err(StoreError::Lost { path: path.to_owned(), why: misfit.why });
        }
    }
    Ok(renamed)
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
        let (session, folders) = (session.clone(), self.folders.clone());
        let folders = folders.filter(|_| session.agent().is_none());
        let read = move |db: &Transaction<'_>| {
            let shown = folders.as_ref().map(|root| (root, Shown::read(root, &session)));
            let state = read::load(db, &session)?;
            if let Some((root, shown)) = shown {
                shown.check(root, &session, state.as_ref())?;
            }
            Ok(state)
        };
        self.readers.read(read).await
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
