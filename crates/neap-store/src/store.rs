//! What a backend does, in four traits.

use std::sync::Arc;

use async_trait::async_trait;
use neap_core::base::digest::Digest;
use neap_core::base::ids::{Seq, SessionId, Stamp, StreamId, TurnNo};
use neap_core::base::message::Scope;
use neap_core::memory::{Memory, MemoryId, MemoryKind, RecallRequest, RecallResponse};
use neap_core::recall::{Candidates, Embedding, Query, RankedResults, RankedSearch, TextId, UnembeddedText};
use neap_core::session::log::{Log, LogRequest};
use neap_core::session::state::SessionState;
use neap_core::text::secrets::Masking;

use crate::{AgentInfo, Commit, Finding, Footprint, SessionInfo, StoreError, StoredEvent};

/// A backend for sessions and agents.
///
/// # Guarantees
///
/// - *A commit is atomic and durable.* Once [`commit`](EventStore::commit) returns `Ok`, neither a killed process, nor
///   a second process, nor a power failure undoes its events and derived rows.
/// - *A commit names its predecessor* (I10). If another commit came first, it fails with [`StoreError::Conflict`]
///   and changes nothing. The same `turn_id` is never accepted twice: [`StoreError::DuplicateTurn`].
/// - *A read returns what was written*, byte for byte, or reports it as damaged. An unreadable store is never
///   recreated. A backend may pack old events together: damage to a recent record costs that record, damage to a
///   packed one may cost every event of its block, at most 128.
/// - *Any number of processes* may use one store at once.
/// - *Cost does not grow with a session's length*: [`load`](EventStore::load) costs as much as there are efforts,
///   [`log`](EventStore::log) as much as is requested.
/// - *An agent's stream is stored like a session's*, under [`AgentId::stream`](neap_core::base::ids::AgentId::stream). Lists and searches of sessions
///   leave agents' streams out, and no agent ever sees another's memories.
pub trait Store: EventStore + SearchStore + MemoryStore + Maintenance {}

impl<T: EventStore + SearchStore + MemoryStore + Maintenance> Store for T {}

/// The truth: one event stream per session and per agent, and what is derived from each to go on with it.
#[async_trait]
pub trait EventStore: Send + Sync {
    /// Appends events to a stream and updates the derived rows in the same transaction.
    async fn commit(&self, commit: Commit) -> Result<(), StoreError>;

    /// Whether secrets are masked before they are recorded; on unless the store's owner turned it off.
    fn masking(&self) -> Masking {
        Masking::On
    }

    /// A session's state, or `None` if it never existed. An erased session has a state that says so.
    async fn load(&self, stream: &StreamId) -> Result<Option<SessionState>, StoreError>;

    /// The stream's last `seq`, 0 if it is empty. Cheap: used to check whether a loaded state is current.
    async fn last_seq(&self, stream: &StreamId) -> Result<Seq, StoreError>;

    /// Events from `from` on, in order, at most `max`.
    async fn events(&self, stream: &StreamId, from: Seq, max: usize) -> Result<Vec<StoredEvent>, StoreError>;

    /// Events of these kinds ([`Event::kind`](neap_core::session::event::Event::kind)) before `before`, newest first, at
    /// most `max`. Costs as much as it returns, except for kinds that nearly every turn has.
    async fn events_of_kinds(
        &self,
        stream: &StreamId,
        kinds: &[&str],
        before: Option<Seq>,
        max: usize,
    ) -> Result<Vec<StoredEvent>, StoreError>;

    /// Exchanges of the requested turns, in the order in which they ended, from the requested end until the token
    /// limit is reached. Costs as much as it returns. Damaged exchanges are included, with placeholders.
    async fn log(&self, stream: &StreamId, request: &LogRequest) -> Result<Log, StoreError>;

    /// The turn that was started with the caller's `turn_id`.
    async fn turn_by_id(&self, stream: &StreamId, turn_id: &str) -> Result<Option<TurnNo>, StoreError>;

    /// The first and last event of a turn; `None` while it is in flight or if it never existed.
    async fn turn_span(&self, stream: &StreamId, turn: TurnNo) -> Result<Option<(Seq, Seq)>, StoreError>;

    /// The sessions that recorded each digest ([`ClientEvent::HistoryLinked`](neap_core::session::event::ClientEvent::HistoryLinked))
    /// with the turn, oldest session first; in the given order. One point read each.
    async fn sessions_by_digest(&self, digests: &[Digest]) -> Result<Vec<Vec<(SessionId, TurnNo)>>, StoreError>;
}

/// Finds texts by words, meaning and position, and stores the embeddings for it.
#[async_trait]
pub trait SearchStore: Send + Sync {
    /// Texts that may answer a query, each once: the lexical and the semantic candidates that
    /// [`SearchLimits`](neap_core::recall::SearchLimits) allows. A text is newer if its stream began later, or if
    /// it comes later in the same stream. Text counts and document frequencies are those of all sessions; if the
    /// filter names agents' streams, those of each agent's memories, plus all sessions only if it names one. A
    /// term that is not a word (see [`terms`](neap_core::text::terms)) matches nothing. Every backend proposes the same
    /// (I9), except that among more than 256 embeddings a backend may miss some that are nearly as similar as
    /// the nearest. The limits bound the cost, whatever the store's size.
    async fn find_candidates(&self, query: &Query) -> Result<Candidates, StoreError>;

    /// The content of texts, in the given order; `None` for one that does not exist, is damaged, or belongs to a
    /// turn that a censor ended or a person took back.
    async fn texts(&self, ids: &[TextId]) -> Result<Vec<Option<Arc<str>>>, StoreError>;

    /// Runs a whole search on one snapshot, as [`RankedSearch::run`] says: [`find_candidates`](Self::find_candidates),
    /// what was said beside them, and [`texts`](Self::texts). What is found by position is scored as for the query, but
    /// without its filter and limits, and costs as much as it returns.
    async fn search(&self, request: &RankedSearch) -> Result<RankedResults, StoreError>;

    /// The logs that texts are in, in the given order; `None` for one that is not a message, does not exist, or
    /// belongs to a turn in flight or taken back.
    async fn scopes(&self, ids: &[TextId]) -> Result<Vec<Option<Scope>>, StoreError>;

    /// Texts without an embedding of this model, with what is embedded of them, at most `max`: first those with no
    /// embedding at all, oldest first. Damaged texts are skipped.
    async fn unembedded(&self, model: &str, max: usize) -> Result<Vec<UnembeddedText>, StoreError>;

    /// Stores a model's embeddings of texts as [`unembedded`](SearchStore::unembedded) returned them, in place of other
    /// models'. Skips texts that changed or are gone. A model is its name and embedding length.
    async fn put_embeddings(
        &self,
        model: &str,
        batch: Vec<(TextId, Arc<str>, Embedding)>,
    ) -> Result<(), StoreError>;
}

/// An agent's memories. Each method takes the agent's stream, [`AgentId::stream`](neap_core::base::ids::AgentId::stream).
#[async_trait]
pub trait MemoryStore: Send + Sync {
    /// Memories of an agent, kind by kind, each kind up to its limit. With terms: memories that have any of them,
    /// rarer terms first, then higher numbers; if terms that at most a quarter of a kind's memories have fill its
    /// limit, more common terms add nothing. Without terms: newest first by creation. Inactive and retired
    /// memories are never included, superseded ones only on request. `text_count` and `document_frequencies` count
    /// the memories that the request searches: its kinds, statuses and times.
    async fn recall(&self, stream: &StreamId, request: &RecallRequest) -> Result<RecallResponse, StoreError>;

    /// Those of these memories that exist, of any status, in the given order. One point read each.
    async fn memories(&self, stream: &StreamId, ids: &[MemoryId]) -> Result<Vec<Memory>, StoreError>;

    /// Memories of one kind or of all, of any status, newest first by creation, then by id; after the last page's
    /// final memory (also if that was erased meanwhile), at most `max`. Costs as much as it returns.
    async fn list_memories(
        &self,
        stream: &StreamId,
        kind: Option<MemoryKind>,
        before: Option<MemoryId>,
        max: usize,
    ) -> Result<Vec<Memory>, StoreError>;

    /// Memories that are due ([`MemoryRow::due`](neap_core::session::project::MemoryRow::due)), the longest due first, then
    /// by id; at most `max`. Costs as much as is due.
    async fn memories_due(&self, stream: &StreamId, now: Stamp, max: usize) -> Result<Vec<Memory>, StoreError>;

    /// All events of a memory, in order. Costs as much as it returns.
    async fn memory_history(&self, stream: &StreamId, id: MemoryId) -> Result<Vec<StoredEvent>, StoreError>;
}

/// What there is, whether it is whole, and what is erased.
#[async_trait]
pub trait Maintenance: Send + Sync {
    /// Every session by id, without agents' streams.
    async fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError>;

    async fn agents(&self) -> Result<Vec<AgentInfo>, StoreError>;

    /// Bytes used by one session, or by everything. Reads all of it.
    async fn footprint(&self, stream: Option<&StreamId>) -> Result<Footprint, StoreError>;

    /// Checks one session, or everything, without changing anything.
    async fn examine(&self, stream: Option<&StreamId>) -> Result<Vec<Finding>, StoreError>;

    /// Rebuilds a session's derived rows from its stream; damaged events are left out and reported.
    async fn rebuild(&self, stream: &StreamId) -> Result<Vec<Finding>, StoreError>;

    /// Physically erases a session's content and leaves a tombstone. Returns how many events were erased.
    async fn scrub(&self, stream: &StreamId, now: Stamp) -> Result<u64, StoreError>;

    /// Physically erases one memory: [`MemoryEvent::Erased`](neap_core::memory::MemoryEvent::Erased) replaces each
    /// of its events and is appended once more, so a writer that knew the old stream gets a conflict and reloads
    /// it. Where it superseded or contested a fact, the event's quotation of it is erased too; the fact keeps its
    /// status, so a superseded one is not restored. Returns how many events were overwritten, 0 if nothing was
    /// left to erase. Mentions in other records or sessions stay.
    async fn erase_memory(&self, stream: &StreamId, id: MemoryId, now: Stamp) -> Result<u64, StoreError>;
}
