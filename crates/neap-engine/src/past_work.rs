//! Lists the work done in a time, over all conversations: efforts, and conversations without any.

use neap_core::base::ids::{EffortId, SessionId, Stamp};
use neap_core::base::message::{Message, Role, Scope};
use neap_core::base::tokens::Tokens;
use neap_core::session::effort::Effort;
use neap_core::session::log::LogRequest;
use neap_core::session::state::SessionState;
use neap_store::SessionInfo;
use serde::Serialize;

use crate::engine::Engine;
use crate::error::EngineError;

/// Conversations that are read, the latest first.
const SESSIONS_MAX: usize = 500;

/// An effort, or a conversation without efforts, that was worked on in the time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PastWork {
    /// The conversation.
    pub session: SessionId,
    /// The effort; `None` for a conversation without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<EffortId>,
    /// `open` or `concluded`, of an effort.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
    /// Its summary, else its name, else what was said first.
    pub text: String,
    /// When something was last said in it.
    pub at: Stamp,
}

impl Engine {
    /// What was worked on from a moment until another, which is excluded; the latest first.
    pub async fn past_work(&self, from: Stamp, until: Stamp) -> Result<Vec<PastWork>, EngineError> {
        let mut sessions = self.sessions().await?;
        sessions.retain(|info| is_in_time(info, from, until));
        sessions.sort_by(|a, b| (b.updated, &b.session).cmp(&(a.updated, &a.session)));
        let mut work = Vec::new();
        for info in sessions.into_iter().take(SESSIONS_MAX) {
            let stream = info.session.clone().into();
            let Some(state) = self.store().load(&stream).await? else { continue };
            let before = work.len();
            for effort in state.efforts().filter(|effort| effort.created < until && effort.updated >= from) {
                let scope = Scope::Effort(effort.id.clone());
                let Some((at, _)) = self.last_said(&info.session, scope).await? else { continue };
                if (from..until).contains(&at) || (effort.created >= from && at >= from) {
                    work.push(of_effort(&info.session, effort, at));
                }
            }
            if work.len() == before && state.efforts().len() == 0 {
                work.extend(self.of_chat(&info.session, &state, from, until).await?);
            }
        }
        work.sort_by(|a, b| (b.at, &a.session, &a.effort).cmp(&(a.at, &b.session, &b.effort)));
        Ok(work)
    }

    async fn of_chat(
        &self,
        session: &SessionId,
        state: &SessionState,
        from: Stamp,
        until: Stamp,
    ) -> Result<Option<PastWork>, EngineError> {
        let last = self.last_said(session, Scope::Ambient).await?;
        let in_time = last.filter(|(at, _)| state.head().created < until && *at >= from);
        Ok(in_time.map(|(at, text)| PastWork { session: session.clone(), effort: None, status: None, text, at }))
    }

    /// When the latest exchange of a log began, and what the person said in it.
    async fn last_said(&self, session: &SessionId, scope: Scope) -> Result<Option<(Stamp, String)>, EngineError> {
        let request = LogRequest { exchanges_max: 1, ..LogRequest::newest(scope, Tokens(u64::MAX)) };
        let log = self.store().log(&session.clone().into(), &request).await?;
        let said = |message: &Message| (message.role == Role::User).then(|| message.content.to_string());
        Ok(log.exchanges().next_back().map(|exchange| {
            let text = exchange.messages.iter().find_map(|counted| said(&counted.message));
            (exchange.at, text.unwrap_or_default())
        }))
    }
}

fn is_in_time(info: &SessionInfo, from: Stamp, until: Stamp) -> bool {
    !info.scrubbed && info.turns.0 > 0 && info.created < until && info.updated >= from
}

fn of_effort(session: &SessionId, effort: &Effort, at: Stamp) -> PastWork {
    let text = effort.summary.as_ref().map_or(&effort.name, |summary| &summary.text).clone();
    let status = Some(effort.status.as_str());
    PastWork { session: session.clone(), effort: Some(effort.id.clone()), status, text, at }
}
