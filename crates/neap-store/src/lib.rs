//! Where sessions and what agents know live: is it safe?
//!
//! Truth is one stream of events per session, and one per agent. Everything else a backend keeps (the session's row,
//! its efforts, where exchanges are, memories, the word index) is derived from the stream by [`neap_core::project`], changes
//! in the same transaction, and can be dropped and made again ([`Store::rebuild`]).
//!
//! A store knows nothing of models and prompts, and has no order of its own: it proposes candidates, and the core ranks.

mod card;
pub mod contract;
mod derived;
mod error;
mod examine;
mod exchange;
mod files;
pub mod folder;
mod footprint;
mod mem;
mod near;
mod numbers;
mod propose;
pub mod reading;
mod recall;
pub mod sqlite;

pub use error::StoreError;
pub use footprint::Footprint;
pub use mem::MemStore;
pub use sqlite::SqliteStore;

use std::sync::Arc;

use async_trait::async_trait;
use neap_core::event::Recorded;
use neap_core::ids::{AgentId, Seq, SessionId, Stamp, TurnNo};
use neap_core::ingest::{Digest, Tenant};
use neap_core::log::{Log, LogRequest};
use neap_core::memory::{Memory, MemoryId, MemoryKind, RecallRequest, Recalled};
use neap_core::message::Scope;
use neap_core::project::Projection;
use neap_core::recall::{Around, Card, Consult, Consulted, Embedding, Proposed, Query, TextId};
use neap_core::secrets::Masking;
use neap_core::state::{Head, SessionState};
use serde::{Deserialize, Serialize};

/// Events to add to a stream, and what they change.
#[derive(Debug, Clone)]
pub struct Commit {
    /// Whose stream.
    pub session: SessionId,
    /// The last event the writer knew of; the new ones follow it without a gap.
    pub expected: Seq,
    /// At least one event.
    pub events: Vec<Recorded>,
    /// What they change in the derived tables.
    pub projection: Projection,
}

/// An event as it was found.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "nearly all of them are whole")]
pub enum Stored {
    /// Whole.
    Event(Recorded),
    /// Its row is there, but not what was written.
    Damaged {
        /// Its place.
        seq: Seq,
        /// What is wrong with it.
        why: String,
    },
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionInfo {
    /// Its id.
    pub session: SessionId,
    /// When it began.
    pub created: Stamp,
    /// When it last changed.
    pub updated: Stamp,
    /// Its latest turn.
    pub turns: TurnNo,
    /// Efforts, of any status.
    pub efforts: u64,
    /// Events in its stream.
    pub events: Seq,
    /// Whether it was erased; then only this tombstone is left.
    pub scrubbed: bool,
    /// Which caller of a proxy it belongs to, if it is one's. Nobody who reads a list needs it.
    #[serde(skip)]
    pub tenant: Option<Tenant>,
}

impl SessionInfo {
    fn new(session: SessionId, head: &Head, efforts: u64) -> Self {
        let Head { created, updated, turn, seq, scrubbed, tenant, .. } = *head;
        Self { session, created, updated, turns: turn, efforts, events: seq, scrubbed, tenant }
    }
}

/// An agent in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentInfo {
    /// Its id.
    pub agent: AgentId,
    /// When its stream began.
    pub created: Stamp,
    /// When it last changed.
    pub updated: Stamp,
    /// Memories, of any status.
    pub memories: u64,
    /// Events in its stream.
    pub events: Seq,
    /// Whether it was erased; then only this tombstone is left.
    pub scrubbed: bool,
}

impl AgentInfo {
    fn new(agent: AgentId, head: &Head, memories: u64) -> Self {
        let Head { created, updated, seq, scrubbed, .. } = *head;
        Self { agent, created, updated, memories, events: seq, scrubbed }
    }
}

/// Asserts what every caller of [`Store::commit`] must see to (I10), before anything is written.
fn check_commit(commit: &Commit) {
    assert!(!commit.events.is_empty(), "I10: a commit has at least one event");
    let mut seq = commit.expected;
    for recorded in &commit.events {
        seq = seq.next();
        assert_eq!(recorded.seq, seq, "I10: the events of a commit follow each other");
    }
    assert_eq!(commit.projection.head.seq, seq, "I3: a projection is of the state after its events");
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// A view differs from the truth; [`Store::rebuild`] mends it.
    Repairable,
    /// Something that was written is lost.
    Damaged,
}

/// What an examination found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// Whose, if it is one session's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// What it is, in a sentence.
    pub what: String,
}

/// A place for sessions.
///
/// # The promise
///
/// - *A commit is all or nothing.* When [`commit`](Store::commit) returns `Ok`, its events and all they change
///   are durable: a killed process, a second process or a lost power supply do not undo them.
/// - *A commit names what it follows* (I10). If another came first, it is [`StoreError::Conflict`] and nothing
///   happened. The same `turn_id` is never accepted twice: [`StoreError::DuplicateTurn`].
/// - *What is read is what was written*, byte for byte, or it is reported as damaged, and a store that cannot be
///   read is never made anew. A backend may keep what is old in fewer bytes, many events packed as one. So damage to
///   what is recent costs at most the record that is damaged; damage to what is packed may cost all events that are
///   packed with it, at most 128.
/// - *Any number of processes* may use one store at once; nobody is locked out.
/// - *A session's cost does not grow with its length*: [`load`](Store::load) costs as much as it has efforts,
///   [`log`](Store::log) as much as is asked for.
/// - *An agent's stream is kept like a session's*, under [`AgentId::stream`]; no list and no search of sessions shows
///   it, and no agent's memories are ever another's.
#[async_trait]
pub trait Store: Send + Sync {
    /// Adds events to a stream, and changes the derived tables with them.
    async fn commit(&self, commit: Commit) -> Result<(), StoreError>;

    /// Whether secrets are masked in what is recorded here: unless the store's owner turned it off.
    fn masking(&self) -> Masking {
        Masking::On
    }

    /// A session's state; none if it never was. After an erasure, the state says so.
    async fn load(&self, session: &SessionId) -> Result<Option<SessionState>, StoreError>;

    /// The place of a stream's last event, 0 if there is none: one look, to see whether what is known is all.
    async fn seq(&self, session: &SessionId) -> Result<Seq, StoreError>;

    /// Events from `from` on, in order, at most `max`.
    async fn events(&self, session: &SessionId, from: Seq, max: usize) -> Result<Vec<Stored>, StoreError>;

    /// Events of these kinds ([`Event::kind`](neap_core::event::Event::kind)) before a place, newest first, at
    /// most `max`. The kinds that nearly every turn has are found by looking back; for all others it costs as much
    /// as it gives.
    async fn events_of(
        &self,
        session: &SessionId,
        kinds: &[&str],
        before: Option<Seq>,
        max: usize,
    ) -> Result<Vec<Stored>, StoreError>;

    /// Exchanges of a log in the order in which they ended: those of the turns asked for, from the end asked
    /// for, as many as it takes to reach the tokens. Costs as much as it gives, wherever in the log that is.
    /// An exchange whose record is damaged is there with a line that says so in place of its words.
    async fn log(&self, session: &SessionId, request: &LogRequest) -> Result<Log, StoreError>;

    /// Texts that may answer a question: what [`Limits`](neap_core::recall::Limits) says that words propose, and what meaning
    /// proposes, each once. Of two texts the newer is the one of the stream that began later, or that came later in the same. How many texts
    /// there are, and how many have a term, is said of all sessions; where agents' streams are named, of those agents' memories, each for
    /// itself, and of all sessions only where one is named. A term that is no word (see [`terms`](neap_core::terms)) finds nothing. Among more than twenty
    /// thousand embeddings, those that are nearly as near as the nearest may be passed over; else every backend proposes
    /// the same (I9). Costs what the limits allow, whatever the size.
    async fn propose(&self, query: &Query) -> Result<Proposed, StoreError>;

    /// Texts that are looked at for where they are: what was said beside others, in the same stream, themselves left out; what opens
    /// streams; what was said last. Each once, in the order of ids, as the query would propose them. Its filter and its limits do
    /// not matter. Costs as much as it gives.
    async fn around(&self, around: &Around, query: &Query) -> Result<Vec<Card>, StoreError>;

    /// The words of texts, in the order asked; none of what is not there, is damaged, or was said in a turn that a rule ended.
    async fn texts(&self, ids: &[TextId]) -> Result<Vec<Option<Arc<str>>>, StoreError>;

    /// All that one question needs, of one moment: what [`propose`](Self::propose), [`around`](Self::around) and
    /// [`texts`](Self::texts) give, as [`Consult::answer`] asks for it.
    async fn consult(&self, consult: &Consult) -> Result<Consulted, StoreError>;

    /// The logs that texts are in, in the order asked; none of what was not said, is not there, or whose turn is in flight.
    async fn scopes(&self, ids: &[TextId]) -> Result<Vec<Option<Scope>>, StoreError>;

    /// Texts, with their words, that have no embedding of this model; those first that have none at all, the oldest of
    /// them first. At most `max`. What is damaged is passed over.
    async fn unembedded(&self, model: &str, max: usize) -> Result<Vec<(TextId, Arc<str>)>, StoreError>;

    /// Keeps what a model made of texts as [`unembedded`](Store::unembedded) gave them, in place of what another made of them. What says something else by now, or is
    /// gone, is passed over. A model is known by its name and the length of its embeddings.
    async fn embed(&self, model: &str, batch: Vec<(TextId, Arc<str>, Embedding)>) -> Result<(), StoreError>;

    /// Every session, by id; agents' streams are none.
    async fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError>;

    /// Every agent, by id.
    async fn agents(&self) -> Result<Vec<AgentInfo>, StoreError>;

    /// Memories of an agent, kind by kind, each kind at most as often as asked for. With terms: those that have any
    /// of them, the rarer the sooner, then the newer by number; where words that at most a quarter of a kind have find
    /// enough of it, more common ones find nothing more. Without: the newest by when they were written. What
    /// is inactive or retired is never among them, what is superseded only when asked for. `texts` and `texts_with`
    /// count the memories that the request searches: of its kinds, statuses and times.
    async fn recall(&self, agent: &SessionId, request: &RecallRequest) -> Result<Recalled, StoreError>;

    /// Those of these memories that exist, whatever their status, in the order asked. A point read each.
    async fn memories(&self, agent: &SessionId, ids: &[MemoryId]) -> Result<Vec<Memory>, StoreError>;

    /// Memories of one kind or of all, whatever their status, newest first by when they were written, then by id; from
    /// where the last page ended (also if that memory was erased meanwhile), at most `max`. Costs as much as it gives.
    async fn list_memories(
        &self,
        agent: &SessionId,
        kind: Option<MemoryKind>,
        before: Option<MemoryId>,
        max: usize,
    ) -> Result<Vec<Memory>, StoreError>;

    /// Memories whose time has come ([`MemoryRow::due`](neap_core::project::MemoryRow::due)), the longest due first,
    /// then by id; at most `max`. Costs as much as is due.
    async fn memories_due(&self, agent: &SessionId, now: Stamp, max: usize) -> Result<Vec<Memory>, StoreError>;

    /// All events of a memory, in order. Costs as much as it gives.
    async fn memory_history(&self, agent: &SessionId, id: MemoryId) -> Result<Vec<Stored>, StoreError>;

    /// The sessions in which these were heard ([`Event::HistoryLinked`](neap_core::event::Event::HistoryLinked)), each with the turn, those
    /// that began first first; in the order asked. A point read each.
    async fn linked(&self, digests: &[Digest]) -> Result<Vec<Vec<(SessionId, TurnNo)>>, StoreError>;

    /// The turn that a caller's own id was given to.
    async fn turn_of(&self, session: &SessionId, turn_id: &str) -> Result<Option<TurnNo>, StoreError>;

    /// The first and the last event of a turn; none while it is in flight or if it never was.
    async fn turn_span(&self, session: &SessionId, turn: TurnNo) -> Result<Option<(Seq, Seq)>, StoreError>;

    /// How much room one session takes, or everything. Reads all of it.
    async fn footprint(&self, session: Option<&SessionId>) -> Result<Footprint, StoreError>;

    /// Examines one session or everything; changes nothing.
    async fn examine(&self, session: Option<&SessionId>) -> Result<Vec<Finding>, StoreError>;

    /// Makes a session's derived tables anew from its stream; damaged events are left out and reported.
    async fn rebuild(&self, session: &SessionId) -> Result<Vec<Finding>, StoreError>;

    /// Erases what a session holds, physically, and leaves a tombstone. Returns how many events went.
    async fn scrub(&self, session: &SessionId, now: Stamp) -> Result<u64, StoreError>;

    /// Erases one memory, physically: in the place of each of its events, and once more at the end of the stream, is
    /// [`Event::MemoryErased`](neap_core::event::Event::MemoryErased). So whoever knew the stream before finds that
    /// another commit came first, and loads it anew. Where a fact was superseded or contested by it, what that event
    /// quotes of it is erased as well; the fact stays as it is, so one that it superseded is not brought back.
    /// Returns how many events were overwritten, 0 if there was nothing left to erase. What else other records or
    /// sessions say about it is theirs, and stays.
    async fn erase_memory(&self, agent: &SessionId, id: MemoryId, now: Stamp) -> Result<u64, StoreError>;
}
