//! Storage for sessions and agents.
//!
//! The truth is one event stream per session and one per agent. Everything else that a backend stores (session
//! row, efforts, exchanges, memories, word index) is derived from the stream by [`neap_core::session::project`], changes in
//! the same transaction, and can be dropped and rebuilt ([`Maintenance::rebuild`]). A store knows nothing of models and
//! prompts, and does not rank: it proposes candidates, and the core ranks them.

pub mod access;
pub mod backend;
pub mod bounded_lines;
/// What every backend must do, as tests.
#[cfg(feature = "contract")]
pub mod contract;
mod database_fault;
mod error;
pub mod files;
pub mod folder;
pub mod footprint;
/// For tests: a store that changes some of what another one does.
#[cfg(feature = "contract")]
pub mod layer;
mod mem;
mod store;
pub mod vectors;

pub use database_fault::DatabaseFault;
pub use error::StoreError;
pub use footprint::Footprint;
pub use mem::MemStore;
pub use store::{EventStore, Maintenance, MemoryStore, SearchStore, Store};

use neap_core::base::cost::Cost;
use neap_core::base::ids::{AgentId, Seq, SessionId, Stamp, StreamId, TurnNo};
use neap_core::base::project_id::ProjectId;
use neap_core::base::tenant::Tenant;
use neap_core::client::RequestTotals;
use neap_core::session::event::RecordedEvent;
use neap_core::session::project::Projection;
use neap_core::session::spending::SpendingByModel;
use neap_core::session::state::{Metrics, SessionHead};
use serde::{Deserialize, Serialize};

/// Events to append to a stream, and the derived rows that they change.
#[derive(Debug, Clone)]
pub struct Commit {
    pub stream: StreamId,
    /// The last event the writer knew of; the new events follow it without a gap.
    pub expected: Seq,
    /// At least one event.
    pub events: Vec<RecordedEvent>,
    pub projection: Projection,
}

#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "nearly all of them are whole")]
pub enum StoredEvent {
    Whole(RecordedEvent),
    /// The row exists, but its content is not what was written.
    Damaged {
        seq: Seq,
        why: String,
    },
}

impl StoredEvent {
    pub fn seq(&self) -> Seq {
        match self {
            StoredEvent::Whole(recorded) => recorded.seq,
            StoredEvent::Damaged { seq, .. } => *seq,
        }
    }

    pub fn whole(self) -> Option<RecordedEvent> {
        match self {
            StoredEvent::Whole(recorded) => Some(recorded),
            StoredEvent::Damaged { .. } => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionInfo {
    pub session: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectId>,
    pub created: Stamp,
    pub updated: Stamp,
    /// The latest turn.
    pub turns: TurnNo,
    /// Efforts of any status.
    pub efforts: u64,
    pub events: Seq,
    /// Whether the session was erased; then only its tombstone is left.
    pub scrubbed: bool,
    /// Calls of its own model.
    #[serde(default, skip_serializing_if = "Cost::is_nothing")]
    pub cost: Cost,
    /// Requests of clients that the proxy forwarded.
    #[serde(rename = "passed", default, skip_serializing_if = "RequestTotals::is_empty")]
    pub requests: RequestTotals,
    /// Both, by model.
    #[serde(rename = "models", default, skip_serializing_if = "SpendingByModel::is_empty")]
    pub spending: SpendingByModel,
    /// The proxy caller that owns the session, if any. Not serialised: no reader of a list needs it.
    #[serde(skip)]
    pub tenant: Option<Tenant>,
}

impl SessionInfo {
    pub fn new(session: SessionId, head: &SessionHead, efforts: u64) -> Self {
        let SessionHead { created, updated, turn, seq, scrubbed, tenant, .. } = *head;
        let Metrics { cost, requests, .. } = head.metrics;
        let (project, spending) = (head.project.clone(), head.spending.clone());
        Self {
            session,
            project,
            created,
            updated,
            turns: turn,
            efforts,
            events: seq,
            scrubbed,
            cost,
            requests,
            spending,
            tenant,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentInfo {
    pub agent: AgentId,
    pub created: Stamp,
    pub updated: Stamp,
    /// Memories of any status.
    pub memories: u64,
    pub events: Seq,
    /// Whether the agent was erased; then only its tombstone is left.
    pub scrubbed: bool,
}

impl AgentInfo {
    pub fn new(agent: AgentId, head: &SessionHead, memories: u64) -> Self {
        let SessionHead { created, updated, seq, scrubbed, .. } = *head;
        Self { agent, created, updated, memories, events: seq, scrubbed }
    }
}

/// Asserts what every caller of [`EventStore::commit`] must ensure (I3, I10), before anything is written.
pub fn check_commit(commit: &Commit) {
    assert!(!commit.events.is_empty(), "I10: a commit has at least one event");
    let mut seq = commit.expected;
    for recorded in &commit.events {
        seq = seq.next();
        assert_eq!(recorded.seq, seq, "I10: the events of a commit follow each other");
    }
    assert_eq!(commit.projection.head.seq, seq, "I3: a projection is of the state after its events");
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Note,
    /// A derived view differs from its stream; [`Maintenance::rebuild`] repairs it.
    Repairable,
    /// Something that was written is lost.
    Damaged,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub severity: Severity,
    /// The session concerned, if it is only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<StreamId>,
    pub what: String,
}
