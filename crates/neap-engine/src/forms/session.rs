//! A session at a glance.

use neap_core::base::ids::{EffortId, SessionId, Stamp, TurnNo};
use neap_core::base::policy::Policy;
use neap_core::session::effort::LogSize;
use neap_core::session::report::Report;
use serde::Serialize;

use crate::session::Session;

/// A session: its place in time, its size, its settings and its figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionDetail {
    /// The name that `--session` takes.
    pub session: SessionId,
    /// When it began.
    pub created: Stamp,
    /// When it last changed.
    pub updated: Stamp,
    /// The token encoding that its counts use.
    pub encoding: String,
    /// The latest turn.
    pub turns: TurnNo,
    /// The effort that new messages go to.
    pub active: Option<EffortId>,
    /// The log outside efforts.
    pub ambient: LogSize,
    /// All logs together.
    pub all_logs: LogSize,
    /// As `neap store settings` lists them.
    pub policy: Policy,
    /// As `neap report` shows them.
    pub report: Report,
}

impl SessionDetail {
    /// Of an open session.
    pub fn of(session: &Session) -> Self {
        let (state, head) = (session.state(), session.state().head());
        Self {
            session: session.id().clone(),
            created: head.created,
            updated: head.updated,
            encoding: head.encoding.clone(),
            turns: state.turn(),
            active: head.active.clone(),
            ambient: head.ambient,
            all_logs: head.all_logs,
            policy: head.policy.clone(),
            report: session.report(),
        }
    }
}

/// What erasing a session takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionErasure {
    /// The name that `--session` takes.
    pub session: SessionId,
    /// Turns that go along.
    pub turns: u64,
    /// Efforts that go along, of any status.
    pub efforts: usize,
    /// Whether it is done.
    pub erased: bool,
}

impl SessionErasure {
    /// A preview: nothing is erased yet.
    pub fn of(session: &Session) -> Self {
        let state = session.state();
        let (turns, efforts) = (state.turn().0, state.efforts().len());
        Self { session: session.id().clone(), turns, efforts, erased: false }
    }
}
